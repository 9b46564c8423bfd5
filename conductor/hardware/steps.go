// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"fmt"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// Steps implements [conductor.Hardware]. The package comment describes the steps.
func (b *Type) Steps(n *conductor.Node, work states.State) []conductor.Step {
	switch {
	case b.usable(n) != nil:
		return nil
	case work == states.Inspecting && b.chosen(n, "inspect") == agentInspection:
		return []conductor.Step{
			{Interface: "inspect", Step: "inspect_hardware", Priority: 100, Run: inspector{b}.start},
			{Interface: "inspect", Step: "tear_down", Priority: 20, Run: inspector{b}.end},
		}
	case work == states.Inspecting && b.chosen(n, "inspect") != "no-inspect":
		return []conductor.Step{{Interface: "inspect", Step: "inspect_hardware", Priority: 100, Run: b.inspect}}
	case (work == states.Cleaning || work == states.Servicing) && b.chosen(n, "bios") == "redfish":
		return biosSettings{b}.steps()
	case work == states.Adopting:
		return []conductor.Step{{Interface: "deploy", Step: "take_over", Priority: 100, Run: deployment{b}.takeOver}}
	case work == states.Deleting:
		return []conductor.Step{{Interface: "deploy", Step: "tear_down", Priority: 100, Run: deployment{b}.tearDown}}
	case (work == states.Rescuing || work == states.Unrescuing) && b.chosen(n, "rescue") == "agent":
		return agentRescue{b}.steps(work)
	case work == states.Deploying:
		return deployment{b}.steps(n)
	default:
		return nil
	}
}

// deployment has the steps of the deploy interfaces.
type deployment struct{ *Type }

// steps returns the steps of a deployment, without those that the conductor adds where an agent deploys. The steps of the
// BIOS run if a client or a deploy template requests them.
func (b deployment) steps(n *conductor.Node) (steps []conductor.Step) {
	if b.chosen(n, "bios") == "redfish" {
		steps = biosSettings(b).steps()
	}
	if !b.UsesAgent(n) {
		steps = append(steps, conductor.Step{Interface: "deploy", Step: "deploy", Priority: 100, Run: b.bootInstance})
	}
	return steps
}

// bootInstance boots the machine's instance. If that fails, it removes what the boot interface has provided.
//
// Source: deploying_error_handler in ironic/conductor/utils.py and clean_up in ironic/drivers/modules/agent_base.py.
func (b deployment) bootInstance(ctx context.Context, t *conductor.Task) error {
	boot := b.boot(t.Node())
	err := bootInto(ctx, t, func() error { return boot.prepareInstance(ctx, t) })
	if err == nil || ctx.Err() != nil {
		return err
	}
	if failure := boot.cleanUpInstance(ctx, t); failure != nil {
		return fmt.Errorf("%w. Also failed to clean up due to: %w", err, failure)
	}
	return err
}

// tearDown powers the machine off, or reboots it if disable_power_off is set, and removes what its boot
// interface has provided for the instance.
//
// Source: tear_down and clean_up in ironic/drivers/modules/agent_base.py.
func (b deployment) tearDown(ctx context.Context, t *conductor.Task) error {
	power := states.PowerOff
	if t.Node().DisablePowerOff {
		power = states.PowerRebooting
	}
	if err := t.SetPower(ctx, power); err != nil {
		return err
	}
	return b.boot(t.Node()).cleanUpInstance(ctx, t)
}

func (b deployment) takeOver(ctx context.Context, t *conductor.Task) error {
	power, err := b.PowerState(ctx, t.Node())
	if err != nil {
		return err
	}
	return t.Update(ctx, func(n *conductor.Node) error {
		n.Power = power
		return nil
	})
}
