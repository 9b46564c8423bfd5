// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"cmp"
	"context"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// FirmwareComponent is a part of a machine with firmware, in Ironic's words: "bios", "bmc", or "nic:" and
// the serial number or the ID of a network adapter.
//
// Source: cache_firmware_components in ironic/drivers/modules/redfish/firmware.py.
type FirmwareComponent struct {
	Component string `json:"component"`
	Version   string `json:"current_version"`
	// Who made the component, and which one it is; "" if the BMC does not report it.
	Vendor       string `json:"vendor,omitempty"`
	Model        string `json:"model,omitempty"`
	SerialNumber string `json:"serial_number,omitempty"`
}

// Firmware reads the firmware versions of a node's machine and its BMC over Redfish. If some cannot be read, it returns
// the others beside the error. If there is none, and over IPMI, the error is of the kind [verify.Unsupported].
func (d *Driver) Firmware(ctx context.Context, id string) ([]FirmwareComponent, error) {
	of := call{id: id, op: "read the firmware versions", long: true}
	return fromSystem(ctx, d, of, func(r *reader) (all []FirmwareComponent, err error) {
		add := func(c FirmwareComponent) {
			if c.Version != "" {
				all = append(all, c)
			}
		}
		add(FirmwareComponent{Component: "bios", Version: r.system.BIOSVersion})
		bmc := FirmwareComponent{Component: "bmc"}
		r.managers(func(m *schemas.Manager, _ resource) {
			if bmc.Version == "" {
				bmc.Version, bmc.Model = m.FirmwareVersion, m.Model
			}
		})
		add(bmc)
		r.adapters(func(a *schemas.NetworkAdapter, _ resource) {
			for _, controller := range a.Controllers {
				add(FirmwareComponent{
					"nic:" + cmp.Or(a.SerialNumber, a.ID), controller.FirmwarePackageVersion, a.Manufacturer, a.Model, a.SerialNumber,
				})
			}
		})
		if len(all) == 0 && len(r.errs) == 0 {
			return nil, failure.Unsupportedf("the BMC reports no firmware versions")
		}
		return all, r.err()
	})
}
