// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/redfish"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// nmi is the word of connection.setPower for a non-maskable interrupt. It is ipmitool's.
const nmi = "diag"

// InjectNMI sends a node's machine a non-maskable interrupt, at which most operating
// systems write a dump.
//
// Source: inject_nmi in ironic/drivers/modules/redfish/management.py and ipmitool.py.
func (d *Driver) InjectNMI(ctx context.Context, id string) error {
	return d.do(ctx, id, "inject an NMI", func(ctx context.Context, conn connection) error {
		return conn.setPower(ctx, nmi)
	})
}

// BootMode reads how a node's machine boots: "uefi" or "bios", or "" if the BMC does not
// report it. Over IPMI the error is of the kind [verify.Unsupported].
func (d *Driver) BootMode(ctx context.Context, id string) (mode string, err error) {
	err = d.redfish(ctx, 0, id, "read the boot mode", func(ctx context.Context, r *redfishConnection) error {
		system, err := r.service.readSystem(ctx)
		if err != nil {
			return err
		}
		boot, err := system.boot()
		mode = modeOf(boot.Mode)
		return err
	})
	return mode, err
}

// SetBootMode sets how a node's machine boots, "uefi" or "bios", from its next reset. It
// sends nothing if that is the boot mode. Over IPMI, and if the BMC does not report the
// boot mode, the error is of the kind [verify.Unsupported].
//
// Source: set_boot_mode in ironic/drivers/modules/redfish/management.py.
func (d *Driver) SetBootMode(ctx context.Context, id, mode string) error {
	const op = "set the boot mode"
	if err := oneOf("boot mode", mode, uefiMode, biosMode); err != nil {
		return &verify.Error{Op: op, Kind: verify.Misconfigured, Err: err}
	}
	return d.redfish(ctx, 0, id, op, func(ctx context.Context, r *redfishConnection) error {
		system, err := r.service.readSystem(ctx)
		if err != nil {
			return err
		}
		var has struct {
			boot
			Modes []string `json:"BootSourceOverrideMode@Redfish.AllowableValues"`
		}
		wanted := redfishModes[mode]
		err = system.get("Boot", &has)
		switch {
		case err != nil:
			return err
		case has.Mode == "":
			return failure.Unsupportedf("the system does not report its boot mode")
		case has.Mode == wanted:
			return nil
		case len(has.Modes) > 0 && !slices.Contains(has.Modes, wanted):
			return failure.Unsupportedf("the system has the boot modes %q and not %q", has.Modes, wanted)
		}
		return r.service.change(ctx, system.answer.path, system.answer, map[string]boot{"Boot": {Mode: wanted}})
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

// SecureBoot reads whether UEFI secure boot is enabled for a node's next boot. The error
// is of the kind [verify.Unsupported] if the machine has none, and over IPMI.
func (d *Driver) SecureBoot(ctx context.Context, id string) (enabled bool, err error) {
	err = d.redfish(ctx, 0, id, "read secure boot", func(ctx context.Context, r *redfishConnection) error {
		read, err := r.service.startReading(ctx)
		if err == nil {
			enabled, _, err = read.secureBoot()
		}
		return err
	})
	return enabled, err
}

// SetSecureBoot enables or disables UEFI secure boot from a node's next boot. Errors are
// those of [Driver.SecureBoot]; a machine whose boot mode is BIOS has no secure boot to
// enable.
//
// Source: set_secure_boot_state in ironic/drivers/modules/redfish/management.py.
func (d *Driver) SetSecureBoot(ctx context.Context, id string, enabled bool) error {
	return d.redfish(ctx, 0, id, "set secure boot", func(ctx context.Context, r *redfishConnection) error {
		read, err := r.service.startReading(ctx)
		if err != nil {
			return err
		}
		now, a, err := read.secureBoot()
		switch {
		case err != nil || now == enabled:
			return err
		case modeOf(string(read.system.Boot.BootSourceOverrideMode)) == biosMode:
			return failure.Unsupportedf("secure boot requires the boot mode UEFI")
		}
		return r.service.change(ctx, a.path, a, map[string]bool{"SecureBootEnable": enabled})
	})
}

// secureBoot reads the SecureBoot resource (DSP8010).
func (r *reading) secureBoot() (enabled bool, a *answer, err error) {
	path := r.resource.link("SecureBoot")
	if path == "" {
		return false, nil, failure.Unsupportedf("the system has no secure boot")
	}
	_, a, err = r.service.get(r.ctx, path)
	if err != nil {
		return false, nil, err
	}
	found, err := r.service.decode(a, new(redfish.SecureBoot))
	if err != nil {
		return false, nil, err
	}
	enabled, ok := found["SecureBootEnable"].(bool)
	if !ok {
		return false, nil, failure.Unsupportedf("the system does not report whether secure boot is enabled")
	}
	return enabled, a, nil
}
