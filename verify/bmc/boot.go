// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// bootDevice is a boot device.
type bootDevice struct {
	word   string   // Ironic's
	target string   // BootSourceOverrideTarget of Redfish; empty if there is none
	code   byte     // boot device selector of IPMI (section 28.13, parameter 5), at its position in the second byte; 0 if there is none
	others []string // other words of Redfish BMCs for the target
}

// is reports whether a BootSourceOverrideTarget is the device.
func (b bootDevice) is(target string) bool {
	words := append([]string{b.target}, b.others...)
	return b.target != "" && slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, target) })
}

// Source: ironic/common/boot_devices.py and the management interfaces in ironic/drivers/modules.
var bootDevices = []bootDevice{
	{"pxe", "Pxe", 0x04, nil},
	{"disk", "Hdd", diskSelector, nil},
	{"cdrom", "Cd", 0x14, []string{"CD/DVD", "UsbCd"}},
	{"bios", "BiosSetup", 0x18, nil},
	{"safe", "", 0x0c, nil},
	{"uefihttp", "UefiHttp", 0, nil},
}

// BootDevice reads the device that a node boots from next, in Ironic's words ("pxe", "disk", "cdrom", "bios", "safe" or
// "uefihttp"), and whether it is persistent. The device is empty if the BMC leaves the choice to the machine, or names
// another device.
func (d *Driver) BootDevice(ctx context.Context, id string) (device string, persistent bool, err error) {
	err = d.do(ctx, call{id: id, op: "read the boot device"}, func(ctx context.Context, conn connection) (err error) {
		device, persistent, err = conn.bootDevice(ctx)
		return err
	})
	return device, persistent, err
}

// SetBootDevice sets the device that a node boots from next, or always if persistent, in the words of
// [Driver.BootDevice]; only IPMI has "safe", and only Redfish "uefihttp". The error is of the kind [verify.Unsupported]
// for a device that the BMC cannot set, and matches [ErrBootMode] for a machine that does not boot as Config.BootMode
// says. A BMC that has no persistent boot devices boots the device once, see [Driver.KeepBootDevice].
func (d *Driver) SetBootDevice(ctx context.Context, id, device string, persistent bool) error {
	_, err := d.setBootDevice(ctx, id, device, persistent)
	return err
}

// KeepBootDevice sets the device that a node always boots from. It reports whether the BMC keeps it. Otherwise the
// device is set for the next boot only, and the caller sets it again before each start of the machine.
func (d *Driver) KeepBootDevice(ctx context.Context, id, device string) (kept bool, err error) {
	return d.setBootDevice(ctx, id, device, true)
}

func (d *Driver) setBootDevice(ctx context.Context, id, device string, persistent bool) (kept bool, err error) {
	i := slices.IndexFunc(bootDevices, func(b bootDevice) bool { return b.word == device })
	if i < 0 {
		return false, &verify.Error{Op: "set the boot device", Kind: verify.Unsupported, Err: fmt.Errorf("there is no boot device %q", device)}
	}
	err = d.do(ctx, call{id: id, op: "set boot device " + device, long: true}, func(ctx context.Context, conn connection) (err error) {
		kept, err = conn.setBootDevice(ctx, bootDevices[i], persistent)
		return err
	})
	return kept && (err == nil || errors.Is(err, ErrBootMode)), err
}

// ErrBootMode is the error about a boot device that is set, while the BMC shows another boot mode than the wanted one.
// It is also of the kind [verify.Protocol]. A BMC may need [Driver.SetBootMode], and a reset of the machine.
var ErrBootMode error = failure.Reason("the BMC shows another boot mode")

// BootMode reads how a node's machine boots: "uefi" or "bios", or "" if the BMC does not
// report it. Over IPMI the error is of the kind [verify.Unsupported].
func (d *Driver) BootMode(ctx context.Context, id string) (string, error) {
	return fromSystem(ctx, d, call{id: id, op: "read the boot mode", shares: true}, func(r *reader) (string, error) {
		boot, err := r.boot()
		return modeOf(boot.Mode), err
	})
}

// SetBootMode sets how a node's machine boots, "uefi" or "bios", from its next reset. It sends nothing if that is the
// boot mode. Over IPMI, and if the BMC does not report the boot mode, the error is of the kind [verify.Unsupported].
//
// Source: set_boot_mode in ironic/drivers/modules/redfish/management.py.
func (d *Driver) SetBootMode(ctx context.Context, id, mode string) error {
	const op = "set the boot mode"
	if err := oneOf("boot mode", mode, uefiMode, biosMode); err != nil {
		return &verify.Error{Op: op, Kind: verify.Misconfigured, Err: err}
	}
	return d.overRedfish(ctx, call{id: id, op: op, long: true}, func(ctx context.Context, r *redfishConnection) error {
		return r.setBootMode(ctx, redfishModes[mode])
	})
}

// modeOf returns Ironic's word for a BootSourceOverrideMode, "" if there is none.
func modeOf(mode string) string {
	for word, spelt := range redfishModes {
		if strings.EqualFold(spelt, mode) {
			return word
		}
	}
	return ""
}
