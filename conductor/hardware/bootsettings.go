// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// How long a change of the boot mode or of secure boot is awaited, and how often it is read ([redfish]
// boot_mode_config_timeout, and BOOT_MODE_CONFIG_INTERVAL in ironic/drivers/modules/redfish/management.py).
const (
	bootSettingTimeout  = 15 * time.Minute
	bootSettingInterval = 15 * time.Second
)

// bootSettingSince is the first series in which a change of the boot mode or of secure boot is awaited. Before, it
// takes effect whenever the machine is reset.
//
// Source: the release note uefi-and-secureboot-waits-a783215327164e2c of Ironic 23.0.0.
const bootSettingSince = states.Bobcat

// awaitSetting returns once the boot setting that was changed has the value that was asked for. If the BMC does not
// report it at once, awaitSetting reboots the machine, since some apply it in a job during a boot, and puts it back
// into its power state afterwards. A BMC may fail to answer while it configures the setting. An empty value is one that
// the BMC does not report, and is not awaited.
//
// Source: _wait_for_secure_boot and _wait_for_boot_mode in ironic/drivers/modules/redfish/management.py.
func (b redfishManagement) awaitSetting(ctx context.Context, n *conductor.Node, setting, wanted string, read func() (string, error)) error {
	if b.config.Series != states.NoSeries && b.config.Series < bootSettingSince {
		return nil
	}
	now, err := read()
	mayPass := isAnyOf(err, verify.Unreachable, verify.Timeout, verify.Protocol)
	if !mayPass && (err != nil || now == wanted || now == "") {
		return err // no machine is rebooted for what its BMC does not tell
	}
	before, err := b.reboot(ctx, n)
	if err != nil {
		return err
	}
	var w wait
	for deadline := time.Now().Add(bootSettingTimeout); ; {
		if !sleep.For(ctx, bootSettingInterval) {
			return ctx.Err()
		}
		found, err := read()
		if err == nil {
			now = found
		}
		switch {
		case err == nil && now == wanted:
			return b.do(n, func(d *bmc.Driver) error { return d.SetPower(ctx, n.UUID, before) })
		case w.ends(err):
			return err
		case !time.Now().Before(deadline):
			late := fmt.Errorf("timeout reached while waiting for %s of node %s to become %s, current is %s", setting, n.UUID, wanted, now)
			return errors.Join(late, err)
		}
	}
}

// How long a machine may take to go off before it is switched on again ([conductor]power_state_change_timeout), and how
// often its power state is read meanwhile.
const (
	offTimeout  = time.Minute
	offInterval = time.Second
)

// reboot reboots a machine, or switches it on, and returns its power state before. A machine whose BMC lacks the reset
// is switched off and on, unless the node forbids it.
func (b redfishManagement) reboot(ctx context.Context, n *conductor.Node) (before states.Power, err error) {
	err = b.do(n, func(d *bmc.Driver) (err error) {
		if before, err = d.PowerState(ctx, n.UUID); err != nil {
			return err
		}
		record := powersync.Record{DisablePowerOff: n.DisablePowerOff}
		return powersync.Perform(record, states.PowerRebooting, func(power states.Power) error { return reach(ctx, d, n, power) })
	})
	return before, err
}

// reach requests a power state, and returns once the machine is off if it is to be.
func reach(ctx context.Context, d *bmc.Driver, n *conductor.Node, power states.Power) error {
	if err := d.SetPower(ctx, n.UUID, power); err != nil || power != states.PowerOff {
		return err
	}
	var w wait
	for deadline := time.Now().Add(offTimeout); ; {
		now, err := d.PowerState(ctx, n.UUID)
		switch {
		case err == nil && now == power, w.ends(err):
			return err
		case !time.Now().Before(deadline):
			return errors.Join(fmt.Errorf("node %s is not off after %v", n.UUID, offTimeout), err)
		}
		if !sleep.For(ctx, offInterval) {
			return ctx.Err()
		}
	}
}
