// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/oslobool"
)

// noopBootDevices are the boot devices that the management interface "noop" accepts. It does not
// set them on the machine.
//
// Source: ironic/drivers/modules/noop_mgmt.py.
var noopBootDevices = []string{"pxe", "disk"}

func (b *Type) devices(n *conductor.Node) []string {
	if b.chosen(n, "management") == "noop" {
		return noopBootDevices
	}
	return b.bootDevices
}

// BootDevices implements [conductor.BootDeviceManager].
func (b *Type) BootDevices(_ context.Context, n *conductor.Node) ([]string, error) {
	if err := b.usable(n); err != nil {
		return nil, err
	}
	return slices.Clone(b.devices(n)), nil
}

// BootDevice implements [conductor.BootDeviceManager]. The device is "" if the BMC overrides none and
// the machine boots by its own order.
func (b *Type) BootDevice(ctx context.Context, n *conductor.Node) (device string, persistent bool, err error) {
	if err := b.usable(n); err != nil {
		return "", false, err
	}
	if b.chosen(n, "management") == "noop" {
		return "pxe", true, nil
	}
	err = b.do(n, func() (err error) {
		device, persistent, err = b.driver.BootDevice(ctx, n.UUID)
		return err
	})
	return device, persistent, err
}

// SetBootDevice implements [conductor.BootDeviceManager].
func (b *Type) SetBootDevice(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
	if err := b.usable(n); err != nil {
		return err
	}
	if !slices.Contains(b.devices(n), device) {
		return &conductor.Error{Reason: conductor.Invalid, Text: "Invalid boot device " + device + " specified."}
	}
	if b.chosen(n, "management") == "noop" {
		return nil
	}
	err := b.do(n, func() error { return b.driver.SetBootDevice(ctx, n.UUID, device, persistent) })
	if b.chosen(n, "management") == "redfish" {
		return redfishError(n, "Redfish set boot device failed for node NODE. Error: ", err)
	}
	return err
}

const (
	persistenceKey  = "force_persistent_boot_device"
	persistenceText = "Whether steps set the boot device persistently: Always, Never, or Default, which lets the step decide."
)

// bootFrom sets the boot device in a step.
//
// Source: node_set_boot_device in ironic/conductor/utils.py.
func (b *Type) bootFrom(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
	switch value := n.DriverInfo[persistenceKey].(type) {
	case bool:
		persistent = persistent || value
	case string:
		always, _ := oslobool.Parse(value)
		persistent = value != "Never" && (persistent || always || value == "Always")
	}
	return b.SetBootDevice(ctx, n, device, persistent)
}
