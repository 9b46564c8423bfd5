package conductor

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Task is the work on one node: what a [Step] is given. It is safe for concurrent use. A
// nil or zero Task has no node, and its Update returns a [*ConfigError].
type Task struct {
	conductor *Conductor
	hardware  Hardware
	step      Step

	mu     sync.Mutex
	node   *Node
	later  *later // nil for nothing
	unsure *Node  // a write that may have been done, though it has failed; nil: none
}

// later is a change that is stored with the next one.
type later struct{ change func(*Node) }

// Node returns the node as the task has stored it last. Do not change it.
func (t *Task) Node() *Node {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.node
}

// Step returns the step at work, with its arguments.
func (t *Task) Step() Step {
	if t == nil {
		return Step{}
	}
	return t.step
}

// errLost is why work is given up without a report: another process has taken the node
// over, or its record is gone.
var errLost = errors.New("the reservation was lost")

// Update changes the node's record. The function gets a clone to change, and another
// one where somebody else has changed the record meanwhile. An error of the function
// is returned as it is; any other means that the record could not be changed, and
// the step should return it.
func (t *Task) Update(ctx context.Context, change func(*Node) error) error {
	if t.Node() == nil {
		return &ConfigError{"Task", "one that a step was given"}
	}
	t.doubt(nil)
	return t.update(ctx, change)
}

// persist is Update that tries again until the store takes the change, the node is lost,
// or the work is given up. The last attempt is made even then.
func (t *Task) persist(ctx context.Context, change func(*Node) error) error {
	t.doubt(nil)
	for {
		if errors.Is(context.Cause(ctx), errLost) {
			return errLost
		}
		attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
		err := t.update(attempt, change)
		cancel()
		if err == nil || errors.Is(err, errLost) || errors.Is(err, errEnded) || ctx.Err() != nil {
			return err
		}
		t.conductor.counters.reportRetries.Add(1)
		t.conductor.config.Log.Warn("a change of a node at work could not be stored and will be tried again", "node", t.Node().UUID, "error", err)
		sleep(ctx, reportBackoff)
	}
}

// update is Update, or one of several attempts at it.
func (t *Task) update(ctx context.Context, change func(*Node) error) error {
	for {
		old, later := t.stored()
		n := old.Clone()
		if later != nil {
			later.change(n)
		}
		if err := change(n); err != nil {
			return err
		}
		attempt := n
		n, err := t.conductor.save(ctx, n)
		if errors.Is(err, ErrConflict) {
			n, err = t.conductor.storedNode(ctx, old.UUID)
			switch {
			case err == nil && t.wasDone(n):
				t.set(n, later)
				return nil
			case err == nil && n.Claim != old.Claim:
				err = errLost
			case err == nil:
				t.set(n, nil)
				continue
			}
		}
		switch {
		case errors.Is(err, NotFound), errors.Is(err, ErrNotFound):
			return fmt.Errorf("%w: node %s was deleted", errLost, old.UUID)
		case err == nil:
			t.set(n, later)
		case !errors.Is(err, errLost):
			t.doubt(attempt)
		}
		return err
	}
}

// doubt remembers a write whose answer was lost; nil forgets it.
func (t *Task) doubt(n *Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unsure = n
}

// wasDone reports whether a stored node is that of the write whose answer was lost.
func (t *Task) wasDone(stored *Node) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.unsure
	return n != nil && n.UpdatedAt != nil && stored.UpdatedAt != nil && stored.UpdatedAt.Equal(*n.UpdatedAt) &&
		stored.Claim == n.Claim && stored.ProvisionState == n.ProvisionState
}

// updateLater has the node changed by the next Update, which spares a write.
func (t *Task) updateLater(change func(*Node)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.later = &later{change}
}

// stored returns the node as it was stored last, and what is to be stored with the next
// change.
func (t *Task) stored() (*Node, *later) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.node, t.later
}

// set takes a node that was stored, with a change that had waited for it.
func (t *Task) set(n *Node, with *later) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.node = n
	t.unsure = nil
	if t.later == with {
		t.later = nil
	}
}
