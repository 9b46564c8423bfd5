// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"maps"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// deployment is what the deploy interfaces have in common: the boot interface decides how an instance boots.
type deployment struct{ named }

func (deployment) Properties() map[string]string    { return maps.Clone(agentTexts) }
func (deployment) WritesImage() bool                { return false }
func (deployment) BootsRamdisk() bool               { return false }
func (deployment) UsesAgent(Node, states.Work) bool { return true }

// diskKeys maps the keys of instance_info that an interface whose instance boots from its disk does not support to the
// reasons.
var diskKeys = map[string]string{"boot_iso": "it boots the instance from its disk"}

// supports refuses an instance by the keys of instance_info that the interface does not support, which unsupported maps
// to the reasons. A deployment that ignored them would end in active with another instance than the client requested.
func (d deployment) supports(n Node, unsupported map[string]string) error {
	if err := n.Chosen.Boot.Validate(n); err != nil {
		return err
	}
	reasons := maps.Clone(unsupported)
	maps.DeleteFunc(reasons, func(key, _ string) bool { return n.InstanceInfo[key] == nil || n.InstanceInfo[key] == "" })
	if len(reasons) == 0 {
		return nil
	}
	key := slices.Min(slices.Collect(maps.Keys(reasons)))
	return invalidf("Node %s has %s in instance_info, which the deploy interface %s of driver %s cannot realise: %s.",
		n.UUID, key, d.Name(), n.Driver, reasons[key])
}

// checkBoot refuses an instance whose capabilities demand a boot that the management interface cannot set.
func checkBoot(n Node) error {
	if mode := n.InstanceCapabilities()["boot_mode"]; mode != nil && n.WantedBootMode() == "" {
		return invalidf("Node %s has an invalid capability boot_mode in instance_info: it must be bios or uefi.", n.UUID)
	}
	if _, ok := n.Chosen.Management.(BootModeSetter); n.WantsSecureBoot() && !ok {
		return invalidf("Node %s has the capability secure_boot in instance_info, but the management interface %s of driver %s "+
			"does not change secure boot.", n.UUID, n.Chosen.Management.Name(), n.Driver)
	}
	return nil
}

// Steps implements [Stepper]. The conductor adds the steps of a deployment by the agent.
func (d deployment) Steps(n Node, work states.Work) []conductor.Step {
	switch work {
	case states.WorkAdopt:
		return []conductor.Step{{Step: "take_over", Priority: 100, Run: n.Run(d.takeOver)}}
	case states.WorkDelete:
		return []conductor.Step{{Step: "tear_down", Priority: 100, Run: n.Run(d.tearDown)}}
	default:
		return nil
	}
}

// tearDown powers the machine off, or reboots it if disable_power_off is set, and removes what its boot
// interface has provided for the instance.
//
// Source: tear_down and clean_up in ironic/drivers/modules/agent_base.py.
func (deployment) tearDown(ctx context.Context, t Task) error {
	power := states.PowerOff
	if t.Node().DisablePowerOff {
		power = states.PowerRebooting
	}
	if err := t.SetPower(ctx, power); err != nil {
		return err
	}
	return t.Chosen.Boot.CleanUpInstance(ctx, t)
}

func (deployment) takeOver(ctx context.Context, t Task) error {
	power, err := t.Chosen.Power.PowerState(ctx, t.Task.Node())
	if err != nil {
		return err
	}
	return t.Update(ctx, func(n *conductor.Node) error {
		n.Power = power
		return nil
	})
}
