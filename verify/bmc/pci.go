// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"slices"

	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// PCIDevice is a function of a PCI device. Its JSON is an entry of pci_devices in the inventory that Ironic's Redfish
// inspection stores, with the keys of Ironic's agent. A value that the BMC does not report is empty.
//
// Source: _extract_function_info in ironic/drivers/modules/redfish/inspect.py.
type PCIDevice struct {
	Class             string `json:"class,omitzero"` // Redfish's DeviceClass, such as "NetworkController"
	ProductID         string `json:"product_id,omitzero"`
	VendorID          string `json:"vendor_id,omitzero"`
	SubsystemID       string `json:"subsystem_id,omitzero"`
	SubsystemVendorID string `json:"subsystem_vendor_id,omitzero"`
	Revision          string `json:"revision,omitzero"`
}

// PCIDevices reads the functions of the PCI devices of a node's machine over Redfish, with up to 1,000 requests in up
// to 120 s, whatever the limits of the Config; none if the BMC does not report them. If some cannot be read, it returns
// the others beside the error. Over IPMI the error is of the kind [verify.Unsupported].
func (d *Driver) PCIDevices(ctx context.Context, id string) ([]PCIDevice, error) {
	return fromSystem(ctx, d, call{id: id, op: "read the PCI devices", long: true}, func(r *reader) (all []PCIDevice, err error) {
		take := func(f *schemas.PCIeFunction, _ resource) {
			found := PCIDevice{
				Class: string(f.DeviceClass), ProductID: f.DeviceID, VendorID: f.VendorID,
				SubsystemID: f.SubsystemID, SubsystemVendorID: f.SubsystemVendorID, Revision: f.RevisionID,
			}
			if found != (PCIDevice{}) {
				all = append(all, found)
			}
		}
		devices := r.links("PCIeDevices")
		slices.Sort(devices) // an iDRAC lists some twice
		readEach(r, slices.Compact(devices), func(_ *schemas.PCIeDevice, device resource) {
			if functions := device.link("PCIeFunctions"); functions != "" {
				readMembers(r, functions, take)
				return
			}
			readEach(r, device.links("Links", "PCIeFunctions"), take) // the older schemas, before PCIeDevice 1.4
		})
		return all, r.err()
	})
}
