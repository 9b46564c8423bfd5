// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// errLost ends work without a report: another process has taken the node over, or the node's
// record was deleted.
var errLost = errors.New("the reservation was lost")

// reservedRecord is the record of a node that this process has reserved, and its writes. It is safe for concurrent use.
type reservedRecord struct {
	engine *engine
	gone   atomic.Bool // a write has found another claim, or no node

	mu    sync.Mutex
	node  *Node         // as of the last write
	later []func(*Node) // changes that the next write stores together with its own
}

// lost reports whether the node was lost. The error of a step does not say so: it may come from another node's Task.
func (r *reservedRecord) lost(ctx context.Context) bool {
	return r.gone.Load() || errors.Is(context.Cause(ctx), errLost)
}

func (r *reservedRecord) get() *Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.node
}

// persist is update with retries until the store accepts the change, change fails, the store cannot have the record,
// the node is lost or ctx ends. Each attempt is bounded by reportTimeout and not by ctx: there is one even if
// ctx has ended.
func (r *reservedRecord) persist(ctx context.Context, change func(*Node) error) error {
	return r.retry(ctx, context.WithoutCancel(ctx), &doubts{}, change)
}

// retry is persist after earlier attempts, whose attempts end with the context attempts.
func (r *reservedRecord) retry(ctx, attempts context.Context, unsure *doubts, change func(*Node) error) error {
	var failure error
	for {
		if errors.Is(context.Cause(ctx), errLost) {
			return errLost
		}
		attempt, cancel := context.WithTimeout(attempts, reportTimeout)
		err := r.update(attempt, unsure, func(n *Node) error { failure = change(n); return failure })
		cancel()
		refused := unstorable(err) || errors.As(err, new(*DuplicateError))
		if err == nil || failure != nil || refused || errors.Is(err, errLost) || ctx.Err() != nil {
			return err
		}
		r.engine.counters.reportRetries.Add(1)
		r.engine.config.Log.Warn("a change of a node's record could not be stored and will be retried", "node", r.get().UUID, "error", err)
		sleep.For(ctx, reportBackoff)
	}
}

// unstorable reports whether an error says that no store can have the record: it is too large, or has no JSON.
func unstorable(err error) bool { return errors.Is(err, ErrTooLarge) || errors.Is(err, errEncoding) }

// conclude stores the end of work, which end applies to the record: failure is nil, or the reason why the work fails,
// and ramdisk is then what [engine.bootsRamdisk] has returned. If no store can have the record, conclude drops the
// deferred changes and fails the work for that; Node.room has kept room for it. conclude retries for ever, because
// work whose end is not stored would begin again. It notes the transitions, also if end returns errEnded. It returns
// the failure that it has stored.
func (r *reservedRecord) conclude(
	ctx context.Context, failure error, end func(n *Node, failure error, ramdisk ramdiskUse) error,
) (stored, err error) {
	before, unsure, write := r.get(), &doubts{}, r.engine.transitions.Writing()
	var ramdisk ramdiskUse
	if failure != nil {
		ramdisk = r.engine.bootsRamdisk(ctx, r.pending())
	}
	change := func(n *Node) error { return end(n, failure, ramdisk) }
	write.Begin(before.UUID, before.Revision)
	defer write.End()
	if err = r.retry(ctx, context.WithoutCancel(ctx), unsure, change); unstorable(err) {
		r.engine.config.Log.Warn("the result of a node's work cannot be stored", "node", r.get().UUID, "failure", failure, "error", err)
		if ctx.Err() == nil {
			r.set(r.get(), math.MaxInt) // without deferred changes
			failure, ramdisk = err, r.engine.bootsRamdisk(ctx, r.pending())
		}
	}
	for unstorable(err) && ctx.Err() == nil {
		if err = r.retry(ctx, context.WithoutCancel(ctx), unsure, change); unstorable(err) {
			r.engine.counters.reportRetries.Add(1)
			r.engine.config.Log.Error("the end of a node's work cannot be stored and will be retried", "node", r.get().UUID, "error", err)
			sleep.For(ctx, reportBackoff)
		}
	}
	if err == nil || errors.Is(err, errEnded) {
		r.engine.moved(before, r.get())
	}
	return failure, err
}

// update is one attempt to store a change and the deferred ones. It retries only after a conflict. unsure has the
// earlier attempts.
func (r *reservedRecord) update(ctx context.Context, unsure *doubts, change func(*Node) error) error {
	for {
		old, n, later := r.begin()
		if err := change(n); err != nil {
			return err
		}
		attempt := n
		n, err := r.engine.fleet.save(ctx, n)
		if errors.Is(err, ErrConflict) {
			attempt = nil // it was not written
			n, err = r.engine.fleet.storedNode(ctx, old.UUID)
			switch {
			case err == nil && unsure.has(n):
				r.set(n, later)
				return nil
			case err == nil && n.Claim != old.Claim:
				if ended := unsure.ended(n, r.engine.config.Membership.Holds(old.Claim)); ended != nil {
					r.set(ended, later)
					return nil
				}
				r.gone.Store(true)
				return errLost
			case err == nil:
				r.set(n, 0)
				continue
			}
		}
		switch {
		case errors.Is(err, NotFound):
			r.gone.Store(true)
			return fmt.Errorf("%w: node %s was deleted", errLost, old.UUID)
		case err == nil:
			r.set(n, later)
		case attempt != nil && !errors.Is(err, errLost) && !unstorable(err):
			unsure.add(old, attempt)
		}
		return err
	}
}

// begin returns the node as of the last write, a clone of it with the deferred changes, and their number.
func (r *reservedRecord) begin() (old, n *Node, later int) {
	r.mu.Lock()
	old, changes := r.node, r.later
	r.mu.Unlock()
	n = old.Clone()
	for _, change := range changes {
		change(n)
	}
	return old, n, len(changes)
}

// pending returns the node with the deferred changes. Its hardware type is asked about it before a write: while the
// node is reserved, others write only what the node's agent sends.
func (r *reservedRecord) pending() *Node {
	_, n, _ := r.begin()
	return n
}

// doubts are the writes of a change whose responses were lost. Each attempt that fails may have been written, and the
// next ones then fail because of it. A store may refuse writes for days: of each attempt there is what identifies it,
// and there are maxDoubts, the first and the newest ones. If another one was stored, its change is made again.
type doubts struct {
	writes []doubt
	newest *Node
	before *Node // the newest write
}

const maxDoubts = 100

// doubt identifies a write.
type doubt struct {
	updated *time.Time
	claim   string
	state   states.State
	moved   []TransitionRecord // the transitions of the write
}

// add adds a write. old is the node before it.
func (d *doubts) add(old, n *Node) {
	if len(d.writes) == maxDoubts {
		d.writes = slices.Delete(d.writes, 1, 2)
	}
	d.writes = append(d.writes, doubt{n.UpdatedAt, n.Claim, n.ProvisionState, slices.Clone(n.TransitionsSince(old))})
	d.before = old
	if d.newest == nil || n.Claim == "" || d.newest.Claim != "" {
		d.newest = n
	}
}

// has reports whether a stored node results from one of the writes.
func (d *doubts) has(stored *Node) bool {
	return slices.ContainsFunc(d.writes, func(w doubt) bool {
		return sameTime(stored.UpdatedAt, w.updated) && stored.Claim == w.claim && stored.ProvisionState == w.state
	})
}

// ended returns the node of the write by which this process has dropped its claim on a node, if another writer has
// changed the node since; nil if no write is known to be stored. stored has another claim. The write is stored if this
// process still holds its claims, which no other process drops then, or if the stored node has the transition of the
// write. But for the transitions the node is the newest write's: the writes differ in their times alone. If the stored
// one is no longer remembered, its transitions are the first of the stored node's new ones.
func (d *doubts) ended(stored *Node, holds bool) *Node {
	i := slices.IndexFunc(d.writes, func(w doubt) bool {
		return w.claim == "" && len(w.moved) > 0 && slices.Contains(stored.Transitions, w.moved[len(w.moved)-1])
	})
	if i < 0 && holds {
		i = slices.IndexFunc(d.writes, func(w doubt) bool { return w.claim == "" })
	}
	if i < 0 {
		return nil
	}
	n, moved := d.newest.Clone(), d.writes[i].moved
	n.UpdatedAt = d.writes[i].updated
	since := stored.TransitionsSince(d.before)
	if since = since[:min(len(since), len(moved))]; slices.EqualFunc(since, moved, TransitionRecord.isSameMove) {
		moved = since
	}
	copy(n.Transitions[max(0, len(n.Transitions)-len(moved)):], moved)
	return n
}

// updateLater defers a change to the next write, which saves one.
func (r *reservedRecord) updateLater(change func(*Node)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.later = append(r.later, change)
}

// set replaces the node with a stored one, and removes the first deferred changes, which the write included.
func (r *reservedRecord) set(n *Node, included int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.node = n
	r.later = r.later[min(included, len(r.later)):]
}
