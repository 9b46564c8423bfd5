// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/verify/bmc"
)

// redfishFirmware is the firmware interface "redfish".
type redfishFirmware struct{ *bmcs }

// Validate implements [Interface].
func (b redfishFirmware) Validate(n Node) error {
	if err := b.bmcs.Validate(n); err != nil {
		return err
	}
	return info{n.Node}.checkUnused(usedByFirmware)
}

// ReadFirmware implements [FirmwareReader]. It fails if the BMC reports no version at all; a
// version that cannot be read is left out.
//
// Source: cache_firmware_components in ironic/drivers/modules/redfish/firmware.py.
func (b redfishFirmware) ReadFirmware(ctx context.Context, n *conductor.Node) ([]conductor.FirmwareComponent, error) {
	found, err := ask(ctx, b.bmcs, n, (*bmc.Driver).Firmware)
	if len(found) == 0 {
		return nil, err
	}
	components := make([]conductor.FirmwareComponent, len(found))
	for i, c := range found {
		components[i] = conductor.FirmwareComponent{
			Component: c.Component, CurrentVersion: c.Version, Vendor: c.Vendor, Model: c.Model, SerialNumber: c.SerialNumber,
		}
	}
	return components, nil
}
