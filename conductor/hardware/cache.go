// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/verify/bmc"
)

// ReadVendor implements [conductor.CacheReader].
func (t *Type) ReadVendor(ctx context.Context, n *conductor.Node) (firmware, machine string, err error) {
	node, err := t.node(n)
	if by, ok := node.Chosen.Management.(VendorReader); ok && err == nil {
		return by.ReadVendor(ctx, n)
	}
	return "", "", err
}

// ReadBootMode implements [conductor.CacheReader].
func (t *Type) ReadBootMode(ctx context.Context, n *conductor.Node) (mode string, secureBoot *bool, err error) {
	node, err := t.node(n)
	if by, ok := node.Chosen.Management.(BootModeReader); ok && err == nil {
		return by.ReadBootMode(ctx, n)
	}
	return "", nil, err
}

// ReadHealth implements [conductor.HealthReader].
func (t *Type) ReadHealth(ctx context.Context, n *conductor.Node) (string, error) {
	node, err := t.node(n)
	if by, ok := node.Chosen.Management.(conductor.HealthReader); ok && err == nil {
		return by.ReadHealth(ctx, n)
	}
	return "", err
}

// ShareReads implements [conductor.ReadSharer].
func (t *Type) ShareReads(ctx context.Context) context.Context { return bmc.ShareReads(ctx) }

// ReadBIOS implements [conductor.CacheReader].
func (t *Type) ReadBIOS(ctx context.Context, n *conductor.Node) ([]conductor.BIOSSetting, error) {
	node, err := t.node(n)
	if by, ok := node.Chosen.BIOS.(BIOSReader); ok && err == nil {
		return by.ReadBIOS(ctx, n)
	}
	return nil, err
}

// ReadFirmware implements [conductor.CacheReader].
func (t *Type) ReadFirmware(ctx context.Context, n *conductor.Node) ([]conductor.FirmwareComponent, error) {
	node, err := t.node(n)
	if by, ok := node.Chosen.Firmware.(FirmwareReader); ok && err == nil {
		return by.ReadFirmware(ctx, n)
	}
	return nil, err
}
