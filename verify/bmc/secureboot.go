// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"net/http"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// SecureBoot reads whether UEFI secure boot is enabled for a node's next boot. The error
// is of the kind [verify.Unsupported] if the machine has none, and over IPMI.
func (d *Driver) SecureBoot(ctx context.Context, id string) (bool, error) {
	return fromSystem(ctx, d, call{id: id, op: "read secure boot", shares: true}, func(r *reader) (bool, error) {
		enabled, _, err := r.secureBoot()
		return enabled, err
	})
}

// SetSecureBoot enables or disables UEFI secure boot from a node's next boot. It returns the
// errors of [Driver.SecureBoot]; a machine whose boot mode is BIOS has no secure boot to
// enable. Some BMCs have no secure boot, 503, while they configure it: the request is then repeated.
//
// Source: set_secure_boot_state in ironic/drivers/modules/redfish/management.py.
func (d *Driver) SetSecureBoot(ctx context.Context, id string, enabled bool) error {
	return d.withSystem(ctx, call{id: id, op: "set secure boot"}, func(r *reader) error {
		now, a, err := r.secureBoot()
		switch {
		case err != nil || now == enabled:
			return err
		case modeOf(string(r.system.Boot.BootSourceOverrideMode)) == biosMode:
			return failure.Unsupportedf("secure boot requires the boot mode UEFI")
		}
		return r.client.Change(r.ctx, a, map[string]bool{"SecureBootEnable": enabled}, http.StatusServiceUnavailable)
	})
}

// secureBoot reads the SecureBoot resource (DSP8010).
func (r *reader) secureBoot() (enabled bool, a *redfish.Answer, err error) {
	path := r.link("SecureBoot")
	if path == "" {
		return false, nil, failure.Unsupportedf("the system has no secure boot")
	}
	found, err := r.get(r.ctx, path, new(schemas.SecureBoot))
	if err != nil {
		return false, nil, err
	}
	enabled, ok := found.at("SecureBootEnable").(bool)
	if !ok {
		return false, nil, failure.Unsupportedf("the system does not report whether secure boot is enabled")
	}
	return enabled, found.answer, nil
}
