// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/inorder"
	"github.com/ironstate/ironstate/conductor/internal/workerpool"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// engine carries out what reconcile decides, and the requests of clients. It is the only code that
// reserves nodes.
type engine struct {
	config   *Config
	rules    *rulebook
	fleet    *fleet
	sessions *sessions
	history  history
	// pool has the UUIDs of the nodes, the allocations and the nodes whose objects are deleted, on which a goroutine of
	// this process works. That no other process works on the same node is guaranteed by the node's reservation.
	pool     *workerpool.Pool
	syncer   *powersync.Syncer
	counters *counters
	// transitions has the transitions for which OnTransition is still to be called.
	transitions *inorder.Queues[Transition]
	resolve     func(ctx context.Context, network, host string) ([]netip.Addr, error) // [net.Resolver.LookupNetIP]
	// abandoned has the calls of power operations that have not returned, by the node's UUID: *boundedcall.AbandonedError.
	abandoned sync.Map
}

// reserve reserves a node for this process, a member with an ID. drop undoes it.
func (e *engine) reserve(n *Node, member string) {
	n.Reservation, n.Claim, n.Conductor = e.config.Name, member, e.config.Name
}

func (n *Node) drop() { n.Reservation, n.Claim = "", "" }

// errNothingToDo ends an edit of a record that needs no change.
var errNothingToDo = errors.New("there is nothing to do")

// reconcileNode does what reconcile decides about a node, unless a goroutine of this process works on the
// node. It is called for each record that the store's watch reports, whichever process has written
// it, and at each check.
func (e *engine) reconcileNode(n *Node) {
	s, err := e.sessions.current()
	if err != nil || e.decide(n, s) == nothing || !e.pool.TryTake(n.UUID) {
		return
	}
	s.run.group.Go(func() {
		var did action
		defer func() {
			e.pool.Free(n.UUID)
			if now := e.fleet.nodes.Get(n.UUID); now != nil && (did == release || did == failOrphan) {
				e.reconcileNode(now) // its state may have work
			}
		}()
		did = e.carryOut(s, n.UUID)
	})
}

func (e *engine) decide(n *Node, s *session) action {
	return reconcile(n, s.view, *e.config.Timeouts, time.Now())
}

// carryOut decides by the newest record of a node and acts on it. It returns the action, nothing if
// the record could not be changed.
func (e *engine) carryOut(s *session, id string) (did action) {
	change := func(n *Node) error {
		did = e.decide(n, s)
		return e.apply(s, n, did)
	}
	before, n, err := e.edit(s.ctx, id, change)
	tooLarge := err
	givenUp := errors.Is(err, ErrTooLarge)
	if givenUp {
		before, n, err = giveUp(e, s, id, change, tooLarge)
	}
	if err != nil {
		if !errors.Is(err, errNothingToDo) && !errors.Is(err, NotFound) && s.ctx.Err() == nil {
			e.config.Log.Warn("a node's record could not be changed for its work", "node", id, "action", did, "error", err)
		}
		return nothing
	}
	if givenUp {
		e.config.Log.Error("a node's work was given up, since its record is too large for the store", "node", id, "error", tooLarge)
	}
	noteAction(e, s, before, n, did, givenUp)
	if n.Claim == s.id {
		e.task(n).run(s.ctx)
	}
	if givenUp {
		return release // the engine looks again for what is left of the node's work
	}
	return did
}

// noteAction logs an action that is stored and adds it to the node's history. before is the node
// before the action. If its work was given up in place of the action, n has the failure.
func noteAction(e *engine, s *session, before, n *Node, did action, givenUp bool) {
	switch {
	case did == timeOut:
		e.history.timeout(s.ctx, before, n)
	case did == failOrphan:
		e.counters.reservationsDropped.Add(1)
		e.config.Log.Warn("the reservation of a conductor that has died was dropped",
			"node", n.UUID, "conductor", before.Reservation, "provision_state", before.ProvisionState)
		e.history.orphan(s.ctx, before, n)
	case did == work && !givenUp:
		e.config.Log.Info("pending work was started", "node", n.UUID, "provision_state", n.ProvisionState)
	case before.ProvisionState != n.ProvisionState:
		e.history.failed(s.ctx, before, n, kindOf(before.ProvisionState).texts.eventType)
	case before.CleanUp != nil && n.CleanUp == nil:
		e.history.notCleanedUp(s.ctx, n, *before.CleanUp)
	}
}

// giveUp makes a change of a record that is too large for the store, without the work for which it is made: that fails,
// and the clean-up after it is left out where it cannot be stored. The node would stay reserved, or keep its work for
// ever.
func giveUp(e *engine, s *session, id string, change func(*Node) error, tooLarge error) (before, n *Node, err error) {
	edit := func(cleanUp bool) {
		before, n, err = e.edit(s.ctx, id, func(n *Node) error {
			if err := change(n); err != nil {
				return err
			}
			working := kindOf(n.ProvisionState).work != states.NoWork
			if working {
				if err := e.rules.fail(s.ctx, n, tooLarge.Error()); err != nil {
					return err
				}
			}
			if left := n.CleanUp; left != nil && !(working && cleanUp) {
				n.cleanedUp(*left, tooLarge)
			}
			if !n.hasWork() {
				n.drop()
			}
			return nil
		})
	}
	if edit(true); errors.Is(err, ErrTooLarge) {
		edit(false)
	}
	return before, n, err
}

// apply changes the record of a node by an action.
func (e *engine) apply(s *session, n *Node, a action) error {
	switch a {
	case work:
		e.reserve(n, s.id)
		return nil
	case release:
		n.drop()
		if n.TargetPower != states.NoPower {
			n.TargetPower = states.NoPower
			n.LastError = "the power state was being changed, and what came of it could not be stored"
		}
		return nil
	case failOrphan:
		return e.failOrphan(s.ctx, n)
	case timeOut:
		if err := e.rules.fail(s.ctx, n, timeoutText(n, e.config.Table.Series())); err != nil || !n.hasWork() {
			return err
		}
		e.reserve(n, s.id)
		return nil
	default:
		return errNothingToDo
	}
}

// failOrphan drops the reservation of a process that has died, and reports that process's work as
// failed. Only a cleaning of another conductor leaves a fault.
//
// Source: _fail_transient_state in ironic/conductor/base_manager.py, and _check_orphan_nodes in
// ironic/conductor/manager.py.
func (e *engine) failOrphan(ctx context.Context, n *Node) error {
	switch alive, err := e.config.Membership.Alive(ctx, n.Claim); {
	case err != nil:
		return fmt.Errorf("ask whether conductor %s, which has reserved the node, is alive: %w", n.Reservation, err)
	case alive:
		return errNothingToDo
	}
	takenOver := n.Reservation != e.config.Name
	n.drop()
	if n.TargetPower != states.NoPower {
		n.TargetPower = states.NoPower
		n.LastError = "the power state was being changed when the conductor that did it died"
	}
	if resumes := kindOf(n.ProvisionState).resumes; resumes != nil && resumes(e.config) {
		return nil // the work starts again
	}
	if text, ok := n.machine().Orphaned(e.config.Table); ok {
		return e.rules.failed(ctx, n, text, false, takenOver && kindOf(n.ProvisionState).takeOverFaults)
	}
	return nil
}

// startWork changes a node's record for a request, and begins the work of its new state. It retries
// while the node is reserved. It returns the node before and after the change.
func (e *engine) startWork(ctx context.Context, ident string, change func(*Node) error) (before, n *Node, err error) {
	err = e.fleet.retryLocked(ctx, func() (err error) {
		before, n, err = e.tryStartWork(ctx, ident, change)
		return err
	})
	return before, n, err
}

// tryStartWork is startWork without retries. If this conductor owns the node, it reserves the node in
// the write of the change. If another one does, that one finds the work in the record.
func (e *engine) tryStartWork(ctx context.Context, ident string, change func(*Node) error) (before, n *Node, err error) {
	s, err := e.sessions.current()
	if err != nil {
		return nil, nil, err
	}
	taken := ""
	defer func() {
		if taken != "" { // an error, or a panic of the hardware type
			e.pool.Free(taken)
		}
	}()
	before, n, err = e.edit(ctx, ident, func(n *Node) error {
		if err := change(n); err != nil {
			return err
		}
		if !n.hasWork() || !s.owns(n) {
			return nil
		}
		if taken == "" {
			if err := e.takeWorker(ctx, n.UUID); err != nil {
				return err
			}
			taken = n.UUID
		}
		e.reserve(n, s.id)
		return nil
	})
	if taken != "" && err == nil && n.Claim == s.id {
		taken = ""
		s.run.group.Go(func() {
			defer e.pool.Free(n.UUID)
			e.task(n).run(s.ctx)
		})
	}
	return before, n, err
}

// exclusively reserves a node, calls f and drops the reservation. It retries while the node is
// reserved.
func (e *engine) exclusively(ctx context.Context, ident string, f func(context.Context, Hardware, *Node) error) error {
	return e.fleet.retryLocked(ctx, func() error { return e.tryExclusively(ctx, ident, f) })
}

// tryExclusively is exclusively without retries.
func (e *engine) tryExclusively(ctx context.Context, ident string, f func(context.Context, Hardware, *Node) error) error {
	var hardware Hardware
	s, n, err := e.take(ctx, ident, func(n *Node) (err error) {
		hardware, err = e.rules.hardware(n)
		return err
	})
	if err != nil {
		return err
	}
	defer e.pool.Free(n.UUID)
	defer e.unreserve(ctx, s, n.UUID)
	return e.operate(ctx, s, n, callTimeout, func(ctx context.Context) error { return f(ctx, hardware, n) })
}

// takeWorker takes a node's UUID for a worker. It waits for another goroutine of this process that has the UUID, because
// the node's record shows the end of the work shortly before.
func (e *engine) takeWorker(ctx context.Context, id string) error {
	switch err := e.pool.Take(ctx, id); err {
	case nil:
		return nil
	case workerpool.ErrClosed:
		return refuse(NoWorker, "no worker is free: %v", errShutdown)
	case workerpool.ErrFull:
		return refuse(NoWorker, "no worker is free: all %d are busy", e.config.Workers)
	default:
		return refuse(Locked, "node %s is locked: a worker is busy with it", id)
	}
}

// take takes a worker for a node and reserves the node, unless it is reserved or check refuses it. The caller gives
// both back.
func (e *engine) take(ctx context.Context, ident string, check func(*Node) error) (s *session, n *Node, err error) {
	if s, err = e.sessions.current(); err != nil {
		return nil, nil, err
	}
	if n, err = e.fleet.node(ctx, ident); err != nil {
		return nil, nil, err
	}
	id := n.UUID
	if err := e.rules.unlocked(n); err != nil {
		return nil, nil, err // rather than to wait for the worker that has the node
	}
	if err := e.takeWorker(ctx, id); err != nil {
		return nil, nil, err
	}
	_, n, err = e.fleet.edit(ctx, id, func(n *Node) error {
		if err := e.rules.unlocked(n); err != nil {
			return err
		}
		e.reserve(n, s.id)
		return check(n)
	})
	if err != nil {
		e.pool.Free(id)
		return nil, nil, err
	}
	return s, n, nil
}

// operate calls f, which operates the hardware of a node that this process has reserved. The call
// ends after a time, or if this process loses its membership. The error of the latter is noMember.
func (e *engine) operate(ctx context.Context, s *session, n *Node, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	ctx, err := e.fenced(ctx, n)
	if err == nil {
		err = callHardware(ctx, f)
	}
	if err != nil && s.ctx.Err() != nil {
		return e.sessions.noMember()
	}
	return err
}

// callHardware calls f, which calls a hardware type. Its error is a [*HardwareError], unless it is a storeError.
func callHardware(ctx context.Context, f func(context.Context) error) error {
	err := bounded(ctx, f)
	var store *storeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &store):
		return store.error
	default:
		return &HardwareError{err}
	}
}

// storeError is an error of the store within a call of the hardware.
type storeError struct{ error }

// unreserve drops the reservation of a node on which no work runs. If the write fails, the
// next periodic check drops it.
func (e *engine) unreserve(ctx context.Context, s *session, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	_, _, err := e.fleet.edit(ctx, id, func(n *Node) error {
		if n.Claim != s.id {
			return errNothingToDo
		}
		n.drop()
		return nil
	})
	if err != nil && !errors.Is(err, errNothingToDo) && !errors.Is(err, NotFound) {
		e.config.Log.Warn("a reservation could not be dropped", "node", id, "error", err)
	}
}

// load returns a node and its hardware type.
func (e *engine) load(ctx context.Context, ident string) (*Node, Hardware, error) {
	n, err := e.fleet.node(ctx, ident)
	if err != nil {
		return nil, nil, err
	}
	hardware, err := e.rules.hardware(n)
	return n, hardware, err
}

// shared calls f, which changes neither the node nor its hardware, whether the node is reserved or not.
func (e *engine) shared(ctx context.Context, ident string, f func(context.Context, Hardware, *Node) error) error {
	n, hardware, err := e.load(ctx, ident)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return callHardware(ctx, func(ctx context.Context) error { return f(ctx, hardware, n) })
}

// task returns the task of a node that this process has reserved.
func (e *engine) task(n *Node) *Task {
	hardware, err := e.rules.hardware(n)
	if err != nil {
		hardware = missing{err}
	}
	return &Task{engine: e, hardware: hardware, record: &reservedRecord{engine: e, node: n}}
}
