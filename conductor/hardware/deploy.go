// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// Direct returns the deploy interface "direct". The package comment describes the deploy interfaces.
func Direct() Deploy {
	return deployment{name: "direct", image: true, unsupported: map[string]string{"boot_iso": "it boots the instance from its disk"}}
}

// CustomAgent returns the deploy interface "custom-agent".
func CustomAgent() Deploy {
	return deployment{name: "custom-agent", unsupported: map[string]string{"boot_iso": "it boots the instance from its disk"}}
}

// Ramdisk returns the deploy interface "ramdisk".
func Ramdisk() Deploy {
	return deployment{name: "ramdisk", ramdisk: true, unsupported: map[string]string{
		"configdrive":          "it writes no configuration drive",
		"image_source":         "it writes no image; with direct, Ironic's agent writes it",
		"kernel_append_params": "the instance's kernel parameters are ramdisk_kernel_arguments",
	}}
}

type deployment struct {
	name    string
	image   bool // whether the agent writes the image of an instance
	ramdisk bool // whether an instance is a ramdisk
	// unsupported maps the keys of instance_info that the interface does not support to the reasons. A deployment that
	// ignored them would end in active with another instance than the client requested.
	unsupported map[string]string
}

func (d deployment) Name() string                { return d.name }
func (deployment) Properties() map[string]string { return maps.Clone(agentTexts) }
func (d deployment) WritesImage() bool           { return d.image }
func (d deployment) BootsRamdisk() bool          { return d.ramdisk }

// UsesAgent implements [AgentUser]. With the deploy interface "ramdisk" the agent does the steps of cleaning and
// servicing if driver_info, or a default, names the ramdisk that the boot interface provides.
func (d deployment) UsesAgent(n Node, work states.Work) bool {
	if !d.ramdisk || work == states.WorkDeploy {
		return !d.ramdisk
	}
	served, err := n.Chosen.Boot.ServesAgent(n)
	return served && err == nil
}

// servedKeys lists the keys of instance_info that the deploy interface "ramdisk" supports only with a boot interface
// that serves files.
var servedKeys = []string{"boot_iso", "kernel", "ramdisk", "ramdisk_kernel_arguments"}

// Validate refuses an instance that the interface does not support.
func (d deployment) Validate(n Node) error {
	boot, management := n.Chosen.Boot, n.Chosen.Management
	if err := boot.Validate(n); err != nil {
		return err
	}
	reasons := maps.Clone(d.unsupported)
	if d.ramdisk && !boot.Serves(n) {
		for _, key := range servedKeys {
			reasons[key] = "the boot interface " + boot.Name() + " serves no files: the network decides what the machine boots"
		}
	}
	maps.DeleteFunc(reasons, func(key, _ string) bool { return n.InstanceInfo[key] == nil || n.InstanceInfo[key] == "" })
	if len(reasons) > 0 {
		key := slices.Min(slices.Collect(maps.Keys(reasons)))
		return invalidf("Node %s has %s in instance_info, which the deploy interface %s of driver %s cannot realise: %s.",
			n.UUID, key, d.name, n.Driver, reasons[key])
	}
	if d.image {
		if err := n.config.validateImage(n.Node); err != nil {
			return err
		}
	}
	if mode := n.InstanceCapabilities()["boot_mode"]; mode != nil && n.WantedBootMode() == "" {
		return invalidf("Node %s has an invalid capability boot_mode in instance_info: it must be bios or uefi.", n.UUID)
	}
	if _, ok := management.(BootModeSetter); n.WantsSecureBoot() && !ok {
		return invalidf("Node %s has the capability secure_boot in instance_info, but the management interface %s of driver %s "+
			"does not change secure boot.", n.UUID, management.Name(), n.Driver)
	}
	return nil
}

// Steps implements [Stepper]. The conductor adds the steps of a deployment by the agent.
func (d deployment) Steps(n Node, work states.Work) []conductor.Step {
	switch {
	case work == states.WorkAdopt:
		return []conductor.Step{{Step: "take_over", Priority: 100, Run: n.Run(d.takeOver)}}
	case work == states.WorkDelete:
		return []conductor.Step{{Step: "tear_down", Priority: 100, Run: n.Run(d.tearDown)}}
	case work == states.WorkDeploy && d.ramdisk:
		return []conductor.Step{{Step: "deploy", Priority: 100, Abortable: true, Run: n.Run(d.bootInstance)}}
	default:
		return nil
	}
}

// bootInstance boots the machine's instance. If that fails, it removes what the boot interface has provided, unless the
// BMC has refused the password, which that would send again.
//
// Source: deploying_error_handler in ironic/conductor/utils.py and clean_up in ironic/drivers/modules/agent_base.py.
func (deployment) bootInstance(ctx context.Context, t Task) error {
	err := bootInto(ctx, t, func() error { return t.Chosen.Boot.PrepareInstance(ctx, t) })
	if err == nil || ctx.Err() != nil || verify.LoginRefused(err) {
		return err
	}
	if failure := t.Chosen.Boot.CleanUpInstance(ctx, t); failure != nil {
		return fmt.Errorf("%w. Also failed to clean up due to: %w", err, failure)
	}
	return err
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
