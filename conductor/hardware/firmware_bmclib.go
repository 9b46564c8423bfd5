// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"
	"context"
	"time"

	"github.com/bmc-toolbox/bmclib/v2"
	provider "github.com/bmc-toolbox/bmclib/v2/bmc"
	inventory "github.com/bmc-toolbox/common"

	"github.com/ironstate/ironstate/conductor"
)

// bmclibFirmware is the firmware interface "bmclib".
type bmclibFirmware struct {
	anyBMC
	limit, interval time.Duration
	pause           func(context.Context, time.Duration) bool // sleep.For but for tests
}

// ReadFirmware implements [FirmwareReader]. It returns nil if the provider reads no inventory, as rpc and intel-amt.
func (b bmclibFirmware) ReadFirmware(ctx context.Context, n *conductor.Node) (found []conductor.FirmwareComponent, err error) {
	if reads, err := has[provider.InventoryGetter](ctx, b.anyBMC, n); !reads {
		return nil, err
	}
	err = b.call(ctx, n, "read the firmware versions", func(ctx context.Context, c *bmclib.Client) error {
		device, err := c.Inventory(ctx)
		if err == nil {
			found = firmwareIn(device)
		}
		return err
	})
	return found, err
}

// firmwareIn returns the versions in an inventory.
func firmwareIn(device *inventory.Device) (found []conductor.FirmwareComponent) {
	add := func(name string, c inventory.Common) {
		if c.Firmware != nil && c.Firmware.Installed != "" {
			found = append(found, conductor.FirmwareComponent{
				Component: name, CurrentVersion: c.Firmware.Installed, Vendor: c.Vendor, Model: c.Model, SerialNumber: c.Serial,
			})
		}
	}
	if device.BIOS != nil {
		add("bios", device.BIOS.Common)
	}
	if device.BMC != nil {
		add("bmc", device.BMC.Common)
	}
	for _, nic := range device.NICs {
		add("nic:"+cmp.Or(nic.Serial, nic.ID), nic.Common)
	}
	return found
}
