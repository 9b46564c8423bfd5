// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/verify/bmc"
)

// bmcManagement is the management interface "ipmitool", and the part of "redfish" that they have in common.
type bmcManagement struct{ *bmcs }

// BootDevices implements [Management].
func (b bmcManagement) BootDevices(context.Context, *conductor.Node) ([]string, error) {
	return slices.Clone(b.devices), nil
}

// BootDevice implements [Management].
func (b bmcManagement) BootDevice(ctx context.Context, n *conductor.Node) (device string, persistent bool, err error) {
	err = b.do(ctx, n, func(ctx context.Context) (err error) {
		device, persistent, err = b.driver.BootDevice(ctx, n.UUID)
		return err
	})
	return device, persistent, err
}

// SetBootDevice implements [Management]. The device before is not set again from now on, even if the BMC refuses the
// new one.
//
// Source: set_boot_device in ironic/drivers/modules/redfish/management.py.
func (b bmcManagement) SetBootDevice(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
	if err := b.checkDevice(device); err != nil {
		return err
	}
	kept := true
	err := b.do(ctx, n, func(ctx context.Context) (err error) {
		if persistent {
			kept, err = b.driver.KeepBootDevice(ctx, n.UUID, device)
			return err
		}
		return b.driver.SetBootDevice(ctx, n.UUID, device, false)
	})
	internal := maps.Clone(n.DriverInternalInfo)
	delete(internal, onceKey)
	if !kept && (err == nil || errors.Is(err, bmc.ErrBootMode)) { // which is about the boot mode beside a device that is set
		if internal == nil {
			internal = map[string]any{}
		}
		internal[onceKey] = device
	}
	n.DriverInternalInfo = internal
	return err
}

func (b *bmcs) checkDevice(device string) error {
	if !slices.Contains(b.devices, device) {
		return invalidDevice(device)
	}
	return nil
}

// InjectNMI implements [NMIInjector].
func (b bmcManagement) InjectNMI(ctx context.Context, n *conductor.Node) error {
	return b.do(ctx, n, func(ctx context.Context) error { return b.driver.InjectNMI(ctx, n.UUID) })
}

// ReadVendor implements [VendorReader].
//
// Source: detect_vendor in ironic/drivers/modules/redfish/management.py and ipmitool.py beside that folder.
func (b bmcManagement) ReadVendor(ctx context.Context, n *conductor.Node) (firmware, machine string, err error) {
	err = b.do(ctx, n, func(ctx context.Context) (err error) {
		firmware, machine, err = b.driver.Vendor(ctx, n.UUID)
		return err
	})
	return firmware, machine, err
}
