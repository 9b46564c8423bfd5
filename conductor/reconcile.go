// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// action is what a conductor has to do with a node.
type action uint8

const (
	// nothing: another process has to act, or nobody.
	nothing action = iota
	// work: reserve the node, unless it is reserved already, and do the work of its state or clean up after failed work.
	work
	// release: drop this conductor's reservation, since no work is left, or end a change of power that nobody makes.
	release
	// failOrphan: drop the reservation of a process that has died, and report its work as failed.
	failOrphan
	// timeOut: report that the node has waited too long for a call-back.
	timeOut
)

// reconcile decides what the process with a view of the members has to do with a node now. It assumes that no
// goroutine of this process works on the node. Records of any origin are valid: records of this process, of another
// one, and of one that has died at any moment.
func reconcile(n *Node, m view, timeouts machine.Timeouts, now time.Time) action {
	switch {
	case n.Reservation != "" && n.Claim == m.id:
		if n.TargetPower == states.NoPower && n.hasWork() {
			return work
		}
		return release
	case m.findsOrphan(n):
		return failOrphan
	case !m.owns(n):
		return nothing
	case n.Reservation != "":
		return nothing
	case n.TargetPower != states.NoPower: // which is stored together with a reservation
		return release
	case n.hasWork():
		return work
	}
	if timedOut(n, timeouts, now) {
		return timeOut
	}
	return nothing
}

// timedOut reports whether a node has waited too long for a call-back. A node in maintenance waits on. Its owner asks
// at each [Config.CheckInterval]. The time begins with the state, and again each time that the agent was asked for
// its commands ([engine.consultReserved]).
func timedOut(n *Node, timeouts machine.Timeouts, now time.Time) bool {
	if n.Maintenance || n.ProvisionUpdatedAt == nil {
		return false
	}
	_, over := n.machine().TimedOut(now.Sub(*n.ProvisionUpdatedAt), timeouts)
	return over
}

// timeoutText returns the last error of a node that waits and has timed out, as Ironic of a series has it.
//
// Source: the functions cleanup_after_timeout and cleanup_*wait_timeout in ironic/conductor/utils.py, and
// _check_inspect_wait_timeouts in ironic/conductor/manager.py.
func timeoutText(n *Node, series states.Series) string {
	text, _ := kindOf(n.ProvisionState).texts.timeout(series)
	step := "{}"
	if s := n.Step(); s.Step != "" {
		step = StepRequest{Interface: s.Interface, Step: s.Step, Args: s.Args, Priority: &s.Priority}.String()
	}
	return strings.NewReplacer("{node}", n.UUID, "{step}", step).Replace(text)
}

// reconciler carries out what reconcile decides about the nodes.
type reconciler struct{ engine *engine }

// node does what reconcile decides about a node, unless a goroutine of this process works on the
// node. It is called for each record that the store's watch reports, whichever process has written
// it, and at each check.
func (r reconciler) node(n *Node) {
	s, err := r.engine.sessions.current()
	if err != nil || r.decide(n, s) == nothing || !r.engine.pool.TryTake(n.UUID) {
		return
	}
	s.run.group.Go(func() {
		var did action
		defer func() {
			r.engine.pool.Free(n.UUID)
			if now := r.engine.fleet.nodes.Get(n.UUID); now != nil && (did == release || did == failOrphan) {
				r.node(now) // its state may have work
			}
		}()
		did = r.carryOut(s, n.UUID)
	})
}

func (r reconciler) decide(n *Node, s *session) action {
	return reconcile(n, s.view, *r.engine.config.Timeouts, time.Now())
}

// carryOut decides by the newest record of a node and acts on it. It returns the action, nothing if
// the record could not be changed.
func (r reconciler) carryOut(s *session, id string) (did action) {
	prepare := func(ctx context.Context, n *Node) (func(*Node) error, error) {
		did = r.decide(n, s)
		ramdisk, err := r.prepare(ctx, n, did)
		return func(n *Node) error { return r.apply(s, n, did, ramdisk) }, err
	}
	edit := func(prepare preparation) (before, n *Node, err error) {
		return r.engine.fleet.editPrepared(s.ctx, id, prepare, r.engine.editAndNotify)
	}
	before, n, err := edit(prepare)
	tooLarge := err
	givenUp := errors.Is(err, ErrTooLarge)
	for _, cleanUp := range []bool{true, false} { // without it the record is smaller
		if errors.Is(err, ErrTooLarge) {
			before, n, err = edit(r.giveUp(prepare, tooLarge, cleanUp))
		}
	}
	if err != nil {
		if !errors.Is(err, errNothingToDo) && !errors.Is(err, NotFound) && s.ctx.Err() == nil {
			r.engine.config.Log.Warn("a node's record could not be changed for its work", "node", id, "action", did, "error", err)
		}
		return nothing
	}
	if givenUp {
		r.engine.config.Log.Error("a node's work was given up, since its record is too large for the store", "node", id, "error", tooLarge)
	}
	r.note(s, before, n, did, givenUp)
	if n.Claim == s.id {
		r.engine.task(n).run(s.ctx)
	}
	if givenUp {
		return release // the engine looks again for what is left of the node's work
	}
	return did
}

// note logs an action that is stored and adds it to the node's history. before is the node
// before the action. If its work was given up in place of the action, n has the failure.
func (r reconciler) note(s *session, before, n *Node, did action, givenUp bool) {
	switch {
	case did == timeOut:
		r.engine.history.timeout(s.ctx, before, n)
	case did == failOrphan:
		r.engine.counters.reservationsDropped.Add(1)
		r.engine.config.Log.Warn("the reservation of a conductor that has died was dropped",
			"node", n.UUID, "conductor", before.Reservation, "provision_state", before.ProvisionState)
		r.engine.history.orphan(s.ctx, before, n)
	case did == work && !givenUp:
		r.engine.config.Log.Info("pending work was started", "node", n.UUID, "provision_state", n.ProvisionState)
	case before.ProvisionState != n.ProvisionState:
		r.engine.history.failed(s.ctx, before, n)
	case before.CleanUp != nil && n.CleanUp == nil:
		r.engine.history.notCleanedUp(s.ctx, n, *before.CleanUp)
	}
}

// giveUp returns the preparation of a change that has made the record too large for the store, and that fails the
// node's work in the same write. Otherwise the node would stay reserved, or keep its work for ever.
func (r reconciler) giveUp(prepare preparation, tooLarge error, cleanUp bool) preparation {
	return func(ctx context.Context, n *Node) (func(*Node) error, error) {
		change, err := prepare(ctx, n)
		ramdisk := r.engine.bootsRamdisk(ctx, n)
		return func(n *Node) error {
			if err := change(n); err != nil {
				return err
			}
			return r.engine.rules.giveUp(n, tooLarge, ramdisk, cleanUp)
		}, err
	}
}

// giveUp fails a node's work, if it still has some, and drops its reservation unless there is something to clean up: of
// the work that fails now, and only if cleanUp.
func (b *rulebook) giveUp(n *Node, failure error, ramdisk ramdiskUse, cleanUp bool) error {
	working := kindOf(n.ProvisionState).work != states.NoWork
	if working {
		if err := b.fail(n, workFailure{text: failure.Error(), ramdisk: ramdisk}, now()); err != nil {
			return err
		}
	}
	if left := n.CleanUp; left != nil && !(working && cleanUp) {
		n.cleanedUp(*left, failure)
	}
	if !n.hasWork() {
		n.drop()
	}
	return nil
}

// prepare asks what an action needs that fails the work of a node: whether the work boots the agent, and for failOrphan
// whether the process that has reserved the node is alive, which is errNothingToDo.
func (r reconciler) prepare(ctx context.Context, n *Node, a action) (ramdisk ramdiskUse, err error) {
	switch a {
	case timeOut:
		return r.engine.bootsRamdisk(ctx, n), nil
	case failOrphan:
		switch alive, err := r.engine.config.Membership.Alive(ctx, n.Claim); {
		case err != nil:
			return noRamdisk, fmt.Errorf("ask whether conductor %s, which has reserved the node, is alive: %w", n.Reservation, err)
		case alive:
			return noRamdisk, errNothingToDo
		}
		if _, fails := n.machine().Orphaned(r.engine.config.Table); fails {
			ramdisk = r.engine.bootsRamdisk(ctx, n)
		}
		return ramdisk, nil
	default:
		return noRamdisk, nil
	}
}

// apply changes the record of a node by an action. ramdisk is what prepare has returned.
func (r reconciler) apply(s *session, n *Node, a action, ramdisk ramdiskUse) error {
	switch a {
	case work:
		r.engine.reserve(n, s.id)
		return nil
	case release:
		n.release()
		return nil
	case failOrphan:
		return r.failOrphan(n, ramdisk)
	case timeOut:
		text := timeoutText(n, r.engine.config.Table.Series())
		if err := r.engine.rules.fail(n, workFailure{text: text, ramdisk: ramdisk}, now()); err != nil || !n.hasWork() {
			return err
		}
		r.engine.reserve(n, s.id)
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
func (r reconciler) failOrphan(n *Node, ramdisk ramdiskUse) error {
	takenOver := n.Reservation != r.engine.config.Name
	n.drop()
	n.endPower("the power state was being changed when the conductor that did it died")
	if resumes := kindOf(n.ProvisionState).end.resumes; resumes != nil && resumes(r.engine.config) {
		return nil // the work starts again
	}
	if text, ok := n.machine().Orphaned(r.engine.config.Table); ok {
		faults := takenOver && kindOf(n.ProvisionState).end.takeOverFaults
		return r.engine.rules.fail(n, workFailure{text: text, noFault: !faults, ramdisk: ramdisk}, now())
	}
	return nil
}
