package conductor

import (
	"context"
	"errors"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/states"
)

// startWork changes a node's record and, where that moves the node into a state with
// work and the node is this conductor's, reserves it in the same write and begins the
// work. Where it is another's, that one finds the work in the record. It returns the
// node as it was stored, and the state before.
func (c *Conductor) startWork(ctx context.Context, ident string, word string, change func(*Node) error) (n *Node, from states.State, err error) {
	t, err := c.currentTerm()
	if err != nil {
		return nil, from, err
	}
	taken := ""
	n, err = c.edit(ctx, ident, func(n *Node) error {
		from = n.ProvisionState
		if err := change(n); err != nil {
			return err
		}
		if works[n.ProvisionState] == nil || !t.owns(n) {
			return nil
		}
		if taken == "" {
			if err := c.tasks.take(ctx, n.UUID); err != nil {
				return err
			}
			taken = n.UUID
		}
		n.Reservation, n.Claim, n.Conductor = c.config.Name, t.id, c.config.Name
		return nil
	})
	if err == nil && n.ProvisionState != from {
		c.moved(n, from, word)
	}
	switch {
	case taken == "":
	case err == nil && n.Claim == t.id:
		c.begin(t, n)
	default:
		c.tasks.free(taken)
	}
	return n, from, err
}

// begin works on a node that was reserved and for which a worker was taken.
func (c *Conductor) begin(t *term, n *Node) {
	c.run.group.Go(func() {
		defer c.tasks.free(n.UUID)
		c.work(t.ctx, n)
	})
}

// consider begins the work that a node's record asks for and nobody does, and ends
// what a process that has died was doing. It is called for each record that is read
// or written by anybody, and again at each check. A node that this process has reserved
// is its own also where another conductor has become the owner meanwhile.
func (c *Conductor) consider(n *Node) {
	t, err := c.currentTerm()
	if err != nil || !t.owns(n) && n.Claim != t.id || !t.asksForWork(n) || !c.tasks.tryTake(n.UUID) {
		return
	}
	c.run.group.Go(func() {
		ended := false
		if t.orphaned(n) {
			ended = c.endOrphaned(t.ctx, n.UUID)
		} else {
			c.pickUp(t, n.UUID)
		}
		c.tasks.free(n.UUID)
		if now := c.nodes.get(n.UUID); ended && now != nil {
			c.consider(now) // it may have other work
		}
	})
}

// asksForWork reports whether a node that this conductor owns, or has reserved, has work that nobody
// does, unless a task of this process does it.
func (t *term) asksForWork(n *Node) bool {
	return n.Reservation == "" && works[n.ProvisionState] != nil || n.Claim == t.id || t.orphaned(n)
}

// pickUp reserves a node whose work nobody does, and does it.
func (c *Conductor) pickUp(t *term, id string) {
	n, err := c.edit(t.ctx, id, func(n *Node) error {
		switch {
		case n.Reservation != "" && n.Claim != t.id:
			return errNothingToDo
		case works[n.ProvisionState] != nil:
			n.Reservation, n.Claim, n.Conductor = c.config.Name, t.id, c.config.Name
		case n.Claim == t.id:
			n.Reservation, n.Claim = "", "" // of work that is over
		default:
			return errNothingToDo
		}
		return nil
	})
	switch {
	case err == nil && n.Claim == t.id:
		c.config.Log.Info("work that nobody did was taken up", "node", n.UUID, "provision_state", n.ProvisionState)
		c.work(t.ctx, n)
	case err != nil && !errors.Is(err, errNothingToDo) && !errors.Is(err, NotFound) && t.ctx.Err() == nil:
		c.config.Log.Warn("work could not be begun", "node", id, "error", err)
	}
}

var errNothingToDo = errors.New("there is nothing to do")

// endOrphaned drops the reservation of a process that has died, and reports the work
// that it did as failed. It reports whether it has.
//
// Source: ironic/conductor/base_manager.py, and _check_orphan_nodes in
// ironic/conductor/manager.py.
func (c *Conductor) endOrphaned(ctx context.Context, id string) (ended bool) {
	var from states.State
	var reservation string
	n, err := c.edit(ctx, id, func(n *Node) error {
		if n.Reservation == "" {
			return errNothingToDo
		}
		if alive, err := c.config.Membership.Alive(ctx, claimant(n)); err != nil || alive {
			return errors.Join(err, errNothingToDo)
		}
		from, reservation = n.ProvisionState, n.Reservation
		n.Reservation, n.Claim = "", ""
		if n.TargetPower != states.NoPower {
			n.TargetPower = states.NoPower
			n.LastError = "the power state was being changed when the conductor that did it died"
		}
		if c.config.ResumeVerification && n.ProvisionState == states.Verifying {
			return nil // which is picked up as work that nobody has begun
		}
		if text, ok := n.machine().Orphaned(c.config.Table); ok {
			return c.fail(n, text)
		}
		return nil
	})
	if err == nil {
		c.counters.reservationsDropped.Add(1)
		c.config.Log.Warn("the reservation of a conductor that has died was dropped", "node", n.UUID, "conductor", reservation, "provision_state", from)
	}
	if err == nil && n.ProvisionState != from {
		c.moved(n, from, states.EventFail.String())
		c.recordFailure(ctx, n, from)
	}
	if err != nil && !errors.Is(err, errNothingToDo) && !errors.Is(err, NotFound) && ctx.Err() == nil {
		c.config.Log.Warn("the work of a dead process could not be ended", "node", id, "error", err)
	}
	return err == nil
}

// ending is how a piece of work ends: what is reported, and what else is stored.
type ending struct {
	event states.Event
	err   error
	edit  func(*Node)
}

// works has the work of each state in which a conductor works on a node.
var works map[states.State]func(*Conductor, context.Context, *Task) ending

func init() {
	works = map[states.State]func(*Conductor, context.Context, *Task) ending{
		states.Verifying:  (*Conductor).verify,
		states.Inspecting: (*Conductor).doSteps,
		states.Cleaning:   (*Conductor).clean,
		states.Deploying:  (*Conductor).doSteps,
		states.Deleting:   (*Conductor).tearDown,
		states.Rescuing:   (*Conductor).doSteps,
		states.Unrescuing: (*Conductor).doSteps,
		states.Servicing:  (*Conductor).doSteps,
		states.Adopting:   (*Conductor).doSteps,
	}
}

// work does a node's work until it rests or waits, or until the node is lost.
func (c *Conductor) work(ctx context.Context, n *Node) {
	hardware, err := c.hardware(n)
	if err != nil {
		hardware = missing{err}
	}
	t := &Task{conductor: c, hardware: hardware, node: n}
	for {
		do := works[t.Node().ProvisionState]
		if do == nil {
			return
		}
		if err := c.report(ctx, t, c.tracedWork(ctx, t, do)); err != nil {
			c.config.Log.Warn("the node's work was given up", "node", n.UUID, "error", err)
			return
		}
	}
}

func (c *Conductor) tracedWork(ctx context.Context, t *Task, do func(*Conductor, context.Context, *Task) ending) (e ending) {
	n := t.Node()
	_ = c.traced(ctx, Operation{n.ProvisionState.String(), n, n.Origin}, func(ctx context.Context) error {
		e = do(c, ctx, t)
		return e.err
	})
	return e
}

// reportBackoff is how long a report that could not be stored waits for the next
// attempt, reportTimeout how long an attempt may take.
const (
	reportBackoff = time.Second
	reportTimeout = 10 * time.Second
)

// report stores the end of a piece of work. It tries again until the store takes it,
// the node is lost, or the conductor has stopped.
func (c *Conductor) report(ctx context.Context, t *Task, e ending) error {
	if errors.Is(e.err, errLost) {
		return errLost
	}
	work := t.Node()
	err := t.persist(ctx, func(n *Node) error {
		if n.ProvisionState != work.ProvisionState || !sameTime(n.ProvisionUpdatedAt, work.ProvisionUpdatedAt) {
			return errEnded
		}
		return c.end(n, e)
	})
	if err != nil && !errors.Is(err, errEnded) {
		return err
	}
	c.moved(t.Node(), work.ProvisionState, e.event.String())
	if e.event == states.EventFail {
		c.recordFailure(ctx, t.Node(), work.ProvisionState)
	}
	return nil
}

// errEnded: the end of a piece of work is in the record already, by a write whose answer
// was lost. The work that follows must not be ended by it.
var errEnded = errors.New("the work's end is stored already")

func sameTime(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}

// end changes a node's record by the end of a piece of work.
func (c *Conductor) end(n *Node, e ending) error {
	if e.event == states.EventFail {
		if keys, ok := stepsOf[n.ProvisionState]; ok && errors.Is(e.err, errAborted) {
			*keys.field(n) = nil // an abort is no fault
		}
		if err := c.fail(n, e.err.Error()); err != nil {
			return err
		}
	} else {
		moved, err := n.machine().Report(c.config.Table, e.event, "")
		if err != nil {
			return err
		}
		if keys, ok := stepsOf[n.ProvisionState]; ok && e.event != states.EventWait && e.event != states.EventHold {
			if _, begun := (*keys.info(n))[keys.list]; begun {
				n.forgetSteps(keys)
			}
		}
		n.move(moved, now())
	}
	if e.edit != nil {
		e.edit(n)
	}
	if works[n.ProvisionState] == nil {
		n.Reservation, n.Claim = "", ""
	}
	return nil
}

// fail changes a node's record by work that has failed: a cleaning or a service whose
// steps were under way puts the node into maintenance.
//
// Source: the error handlers of ironic/conductor/utils.py.
func (c *Conductor) fail(n *Node, text string) error {
	from := n.ProvisionState
	moved, err := n.machine().Report(c.config.Table, states.EventFail, text)
	if err != nil {
		return err
	}
	fault := faults[from]
	if keys, ok := stepsOf[from]; ok {
		if fault != "" && len(*keys.field(n)) > 0 {
			n.Maintenance, n.Fault = true, fault
			if n.MaintenanceReason == "" {
				n.MaintenanceReason = moved.LastError
			}
		}
		if keys.work == states.Cleaning && len(*keys.field(n)) > 0 { // not aborted: Ironic keeps the list
			n.CleanStep = nil
			delete(n.DriverInternalInfo, keys.index)
		} else {
			n.forgetSteps(keys)
		}
	}
	if from == states.Adopting {
		n.Power = states.NoPower
	}
	if from == states.Rescuing || from == states.RescueWait {
		n.forgetRescue()
	}
	n.forgetAgent()
	n.move(moved, now())
	return nil
}

// faults are the faults of nodes whose steps have failed.
//
// Source: ironic/common/faults.py.
var faults = map[states.State]string{
	states.Cleaning: "clean failure", states.CleanWait: "clean failure", states.CleanHold: "clean failure",
	states.Servicing: "service failure", states.ServiceWait: "service failure", states.ServiceHold: "service failure",
}

// moved tells that a transition was stored.
func (c *Conductor) moved(n *Node, from states.State, word string) {
	c.config.Log.Info("node moved", "node", n.UUID, "from", from, "event", word, "to", n.ProvisionState, "last_error", n.LastError)
	if c.config.OnTransition == nil {
		return
	}
	_, err := boundedcall.Do(context.Background(), 0, func(context.Context) (struct{}, error) {
		c.config.OnTransition(Transition{Time: now(), Node: n, From: from, Event: word})
		return struct{}{}, nil
	})
	if err != nil {
		c.config.Log.Error("OnTransition failed", "node", n.UUID, "error", err)
	}
}

// missing is the hardware type of a node whose driver no conductor has.
type missing struct{ err error }

func (m missing) Describe() Description                               { return Description{} }
func (m missing) Validate(*Node) map[string]error                     { return map[string]error{"power": m.err} }
func (m missing) Verify(context.Context, *Node) (states.Power, error) { return states.NoPower, m.err }
func (m missing) PowerState(context.Context, *Node) (states.Power, error) {
	return states.NoPower, m.err
}
func (m missing) SetPower(context.Context, *Node, states.Power) error { return m.err }
func (m missing) Steps(*Node, states.State) []Step                    { return nil }
