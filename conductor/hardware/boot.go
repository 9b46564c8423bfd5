// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// PXE returns the boot interface "pxe". It sets the boot device; another service provides DHCP, TFTP and the boot
// files.
func PXE() Boot { return networkBoot{} }

type networkBoot struct{}

func (networkBoot) Name() string { return "pxe" }
func (networkBoot) Properties() map[string]string {
	return map[string]string{persistenceKey: persistenceText}
}
func (networkBoot) Validate(n Node) error { return info{n.Node}.checkUnused(usedByNetwork) }
func (networkBoot) Serves(Node) bool      { return false }

func (b networkBoot) ServesAgent(n Node) (bool, error) { return false, b.Validate(n) }

func (b networkBoot) PrepareRamdisk(ctx context.Context, t Task, _ map[string]string) error {
	if err := b.Validate(t.Node()); err != nil {
		return err
	}
	return bootFrom(ctx, t, "pxe", false)
}

func (networkBoot) CleanUpRamdisk(context.Context, Task) error { return nil }

// PrepareInstance sets the disk as the boot device, or the network for an instance that is a ramdisk.
func (networkBoot) PrepareInstance(ctx context.Context, t Task) error {
	if err := secureBoot(ctx, t, true); err != nil {
		return err
	}
	if t.Chosen.Deploy.BootsRamdisk() {
		return bootFrom(ctx, t, "pxe", true)
	}
	return bootDisk(ctx, t)
}

// bootDisk makes the machine boot its disk from now on. At the end of a deployment it sets no boot device if the boot
// entries that the agent has written would be lost.
func bootDisk(ctx context.Context, t Task) error {
	n := t.Node()
	if n.ProvisionState != states.WorkDeploy.Working() || !losesBootEntries(n.Node) {
		return bootFrom(ctx, t, "disk", true)
	}
	if deviceOnce(n.Node) == "" {
		return nil
	}
	return t.Update(ctx, func(n *conductor.Node) error { delete(n.DriverInternalInfo, onceKey); return nil })
}

func (networkBoot) CleanUpInstance(ctx context.Context, t Task) error {
	return secureBoot(ctx, t, false)
}

// secureBoot enables or disables secure boot if the node's instance has the capability secure_boot. It sets the boot
// mode first, since a machine in BIOS mode has no secure boot.
//
// Source: configure_secure_boot_if_needed in ironic/drivers/modules/boot_mode_utils.py.
func secureBoot(ctx context.Context, t Task, enabled bool) error {
	n := t.Node()
	if !n.WantsSecureBoot() {
		return nil
	}
	if enabled {
		if err := setBootMode(ctx, n, "uefi"); err != nil {
			return err
		}
	}
	if err := setSecureBoot(ctx, n, enabled); err != nil {
		return err
	}
	return t.Update(ctx, func(n *conductor.Node) error { n.SecureBoot = &enabled; return nil })
}

// bootInto powers the machine off, prepares its boot, and powers it on. The boot is prepared while the
// machine is off, since some machines forget their boot device otherwise. A node with disable_power_off
// is prepared while it runs, and rebooted.
func bootInto(ctx context.Context, t Task, prepare func() error) error {
	last := states.PowerRebooting
	if !t.Node().DisablePowerOff {
		last = states.PowerOn
		if err := t.SetPower(ctx, states.PowerOff); err != nil {
			return err
		}
	}
	if err := prepare(); err != nil {
		return err
	}
	return t.SetPower(ctx, last)
}
