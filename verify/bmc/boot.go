// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/verify"
)

// bootDevice is a boot device.
type bootDevice struct {
	word   string // Ironic's
	target string // BootSourceOverrideTarget of Redfish; empty if there is none
	code   byte   // boot device selector of IPMI (section 28.13, parameter 5), at its position in the second byte
}

// Source: ironic/common/boot_devices.py and the management interfaces in
// ironic/drivers/modules.
var bootDevices = []bootDevice{
	{"pxe", "Pxe", 0x04},
	{"disk", "Hdd", 0x08},
	{"cdrom", "Cd", 0x14},
	{"bios", "BiosSetup", 0x18},
	{"safe", "", 0x0c},
}

// BootDevice reads the device that a node boots from next, in Ironic's words ("pxe",
// "disk", "cdrom", "bios" or "safe"), and whether it is persistent. The device is empty
// if the BMC leaves the choice to the machine, or names another device.
func (d *Driver) BootDevice(ctx context.Context, id string) (device string, persistent bool, err error) {
	err = d.do(ctx, id, "read the boot device", func(ctx context.Context, conn connection) (err error) {
		device, persistent, err = conn.bootDevice(ctx)
		return err
	})
	return device, persistent, err
}

// SetBootDevice sets the device that a node boots from next, or always if persistent,
// in the words of [Driver.BootDevice]; only IPMI has "safe". The error is of the kind
// [verify.Unsupported] for a device that the BMC cannot set. A BMC without persistent
// boot devices refuses one.
func (d *Driver) SetBootDevice(ctx context.Context, id, device string, persistent bool) error {
	i := slices.IndexFunc(bootDevices, func(b bootDevice) bool { return b.word == device })
	if i < 0 {
		return &verify.Error{Op: "set the boot device", Kind: verify.Unsupported, Err: fmt.Errorf("there is no boot device %q", device)}
	}
	return d.do(ctx, id, "set boot device "+device, func(ctx context.Context, conn connection) error {
		return conn.setBootDevice(ctx, bootDevices[i], persistent)
	})
}
