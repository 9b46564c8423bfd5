// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/states"
)

// CleanUp is what a conductor has to do on a machine whose work has failed or was aborted. The write that ends the work
// stores it in the node's record, so that another conductor does it if this one dies.
type CleanUp struct {
	// PowerOff powers the machine off. With disable_power_off the machine is rebooted at the end instead.
	PowerOff bool `json:"power_off,omitzero"`
	// Ramdisk removes what the boot of the agent needed, see [AgentBooter].
	Ramdisk bool `json:"ramdisk,omitzero"`
	// Instance makes the machine boot its instance again, and powers it on.
	Instance bool `json:"instance,omitzero"`
	// AbortedRescue says that a client has aborted a rescue. If the clean-up fails, the node is put into maintenance.
	AbortedRescue bool `json:"aborted_rescue,omitzero"`
	// AbortedDeployment says that a client has aborted a deployment.
	AbortedDeployment bool `json:"aborted_deployment,omitzero"`
}

// aborted reports whether a client has aborted work whose failed clean-up replaces the last error.
func (c CleanUp) aborted() bool { return c.AbortedRescue || c.AbortedDeployment }

// hasWork reports whether a conductor has work on the node: the work of its state, or the clean-up after failed work.
func (n *Node) hasWork() bool { return n.CleanUp != nil || runsIn(n.ProvisionState) }

// cleanUp returns what has to be done on a node's machine if the work of the node's state fails or is aborted, nil for
// nothing. use is what [engine.bootsRamdisk] has returned. A machine stays on after a failed step of a cleaning or
// a service, which may be a firmware update, and after an aborted deployment, for an investigation.
//
// Source: the error handlers of ironic/conductor/utils.py, the functions do_node_clean_abort of cleaning.py,
// do_node_deploy_abort of deployments.py and do_node_service_abort of servicing.py, and tear_down_inband_cleaning in
// ironic/drivers/modules/deploy_utils.py.
func (b *rulebook) cleanUp(n *Node, use ramdiskUse, aborted bool) *CleanUp {
	kind := kindOf(n.ProvisionState)
	ramdisk := kind.bootsRamdisk(n, use)
	inStep := !aborted && kind.end.fault != "" && kind.of(n).Current != nil
	c := CleanUp{PowerOff: ramdisk && !inStep, Ramdisk: ramdisk}
	c.Instance = c.PowerOff && kind.end.bootsInstance
	if kind.end.after != nil {
		kind.end.after(b, n, &c, aborted)
	}
	if c == (CleanUp{}) {
		return nil
	}
	return &c
}

// mustCleanUp reports whether the machine of steps that have begun may not be left as it is, although the BMC has just
// refused the password: the work has booted the agent, or the operator wants the machine off.
func (b *rulebook) mustCleanUp(n *Node) bool {
	kind, wanted := kindOf(n.ProvisionState), CleanUp{}
	if kind.end.after != nil {
		kind.end.after(b, n, &wanted, false)
	}
	return kind.of(n).Prepared || n.Agent.URL != "" || wanted.PowerOff
}

// afterCleaning powers the machine off after a failure if the operator wants that.
func afterCleaning(b *rulebook, _ *Node, c *CleanUp, aborted bool) {
	c.PowerOff = c.PowerOff || !aborted && b.config.PowerOffInCleanFail && b.config.Table.Series() >= states.Bobcat
}

// afterDeployment leaves the machine of an aborted deployment on, unless it was held.
func afterDeployment(_ *rulebook, n *Node, c *CleanUp, aborted bool) {
	if c.Ramdisk && aborted && n.ProvisionState != n.ProvisionState.Work().Held() {
		c.PowerOff, c.AbortedDeployment = false, true
	}
}

// afterRescue powers the machine off only if the rescue has failed while it waited for the agent.
func afterRescue(_ *rulebook, n *Node, c *CleanUp, aborted bool) {
	waits := kindOf(n.ProvisionState).waits(n)
	c.PowerOff, c.AbortedRescue = waits && !aborted, waits && aborted && c.Ramdisk
}

// ramdiskUse is what a node's hardware type says of the use of the agent in the work of the node's state.
type ramdiskUse uint8

const (
	noRamdisk ramdiskUse = iota
	ramdiskBoots
	ramdiskUnknown // the hardware type is not there, panics or hangs
)

// bootsRamdisk asks a node's hardware type whether the work of the node's state boots the agent. The hardware type
// reads a clone, since the caller goes on to write the node when the call is abandoned.
func (e *engine) bootsRamdisk(ctx context.Context, n *Node) ramdiskUse {
	kind, uses := kindOf(n.ProvisionState), false
	if !kind.canWait() {
		return noRamdisk
	}
	hardware, err := e.types.of(n)
	if err == nil {
		uses, err = e.types.usesAgent(ctx, hardware, n.Clone(), kind.work)
	}
	switch {
	case err != nil:
		if !kind.bootsRamdisk(n, ramdiskUnknown) {
			e.config.Log.Warn("the machine of a node whose work has failed is left as it is", "node", n.UUID, "error", err)
		}
		return ramdiskUnknown
	case uses:
		return ramdiskBoots
	default:
		return noRamdisk
	}
}

// bootsRamdisk reports whether the work of a node boots the agent: the hardware type says so, or the record says that
// the work has booted it, whatever the interfaces are now that the node has. If the hardware type does not answer, it
// is enough that the record knows an agent, also one that has spoken since; a machine without one is not powered off.
func (k *workKind) bootsRamdisk(n *Node, use ramdiskUse) bool {
	known := use == ramdiskUnknown && (n.Agent.URL != "" || n.Agent.TokenPregenerated)
	return k.canWait() && (use == ramdiskBoots || k.of(n).Prepared || known) && !k.withoutRamdisk(n)
}

// canWait reports whether the work can wait for an agent.
func (k *workKind) canWait() bool { return k.work.Waiting() != states.NoState }

// withoutRamdisk reports whether a client or a runbook has requested that the steps run without a ramdisk.
func (k *workKind) withoutRamdisk(n *Node) bool { return k.of(n).withoutRamdisk() && k.composed(n) }

// finishCleanUp does what is left to do on the machine after failed work, and drops the node's reservation. If the
// context ends first, the next conductor begins it again.
func (t *Task) finishCleanUp(ctx context.Context) error {
	left := *t.Node().CleanUp
	failure := errtext.Error(t.tearDownRamdisk(ctx, left)) // a part of the last error
	if t.record.lost(ctx) {
		return errLost
	}
	interrupted := failure != nil && ctx.Err() != nil
	err := t.record.persist(ctx, func(n *Node) error {
		n.drop()
		if interrupted {
			return nil
		}
		n.cleanedUp(left, failure)
		return nil
	})
	if err == nil && failure != nil && !interrupted {
		t.engine.history.notCleanedUp(ctx, t.Node(), left)
	}
	return err
}

// cleanedUp ends the clean-up in a node's record. A failure is added to the last error, or replaces a rescue's.
//
// Source: rescuing_error_handler in ironic/conductor/utils.py and _do_node_rescue_abort in ironic/conductor/manager.py.
func (n *Node) cleanedUp(c CleanUp, failure error) {
	n.CleanUp = nil
	if failure == nil {
		return
	}
	switch texts := works[n.ProvisionState.Work()].texts.cleanUp; {
	case c.aborted():
		n.LastError = "Failed to clean up " + texts.aborted + " after aborting the operation"
		if texts.abortFault != "" {
			n.Maintenance, n.MaintenanceReason, n.Fault = true, n.LastError, texts.abortFault
		}
	case texts.instead != "":
		n.LastError = fmt.Sprintf(texts.instead, failure)
	case texts.added != "":
		n.LastError += fmt.Sprintf(texts.added, n.UUID, failure)
	default:
		n.LastError += fmt.Sprintf(". Also failed to clean up due to: %v", failure)
	}
}

// tearDownRamdisk ends the ramdisk that runs on the task's machine.
//
// Source: tear_down_inband_cleaning and tear_down_inband_service in ironic/drivers/modules/deploy_utils.py.
func (t *Task) tearDownRamdisk(ctx context.Context, c CleanUp) error {
	if err := t.engine.types.waitFor(ctx, t.Node(), toCleanUp); err != nil {
		return err
	}
	ctx, err := t.engine.fenced(ctx, t.Node())
	if err != nil {
		return err
	}
	return t.engine.types.call(ctx, t.Node(), toCleanUp, func(ctx context.Context) error {
		stays := t.Node().DisablePowerOff
		if c.PowerOff && !stays {
			if err := t.SetPower(ctx, states.PowerOff); err != nil {
				return err
			}
		}
		booter, _ := t.hardware.(AgentBooter)
		if c.Ramdisk && booter != nil {
			if err := booter.CleanUpAgent(ctx, t); err != nil {
				return err
			}
		}
		if c.Instance && booter != nil {
			if err := booter.PrepareInstance(ctx, t); err != nil {
				return err
			}
		}
		switch {
		case c.PowerOff && stays:
			return t.SetPower(ctx, states.PowerRebooting)
		case c.Instance:
			return t.SetPower(ctx, states.PowerOn)
		default:
			return nil
		}
	})
}
