// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/verify/bmc"
)

// ReadBIOS implements [conductor.CacheReader].
func (b *BMC) ReadBIOS(ctx context.Context, n *conductor.Node) ([]conductor.BIOSSetting, error) {
	if err := b.usable(n); err != nil || b.chosen(n, "bios") != "redfish" {
		return nil, err
	}
	settings, err := b.biosSettings(ctx, n)
	if err != nil {
		return nil, err
	}
	return biosRecords(settings)
}

// ReadFirmware implements [conductor.CacheReader]. It fails if the BMC reports no version at all; a
// version that cannot be read is left out.
//
// Source: cache_firmware_components in ironic/drivers/modules/redfish/firmware.py.
func (b *BMC) ReadFirmware(ctx context.Context, n *conductor.Node) ([]conductor.FirmwareComponent, error) {
	if err := b.usable(n); err != nil || b.chosen(n, "firmware") != "redfish" {
		return nil, err
	}
	var found []bmc.FirmwareComponent
	err := b.do(n, func() (err error) {
		found, err = b.driver.Firmware(ctx, n.UUID)
		return err
	})
	if len(found) == 0 {
		return nil, err
	}
	components := make([]conductor.FirmwareComponent, len(found))
	for i, c := range found {
		components[i].Component, components[i].CurrentVersion = c.Component, c.Version
	}
	return components, nil
}
