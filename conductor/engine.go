package conductor

import (
	"context"
	"errors"
	"time"

	"github.com/ironstate/ironstate/states"
)

// startWork changes a node's record. If the new state has work and this conductor owns the node, it
// reserves the node in the same write and begins the work. If another conductor owns the node, that
// conductor finds the work in the record. startWork returns the node before and after the change.
func (c *Conductor) startWork(ctx context.Context, ident string, change func(*Node) error) (before, n *Node, err error) {
	t, err := c.currentSession()
	if err != nil {
		return nil, nil, err
	}
	taken := ""
	before, n, err = c.fleet.edit(ctx, ident, func(n *Node) error {
		if err := change(n); err != nil {
			return err
		}
		if works[n.ProvisionState] == nil || !t.owns(n) {
			return nil
		}
		if taken == "" {
			if err := c.pool.take(ctx, n.UUID); err != nil {
				return err
			}
			taken = n.UUID
		}
		n.Reservation, n.Claim, n.Conductor = c.config.Name, t.id, c.config.Name
		return nil
	})
	if err == nil {
		c.moved(before, n)
	}
	switch {
	case taken == "":
	case err == nil && n.Claim == t.id:
		c.begin(t, n)
	default:
		c.pool.free(taken)
	}
	return before, n, err
}

// begin starts the work on a reserved node. The caller has taken a worker for it; begin frees the
// worker when the work ends.
func (c *Conductor) begin(t *session, n *Node) {
	c.run.group.Go(func() {
		defer c.pool.free(n.UUID)
		c.work(t.ctx, n)
	})
}

// consider starts work that a node's record asks for and that no process does, and ends the work of
// a process that has died. It is called for each record that the store's watch reports, whichever
// process has written it, and at each check. A node that this process has reserved is considered
// even if another conductor has become its owner meanwhile.
func (c *Conductor) consider(n *Node) {
	t, err := c.currentSession()
	if err != nil || !t.owns(n) && n.Claim != t.id || !t.asksForWork(n) || !c.pool.tryTake(n.UUID) {
		return
	}
	c.run.group.Go(func() {
		ended := false
		if t.orphaned(n) {
			ended = c.failOrphan(t.ctx, n.UUID)
		} else {
			c.claimPending(t, n.UUID)
		}
		c.pool.free(n.UUID)
		if now := c.fleet.nodes.get(n.UUID); ended && now != nil {
			c.consider(now) // its new state may have work
		}
	})
}

// asksForWork reports whether a node has work for this conductor, which owns or has reserved it.
// The work may already have a worker in this process; the caller checks that.
func (t *session) asksForWork(n *Node) bool {
	return n.Reservation == "" && works[n.ProvisionState] != nil || n.Claim == t.id || t.orphaned(n)
}

// claimPending reserves a node whose work no process does, and does the work. If the node has a
// reservation of this process but no work, claimPending drops the reservation.
func (c *Conductor) claimPending(t *session, id string) {
	_, n, err := c.fleet.edit(t.ctx, id, func(n *Node) error {
		switch {
		case n.Reservation != "" && n.Claim != t.id:
			return errNothingToDo
		case works[n.ProvisionState] != nil:
			n.Reservation, n.Claim, n.Conductor = c.config.Name, t.id, c.config.Name
		case n.Claim == t.id:
			n.Reservation, n.Claim = "", "" // the work has ended
		default:
			return errNothingToDo
		}
		return nil
	})
	switch {
	case err == nil && n.Claim == t.id:
		c.config.Log.Info("pending work was started", "node", n.UUID, "provision_state", n.ProvisionState)
		c.work(t.ctx, n)
	case err != nil && !errors.Is(err, errNothingToDo) && !errors.Is(err, NotFound) && t.ctx.Err() == nil:
		c.config.Log.Warn("work could not be started", "node", id, "error", err)
	}
}

var errNothingToDo = errors.New("there is nothing to do")

// failOrphan drops the reservation of a process that has died, and reports that process's work as
// failed. It returns whether it has dropped a reservation.
//
// Source: ironic/conductor/base_manager.py, and _check_orphan_nodes in
// ironic/conductor/manager.py.
func (c *Conductor) failOrphan(ctx context.Context, id string) (ended bool) {
	before, n, err := c.fleet.edit(ctx, id, func(n *Node) error {
		if n.Reservation == "" {
			return errNothingToDo
		}
		if alive, err := c.config.Membership.Alive(ctx, claimant(n)); err != nil || alive {
			return errors.Join(err, errNothingToDo)
		}
		n.Reservation, n.Claim = "", ""
		if n.TargetPower != states.NoPower {
			n.TargetPower = states.NoPower
			n.LastError = "the power state was being changed when the conductor that did it died"
		}
		if c.config.ResumeVerification && n.ProvisionState == states.Verifying {
			return nil // claimPending starts the verification again
		}
		if text, ok := n.machine().Orphaned(c.config.Table); ok {
			return c.fail(n, text)
		}
		return nil
	})
	if err == nil {
		c.counters.reservationsDropped.Add(1)
		c.config.Log.Warn("the reservation of a conductor that has died was dropped", "node", n.UUID, "conductor", before.Reservation, "provision_state", before.ProvisionState)
		c.moved(before, n)
		c.recordOrphan(ctx, before, n)
	}
	if err != nil && !errors.Is(err, errNothingToDo) && !errors.Is(err, NotFound) && ctx.Err() == nil {
		c.config.Log.Warn("the reservation of a conductor that has died could not be dropped", "node", id, "error", err)
	}
	return err == nil
}

// result is the result of the work in one state: the event to report, the error if the event is
// fail, and a further change of the node's record, nil for none.
type result struct {
	event states.Event
	err   error
	edit  func(*Node)
}

// works maps each state in which a conductor works on a node to that work.
var works map[states.State]func(*Conductor, context.Context, *Task) result

func init() {
	works = map[states.State]func(*Conductor, context.Context, *Task) result{
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

// work does a node's work, state after state, until the node reaches a state without work or is
// lost.
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
			c.config.Log.Warn("the node's work was abandoned", "node", n.UUID, "error", err)
			return
		}
	}
}

func (c *Conductor) tracedWork(ctx context.Context, t *Task, do func(*Conductor, context.Context, *Task) result) (e result) {
	n := t.Node()
	_ = c.traced(ctx, Operation{n.ProvisionState.String(), n, n.Origin}, func(ctx context.Context) error {
		e = do(c, ctx, t)
		return e.err
	})
	return e
}

const (
	// reportBackoff is the time between two attempts to store a report.
	reportBackoff = time.Second
	// reportTimeout bounds an attempt to store a report.
	reportTimeout = 10 * time.Second
)

// report stores the result of the work in the node's state. It retries until the store accepts the
// write, the node is lost or the conductor stops.
func (c *Conductor) report(ctx context.Context, t *Task, e result) error {
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
	c.moved(work, t.Node())
	if e.event == states.EventFail {
		c.recordError(ctx, t.Node(), eventTypes[work.ProvisionState])
	}
	return nil
}

// errEnded prevents a second report of the same work: an earlier attempt, whose response was lost,
// has stored the result. The same result must not end the work that follows.
var errEnded = errors.New("the result of the work is already stored")

func sameTime(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}

// end applies the result of the work in the node's state to the record.
func (c *Conductor) end(n *Node, e result) error {
	if e.event == states.EventFail {
		if kind, ok := stepKinds[n.ProvisionState]; ok && errors.Is(e.err, errAborted) {
			kind.forget(n) // fail then sets no fault: an abort is not a fault
		}
		if err := c.fail(n, e.err.Error()); err != nil {
			return err
		}
	} else {
		moved, err := n.machine().Report(c.config.Table, e.event, "")
		if err != nil {
			return err
		}
		if e.event != states.EventWait && e.event != states.EventHold {
			if kind, ok := stepKinds[n.ProvisionState]; ok && *kind.in(n) != nil {
				kind.forget(n)
			}
			n.forgetAgent()
		}
		c.move(n, e.event, moved)
	}
	if e.edit != nil {
		e.edit(n)
	}
	if works[n.ProvisionState] == nil {
		n.Reservation, n.Claim = "", ""
	}
	return nil
}

// fail applies the failure of the work in the node's state to the record. If a step of a cleaning
// or a service has failed, fail puts the node into maintenance.
//
// Source: the error handlers of ironic/conductor/utils.py.
func (c *Conductor) fail(n *Node, text string) error {
	from := n.ProvisionState
	moved, err := n.machine().Report(c.config.Table, states.EventFail, text)
	if err != nil {
		return err
	}
	fault := faults[from]
	if kind, ok := stepKinds[from]; ok {
		if fault != "" && kind.of(n).Current != nil {
			n.Maintenance, n.Fault = true, fault
			if n.MaintenanceReason == "" {
				n.MaintenanceReason = moved.LastError
			}
		}
		switch steps := *kind.in(n); {
		case kind.work != states.Cleaning:
			kind.forget(n)
		case steps != nil: // Ironic keeps the list of steps
			steps.Current, steps.Begun, steps.AbortAfter = nil, 0, false
		}
	}
	if from == states.Adopting {
		n.Power = states.NoPower
	}
	if from == states.Rescuing || from == states.RescueWait {
		n.forgetRescue()
	}
	n.forgetAgent()
	c.move(n, states.EventFail, moved)
	return nil
}

// faults maps the states with steps to the fault of a node whose step has failed.
//
// Source: ironic/common/faults.py.
var faults = map[states.State]string{
	states.Cleaning: "clean failure", states.CleanWait: "clean failure", states.CleanHold: "clean failure",
	states.Servicing: "service failure", states.ServiceWait: "service failure", states.ServiceHold: "service failure",
}

// missing is the hardware type of a node whose driver this conductor lacks. All its operations fail
// with err.
type missing struct{ err error }

func (m missing) Describe() Description                               { return Description{} }
func (m missing) Validate(*Node) map[string]error                     { return map[string]error{"power": m.err} }
func (m missing) Verify(context.Context, *Node) (states.Power, error) { return states.NoPower, m.err }
func (m missing) PowerState(context.Context, *Node) (states.Power, error) {
	return states.NoPower, m.err
}
func (m missing) SetPower(context.Context, *Node, states.Power) error { return m.err }
func (m missing) Steps(*Node, states.State) []Step                    { return nil }
