// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// bootInterface makes a machine boot a ramdisk or its instance. None of its methods switches the machine
// on.
//
// Source: BootInterface in ironic/drivers/base.py.
type bootInterface interface {
	// validate refuses a node whose record lacks what the interface needs.
	validate(n *conductor.Node) error
	// prepareRamdisk makes the machine boot the ramdisk at its next start, with these kernel
	// parameters and the interface's own. With virtual media the machine is then off, unless the node
	// has disable_power_off.
	prepareRamdisk(ctx context.Context, t *conductor.Task, parameters map[string]string) error
	// cleanUpRamdisk removes what prepareRamdisk has provided.
	cleanUpRamdisk(ctx context.Context, t *conductor.Task) error
	// prepareInstance makes the machine boot its instance from now on.
	prepareInstance(ctx context.Context, t *conductor.Task) error
	// cleanUpInstance removes what prepareInstance has provided.
	cleanUpInstance(ctx context.Context, t *conductor.Task) error
}

// boot returns the node's boot interface.
func (b *Type) boot(n *conductor.Node) bootInterface {
	switch name := b.chosen(n, "boot"); {
	case name == virtualMedia:
		return mediaBoot{b}
	case name == networkScript && b.config.Images != nil:
		return scriptBoot{networkBoot{b}}
	}
	return networkBoot{b}
}

// networkBoot is the boot interface "pxe", and "ipxe" without Config.Images. It sets the boot device; another service
// provides DHCP, TFTP and the boot files.
type networkBoot struct{ *Type }

func (networkBoot) validate(*conductor.Node) error { return nil }

func (b networkBoot) prepareRamdisk(ctx context.Context, t *conductor.Task, _ map[string]string) error {
	return b.bootFrom(ctx, t.Node(), "pxe", false)
}

func (networkBoot) cleanUpRamdisk(context.Context, *conductor.Task) error { return nil }

// prepareInstance sets the disk as the boot device, or the network with the deploy interface "ramdisk".
func (b networkBoot) prepareInstance(ctx context.Context, t *conductor.Task) error {
	device := "disk"
	if b.chosen(t.Node(), "deploy") == ramdisk {
		device = "pxe"
	}
	if err := b.secureBoot(ctx, t, true); err != nil {
		return err
	}
	return b.bootFrom(ctx, t.Node(), device, true)
}

func (b networkBoot) cleanUpInstance(ctx context.Context, t *conductor.Task) error {
	return b.secureBoot(ctx, t, false)
}

// secureBoot enables or disables secure boot if the node's instance has the capability secure_boot. It sets the boot
// mode first, since a machine in BIOS mode has no secure boot.
//
// Source: configure_secure_boot_if_needed in ironic/drivers/modules/boot_mode_utils.py.
func (b *Type) secureBoot(ctx context.Context, t *conductor.Task, enabled bool) error {
	n := t.Node()
	if !n.WantsSecureBoot() {
		return nil
	}
	if enabled {
		if err := b.SetBootMode(ctx, n, "uefi"); err != nil {
			return err
		}
	}
	if err := b.SetSecureBoot(ctx, n, enabled); err != nil {
		return err
	}
	return t.Update(ctx, func(n *conductor.Node) error { n.SecureBoot = &enabled; return nil })
}

// bootInto powers the machine off, prepares its boot, and powers it on. The boot is prepared while the
// machine is off, since some machines forget their boot device otherwise. A node with disable_power_off
// is prepared while it runs, and rebooted.
func bootInto(ctx context.Context, t *conductor.Task, prepare func() error) error {
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
