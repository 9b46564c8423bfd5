// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// ReadVendor implements [conductor.CacheReader].
//
// Source: detect_vendor in ironic/drivers/modules/redfish/management.py.
func (b *Type) ReadVendor(ctx context.Context, n *conductor.Node) (vendor string, err error) {
	if err := b.usable(n); err != nil || b.chosen(n, "management") != "redfish" {
		return "", err
	}
	err = b.do(n, func() (err error) {
		vendor, err = b.driver.Manufacturer(ctx, n.UUID)
		return err
	})
	return vendor, err
}

// ReadBootMode implements [conductor.CacheReader].
//
// Source: get_boot_mode and get_secure_boot_state in ironic/drivers/modules/redfish/management.py.
func (b *Type) ReadBootMode(ctx context.Context, n *conductor.Node) (mode string, secureBoot *bool, err error) {
	if err := b.usable(n); err != nil || b.chosen(n, "management") != "redfish" {
		return "", nil, err
	}
	err = b.do(n, func() (err error) {
		if mode, err = b.driver.BootMode(ctx, n.UUID); err != nil {
			return err
		}
		enabled, err := b.driver.SecureBoot(ctx, n.UUID)
		if errors.Is(err, verify.Unsupported) {
			return nil
		}
		secureBoot = &enabled
		return err
	})
	return mode, secureBoot, err
}

// ReadHealth implements [conductor.HealthReader].
func (b *Type) ReadHealth(ctx context.Context, n *conductor.Node) (health string, err error) {
	if err := b.usable(n); err != nil || b.chosen(n, "management") != "redfish" {
		return "", err
	}
	err = b.do(n, func() (err error) {
		health, err = b.driver.Health(ctx, n.UUID)
		return err
	})
	return health, err
}

// ReadBIOS implements [conductor.CacheReader].
func (b *Type) ReadBIOS(ctx context.Context, n *conductor.Node) ([]conductor.BIOSSetting, error) {
	if err := b.usable(n); err != nil || b.chosen(n, "bios") != "redfish" {
		return nil, err
	}
	settings, err := biosSettings{b}.read(ctx, n)
	if err != nil {
		return nil, err
	}
	return biosRecords(settings)
}

// ReadFirmware implements [conductor.CacheReader]. It fails if the BMC reports no version at all; a
// version that cannot be read is left out.
//
// Source: cache_firmware_components in ironic/drivers/modules/redfish/firmware.py.
func (b *Type) ReadFirmware(ctx context.Context, n *conductor.Node) ([]conductor.FirmwareComponent, error) {
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
