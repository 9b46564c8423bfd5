// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/inorder"
	"github.com/ironstate/ironstate/conductor/internal/workerpool"
	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// engine carries out requests of clients and, by its reconciler, what reconcile decides. It is the only code that
// reserves nodes.
type engine struct {
	config   *Config
	rules    *rulebook
	types    *hardwareTypes
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
	failedReads sync.Map                                                              // by [readOf], the text of the failure
}

// reserve reserves a node for this process, a member with an ID. drop undoes it.
func (e *engine) reserve(n *Node, member string) {
	n.Reservation, n.Claim, n.Conductor = e.config.Name, member, e.config.Name
}

func (n *Node) drop() { n.Reservation, n.Claim = "", "" }

// release is drop for a reservation without work. A change of power that has not ended has failed.
func (n *Node) release() {
	n.drop()
	n.endPower("the power state was being changed, and what came of it could not be stored")
}

// endPower ends a change of power that has failed, if there is one. What has failed before stays readable.
func (n *Node) endPower(text string) {
	if n.TargetPower == states.NoPower {
		return
	}
	n.TargetPower = states.NoPower
	if n.LastError == "" || n.ProvisionState != n.ProvisionState.Work().Failed() {
		n.LastError = text
	}
}

// errNothingToDo ends an edit of a record that needs no change.
var errNothingToDo = errors.New("there is nothing to do")

// startWork changes a node's record for a request, and begins the work of its new state. It retries
// while the node is reserved. It returns the node before and after the change.
func (e *engine) startWork(ctx context.Context, ident string, prepare preparation) (before, n *Node, err error) {
	err = e.fleet.retryLocked(ctx, func() (err error) {
		before, n, err = e.tryStartWork(ctx, ident, prepare)
		return err
	})
	return before, n, err
}

// tryStartWork is startWork without retries. If this conductor owns the node, it reserves the node in
// the write of the change. If another one does, that one finds the work in the record.
func (e *engine) tryStartWork(ctx context.Context, ident string, prepare preparation) (before, n *Node, err error) {
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
	withWork := func(ctx context.Context, n *Node) (func(*Node) error, error) {
		change, err := prepare(ctx, n)
		return func(n *Node) error {
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
		}, err
	}
	before, n, err = e.fleet.editPrepared(ctx, ident, withWork, e.editAndNotify)
	if taken != "" && err == nil && n.Claim == s.id {
		taken = ""
		s.run.group.Go(func() {
			defer e.pool.Free(n.UUID)
			e.task(n).run(s.ctx)
		})
	}
	return before, n, err
}

// hardwareCall calls a node's hardware type for a client. It returns a change of the node's record, nil for none, which
// is stored if the node was reserved for the call, also beside an error.
type hardwareCall func(ctx context.Context, hardware Hardware, n *Node) (change func(*Node), err error)

// exclusively reserves a node, calls f for up to a time and drops the reservation. It retries while the node is
// reserved. what names what the call is for.
func (e *engine) exclusively(ctx context.Context, limit time.Duration, ident, what string, f hardwareCall) error {
	return e.fleet.retryLocked(ctx, func() error { return e.tryExclusively(ctx, limit, ident, what, f) })
}

// tryExclusively is exclusively without retries.
func (e *engine) tryExclusively(ctx context.Context, limit time.Duration, ident, what string, f hardwareCall) error {
	var hardware Hardware
	s, n, err := e.take(ctx, ident, func(n *Node) (err error) {
		hardware, err = e.types.of(n)
		return err
	})
	if err != nil {
		return err
	}
	defer e.pool.Free(n.UUID)
	change, err := e.callReserved(ctx, s, n, what, limit, func(ctx context.Context) (func(*Node), error) {
		return f(ctx, hardware, n)
	})
	lost := e.unreserve(ctx, s, n.UUID, change)
	if errors.Is(lost, ErrTooLarge) { // with the change alone
		_ = e.unreserve(ctx, s, n.UUID, nil)
	}
	if err == nil && change != nil {
		err = lost
	}
	return err
}

// takeWorker takes a node's UUID for a worker. It waits for another goroutine of this process that has the UUID,
// because the node's record shows the end of the work shortly before.
func (e *engine) takeWorker(ctx context.Context, id string) error {
	switch err := e.pool.Take(ctx, id); err {
	case nil:
		return nil
	case workerpool.ErrClosed:
		return refuse(NoWorker, "no worker is free: %w", errShutdown)
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

// callReserved calls f, which operates the hardware of a node that this process has reserved. The call
// ends after a time, or if this process loses its membership. The error of the latter is noMember.
func (e *engine) callReserved(
	ctx context.Context, s *session, n *Node, what string, limit time.Duration, f func(context.Context) (func(*Node), error),
) (change func(*Node), err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if ctx, err = e.fenced(ctx, n); err == nil {
		change, err = callHardware(ctx, e.types, n, "for "+what, f)
	}
	switch {
	case err == nil:
		return change, nil
	case s.ctx.Err() != nil:
		return nil, e.sessions.noMember()
	default:
		return change, &HardwareError{err}
	}
}

// unreserve makes a change, nil for none, in the record of a node on which no work runs, and drops the reservation. If
// the write fails, the next periodic check drops it.
func (e *engine) unreserve(ctx context.Context, s *session, id string, change func(*Node)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	_, _, err := e.fleet.edit(ctx, id, func(n *Node) error {
		if n.Claim != s.id {
			return errLost
		}
		if change != nil {
			change(n)
		}
		n.drop()
		return nil
	})
	if err != nil && !errors.Is(err, errLost) && !errors.Is(err, NotFound) {
		e.config.Log.Warn("a reservation could not be dropped", "node", id, "error", err)
	}
	if err != nil && s.ctx.Err() != nil {
		return e.sessions.noMember()
	}
	return err
}

// load returns a node and its hardware type.
func (e *engine) load(ctx context.Context, ident string) (*Node, Hardware, error) {
	n, err := e.fleet.node(ctx, ident)
	if err != nil {
		return nil, nil, err
	}
	hardware, err := e.types.of(n)
	return n, hardware, err
}

// shared calls f for up to a time, which changes neither the node nor its hardware, whether the node is reserved or
// not.
func (e *engine) shared(ctx context.Context, limit time.Duration, ident, what string, f hardwareCall) error {
	n, hardware, err := e.load(ctx, ident)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err = callHardware(ctx, e.types, n, "for "+what, func(ctx context.Context) (func(*Node), error) { return f(ctx, hardware, n) })
	if err != nil {
		return &HardwareError{err}
	}
	return nil
}

// task returns the task of a node that this process has reserved.
func (e *engine) task(n *Node) *Task {
	hardware, err := e.types.of(n)
	if err != nil {
		hardware = missing{err}
	}
	return &Task{engine: e, hardware: hardware, record: &reservedRecord{engine: e, node: n}, work: n}
}

// Permit returns nil if a request to a node's hardware may be sent. The context comes from the call
// for which the request is sent. If the call needs the node's reservation and this process has lost
// it, Permit returns an error, and the request must not be sent; if this process may have lost it,
// Permit waits until that is known. A context that no conductor has made needs no permission.
//
// A [Hardware] calls Permit immediately before each request that changes the machine, and before each log-in that
// begins a session on it: both count in package hardwaretest. Credentials that are part of a request are no log-in.
// [Fake] and the hardware types of package hardware do so for each request, in all their methods and steps, so that a
// [Step] made of their methods needs no call of Permit.
func Permit(ctx context.Context) error { return fence.Check(ctx) }

// fenced returns the context for operations on the hardware of a node that this process has
// reserved. It first waits for the permission that [Permit] gives before each request.
func (e *engine) fenced(ctx context.Context, n *Node) (context.Context, error) {
	id := n.Claim
	ctx = fence.With(ctx, func(ctx context.Context) error { return e.holding(ctx, id) })
	return ctx, fence.Check(ctx)
}

// holdsInterval is the period at which holding calls Holds.
const holdsInterval = 50 * time.Millisecond

// holding waits until a member certainly holds its reservations: until its lease has not expired. It
// returns the cause if the context ends first, as the work's context does when the membership is
// lost.
func (e *engine) holding(ctx context.Context, member string) error {
	for ctx.Err() == nil {
		if e.config.Membership.Holds(member) {
			return nil
		}
		sleep.For(ctx, holdsInterval)
	}
	return context.Cause(ctx)
}
