package conductor

import (
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/states"
)

// failed returns the result of work that failed with an error.
func failed(err error) result { return result{event: states.EventFail, err: err} }

// verify validates the node's power interface, verifies its hardware and reads its power state. As
// in Ironic's code of every release, and unlike in the enroll specification, the management
// interface is not validated: nodes that Ironic verifies would fail.
//
// Source: ironic/conductor/verify.py.
func (c *Conductor) verify(ctx context.Context, t *Task) result {
	n := t.Node()
	if err := c.validate(t.hardware, n)["power"]; err != nil {
		return failed(fmt.Errorf("verification of node %s failed: power interface: %w", n.label(), err))
	}
	ctx, err := c.fenced(ctx, n)
	if err != nil {
		return failed(err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.VerifyTimeout)
	defer cancel()
	power, err := boundedcall.Do(ctx, stepGrace, func(ctx context.Context) (states.Power, error) {
		var power states.Power
		err := c.traced(ctx, Operation{Name: "verify", Node: n}, func(ctx context.Context) (err error) {
			power, err = t.hardware.Verify(ctx, n)
			return err
		})
		return power, err
	})
	if err != nil {
		return failed(fmt.Errorf("verification of node %s failed: %w", n.label(), err))
	}
	if power != states.PowerOn && power != states.PowerOff && !c.description(n).Simulated {
		return failed(fmt.Errorf("verification of node %s failed: the power state read is %q", n.label(), power))
	}
	return result{event: states.EventDone, edit: func(n *Node) { n.Power = power }}
}

// clean runs the steps of an automated or manual cleaning. If automated cleaning is off for the
// node, it reports done without a step.
//
// Source: ironic/conductor/cleaning.py.
func (c *Conductor) clean(ctx context.Context, t *Task) result {
	n := t.Node()
	manual := n.TargetProvisionState == states.Manageable
	if !manual && !cleanSteps.of(n).begun() {
		if c.skipsCleaning(n) {
			return result{event: states.EventDone}
		}
		if err := c.Rules().Work(n.Facts()); err != nil {
			return failed(c.refused(n, err))
		}
	}
	if err := c.validate(t.hardware, n)["power"]; err != nil {
		return failed(fmt.Errorf("validation of node %s for cleaning failed: %w", n.label(), err))
	}
	e := c.doSteps(ctx, t)
	if e.event == states.EventDone && !manual && t.Node().Retired {
		e.event = states.EventManage
	}
	return e
}

func (c *Conductor) skipsCleaning(n *Node) bool {
	if n.AutomatedClean != nil {
		return !*n.AutomatedClean
	}
	return c.config.SkipAutomatedClean
}

// tearDown runs the steps of a tear-down, deletes the node's allocation, and clears the node's
// instance fields. The automated cleaning that follows is the work of another state.
func (c *Conductor) tearDown(ctx context.Context, t *Task) result {
	allocation := t.Node().AllocationUUID
	e := c.doSteps(ctx, t)
	if errors.Is(e.err, errLost) {
		return e // another process has taken the node over, or the node was deleted
	}
	if allocation != "" {
		if err := c.fleet.discard(context.WithoutCancel(ctx), KindAllocation, allocation); err != nil {
			c.config.Log.Warn("the allocation of a node was not deleted", "node", t.Node().UUID, "error", err)
		}
	}
	e.edit = func(n *Node) {
		n.InstanceInfo, n.InstanceUUID, n.AllocationUUID = nil, "", ""
		n.DeploySteps = &Steps{Current: deploySteps.of(n).Current}
		for _, key := range []string{"instance", "root_uuid_or_disk_id", "is_whole_disk_image", "deploy_boot_mode"} {
			delete(n.DriverInternalInfo, key)
		}
	}
	return e
}

// doSteps runs the steps of the node's state.
func (c *Conductor) doSteps(ctx context.Context, t *Task) result {
	kind := stepKinds[t.Node().ProvisionState]
	err := c.runSteps(ctx, t, kind)
	switch {
	case err == nil && kind.work == states.Unrescuing:
		return result{event: states.EventDone, edit: (*Node).forgetRescue}
	case err == nil:
		return result{event: states.EventDone}
	case errors.Is(err, ErrWait):
		return c.pause(kind.work, states.EventWait, err)
	case errors.Is(err, errHeld):
		return c.pause(kind.work, states.EventHold, err)
	case errors.Is(err, errAborted):
		return failed(&abortError{kind.work, t.Node().Step().String()})
	default:
		return failed(err)
	}
}

// pause returns the result of work that waits or is held, with the event wait or hold. If the table
// has no such transition from the state, the work fails.
func (c *Conductor) pause(work states.State, event states.Event, err error) result {
	if _, ok := c.config.Table.Next(work, event); !ok {
		return failed(fmt.Errorf("work in state %q cannot be interrupted: %w", work, err))
	}
	return result{event: event}
}
