// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
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

// await returns once the boot setting that was changed has the value that was asked for. If the BMC does not report it
// at once, await reboots the machine, since some apply it in a job during a boot, and puts it back into its power state
// afterwards. A BMC may fail to answer while it configures the setting. An empty value is one that the BMC does not
// report, and is not awaited.
//
// Source: _wait_for_secure_boot and _wait_for_boot_mode in ironic/drivers/modules/redfish/management.py.
func (b redfishManagement) await(ctx context.Context, n *conductor.Node, setting, wanted string, read func() (string, error)) error {
	if b.config.Series != states.NoSeries && b.config.Series < bootSettingSince {
		return nil
	}
	now, err := read()
	if err == nil && (now == wanted || now == "") || !passes(err) {
		return err
	}
	before, err := b.reboot(ctx, n)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(bootSettingTimeout); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(bootSettingInterval):
		}
		found, err := read()
		if err == nil {
			now = found
		}
		switch {
		case err == nil && now == wanted:
			return b.do(n, func() error { return b.driver.SetPower(ctx, n.UUID, before) })
		case !passes(err):
			return err
		case !time.Now().Before(deadline):
			late := fmt.Errorf("timeout reached while waiting for %s of node %s to become %s, current is %s", setting, n.UUID, wanted, now)
			return errors.Join(late, err)
		}
	}
}

// passes reports whether a read has not failed, or has failed in a way that may pass.
func passes(err error) bool {
	return err == nil || slices.ContainsFunc([]error{verify.Unreachable, verify.Timeout, verify.Protocol}, func(kind error) bool {
		return errors.Is(err, kind)
	})
}

// reboot reboots a machine, or switches it on, and returns its power state before.
func (b redfishManagement) reboot(ctx context.Context, n *conductor.Node) (before states.Power, err error) {
	err = b.do(n, func() (err error) {
		if before, err = b.driver.PowerState(ctx, n.UUID); err != nil {
			return err
		}
		err = b.driver.SetPower(ctx, n.UUID, states.PowerRebooting)
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		if err := b.driver.SetPower(ctx, n.UUID, states.PowerOff); err != nil {
			return err
		}
		return b.driver.SetPower(ctx, n.UUID, states.PowerOn)
	})
	return before, err
}
