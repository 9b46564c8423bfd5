// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/internal/boundedcall"
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
}

// hasWork reports whether a conductor has work on the node: that of its state, or the clean-up after failed work.
func (n *Node) hasWork() bool { return n.CleanUp != nil || workStates.Has(n.ProvisionState) }

// cleanUp returns what has to be done on a node's machine if the work of the node's state fails or is aborted, nil for
// nothing. A machine stays on after a failed step of a cleaning or a service, which may be a firmware update.
//
// Source: the error handlers of ironic/conductor/utils.py, the functions do_node_clean_abort of cleaning.py and
// do_node_service_abort of servicing.py, and tear_down_inband_cleaning in ironic/drivers/modules/deploy_utils.py.
func (b *rulebook) cleanUp(n *Node, aborted bool) *CleanUp {
	ramdisk := b.bootsRamdisk(n)
	inStep := !aborted && faults[n.ProvisionState] != "" && stepKinds[n.ProvisionState].of(n).Current != nil
	c := CleanUp{PowerOff: ramdisk && !inStep, Ramdisk: ramdisk}
	switch stepKinds[n.ProvisionState].work {
	case states.Servicing:
		c.Instance = ramdisk && !inStep
	case states.Rescuing:
		c.PowerOff = n.ProvisionState == states.RescueWait && !aborted
	}
	if c == (CleanUp{}) {
		return nil
	}
	c.AbortedRescue = n.ProvisionState == states.RescueWait && aborted
	return &c
}

// bootsRamdisk reports whether the work of a node's state boots the agent.
func (b *rulebook) bootsRamdisk(n *Node) bool {
	hardware, err := b.hardware(n)
	if err != nil {
		return false
	}
	booter, ok := hardware.(AgentBooter)
	if !ok {
		return false
	}
	switch kind := stepKinds[n.ProvisionState]; kind.work {
	case states.Inspecting:
		return b.inspectsByAgent(n)
	case states.Rescuing:
		return b.description(n).Interface(n, "rescue") == "agent"
	case states.Cleaning, states.Servicing:
		return booter.UsesAgent(n) && !kind.withoutRamdisk(n)
	case states.Deploying:
		return booter.UsesAgent(n)
	default:
		return false
	}
}

// inspectsByAgent reports whether the agent inspects a node's machine.
func (b *rulebook) inspectsByAgent(n *Node) bool {
	return b.description(n).Interface(n, "inspect") == "agent"
}

// withoutRamdisk reports whether a client has requested that the steps run without a ramdisk.
func (k stepKind) withoutRamdisk(n *Node) bool {
	return k.of(n).DisableRamdisk && (k.work == states.Servicing || n.TargetProvisionState == states.Manageable)
}

// cleanUpFailures are Ironic's texts for a failed clean-up, by the node's state after the work.
var cleanUpFailures = map[states.State]string{
	states.CleanFail: ". Also Failed to tear down cleaning on node %s, reason: %v", states.ServiceFail: ". Also Failed to tear down service on node %s, reason: %v",
	states.InspectFail: ". Also Failed to abort inspection on node %s, reason: %v",
}

// cleanUpFailed does what is left to do on the machine after failed work, and drops the node's reservation. Its failure
// is added to the node's last error, or replaces that of a rescue. If the context ends first, the next conductor begins
// it again.
//
// Source: rescuing_error_handler in ironic/conductor/utils.py and _do_node_rescue_abort in ironic/conductor/manager.py.
func (t *Task) cleanUpFailed(ctx context.Context) error {
	left := *t.Node().CleanUp
	failure := t.tearDownRamdisk(ctx, left)
	if errors.Is(failure, errLost) {
		return errLost
	}
	interrupted := failure != nil && ctx.Err() != nil
	err := t.persist(ctx, func(n *Node) error {
		n.drop()
		if interrupted {
			return nil
		}
		n.CleanUp = nil
		if failure == nil {
			return nil
		}
		switch text, ok := cleanUpFailures[n.ProvisionState]; {
		case left.AbortedRescue:
			n.LastError = "Failed to clean up rescue after aborting the operation"
			n.Maintenance, n.MaintenanceReason, n.Fault = true, n.LastError, "rescue abort failure"
		case n.ProvisionState == states.RescueFail:
			n.LastError = fmt.Sprintf("Rescue operation was unsuccessful, clean up failed for node: %v", failure)
		case ok:
			n.LastError += fmt.Sprintf(text, n.UUID, failure)
		default:
			n.LastError += fmt.Sprintf(". Also failed to clean up due to: %v", failure)
		}
		return nil
	})
	if err == nil && failure != nil && !interrupted && t.Node().ProvisionState == states.RescueFail {
		t.engine.history.failed(ctx, t.Node(), "rescue")
	}
	return err
}

// tearDownRamdisk ends the ramdisk that runs on the task's machine.
//
// Source: tear_down_inband_cleaning and tear_down_inband_service in ironic/drivers/modules/deploy_utils.py.
func (t *Task) tearDownRamdisk(ctx context.Context, c CleanUp) error {
	ctx, err := t.engine.fenced(ctx, t.Node())
	if err != nil {
		return err
	}
	_, err = boundedcall.Do(ctx, stepGrace, func(ctx context.Context) (struct{}, error) {
		stays := t.Node().DisablePowerOff
		if c.PowerOff && !stays {
			if err := t.SetPower(ctx, states.PowerOff); err != nil {
				return struct{}{}, err
			}
		}
		booter, _ := t.hardware.(AgentBooter)
		if c.Ramdisk && booter != nil {
			if err := booter.CleanUpAgent(ctx, t); err != nil {
				return struct{}{}, err
			}
		}
		if c.Instance && booter != nil {
			if err := booter.PrepareInstance(ctx, t); err != nil {
				return struct{}{}, err
			}
		}
		switch {
		case c.PowerOff && stays:
			return struct{}{}, t.SetPower(ctx, states.PowerRebooting)
		case c.Instance:
			return struct{}{}, t.SetPower(ctx, states.PowerOn)
		default:
			return struct{}{}, nil
		}
	})
	return err
}
