// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// NeedsPort implements [conductor.PortNeeder]. The deploy interfaces validate the boot interface first.
func (t *Type) NeedsPort(n *conductor.Node) []string {
	node, err := t.node(n)
	if boot, ok := node.Chosen.Boot.(PortNeeder); ok && err == nil && boot.NeedsPort(node) {
		return []string{"boot", "deploy"}
	}
	return nil
}

// bootDisk makes the machine boot its disk from now on. At the end of a deployment it sets no boot device if the boot
// entries that the agent has written would be lost, and a [BootDeviceRestorer] sets none at later starts. A device that
// another management interface has noted stays in the record, as in Ironic.
func bootDisk(ctx context.Context, t Task) error {
	n := t.Node()
	if n.ProvisionState != states.WorkDeploy.Working() || !losesBootEntries(n.Node) {
		return bootFrom(ctx, t, "disk", true)
	}
	by, ok := t.Chosen.Management.(BootDeviceRestorer)
	if !ok {
		return nil
	}
	return changeInternal(ctx, t, func(n *conductor.Node) error { by.ForgetBootDevice(n); return nil })
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
