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
	err = b.do(n, func(d *bmc.Driver) (err error) {
		device, persistent, err = d.BootDevice(ctx, n.UUID)
		return err
	})
	return device, persistent, err
}

// SetBootDevice implements [Management]. The device before is not set again from now on, even if the BMC refuses the
// new one.
//
// Source: set_boot_device in ironic/drivers/modules/redfish/management.py.
func (b bmcManagement) SetBootDevice(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
	if !slices.Contains(b.devices, device) {
		return invalidDevice(device)
	}
	return b.do(n, func(d *bmc.Driver) error {
		b.ForgetBootDevice(n)
		if !persistent {
			return d.SetBootDevice(ctx, n.UUID, device, false)
		}
		kept, err := d.KeepBootDevice(ctx, n.UUID, device)
		if !kept && (err == nil || errors.Is(err, ErrBootMode)) { // which is about the boot mode beside a device that is set
			if n.DriverInternalInfo == nil {
				n.DriverInternalInfo = map[string]any{}
			}
			n.DriverInternalInfo[onceKey] = device
		}
		return err
	})
}

// onceKey is the key of driver_internal_info with the boot device that is set again before each start, since the BMC
// keeps none.
//
// Source: restore_boot_device in ironic/drivers/modules/redfish/management.py.
const onceKey = "redfish_boot_device"

// ForgetBootDevice is the method of a [BootDeviceRestorer], of which redfish alone has the other one. The record may
// share its map with others.
func (bmcManagement) ForgetBootDevice(n *conductor.Node) {
	n.DriverInternalInfo = maps.Clone(n.DriverInternalInfo)
	delete(n.DriverInternalInfo, onceKey)
}

// InjectNMI implements [NMIInjector].
func (b bmcManagement) InjectNMI(ctx context.Context, n *conductor.Node) error {
	return b.do(n, func(d *bmc.Driver) error { return d.InjectNMI(ctx, n.UUID) })
}

// ReadVendor implements [VendorReader].
//
// Source: detect_vendor in ironic/drivers/modules/redfish/management.py and ipmitool.py beside that folder.
func (b bmcManagement) ReadVendor(ctx context.Context, n *conductor.Node) (firmware, machine string, err error) {
	err = b.do(n, func(d *bmc.Driver) (err error) {
		firmware, machine, err = d.Vendor(ctx, n.UUID)
		return err
	})
	return firmware, machine, err
}
