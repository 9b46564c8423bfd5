// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"
	"context"
	"errors"
	"reflect"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/oslobool"
	"github.com/ironstate/ironstate/verify/bmc"
)

// BootDevices implements [conductor.BootDeviceManager].
func (t *Type) BootDevices(ctx context.Context, n *conductor.Node) ([]string, error) {
	node, err := t.node(n)
	if err != nil {
		return nil, err
	}
	return node.Chosen.Management.BootDevices(ctx, n)
}

// BootDevice implements [conductor.BootDeviceManager]. By Redfish the device is "" if the BMC overrides none and
// the machine boots by its own order.
func (t *Type) BootDevice(ctx context.Context, n *conductor.Node) (device string, persistent bool, err error) {
	node, err := t.node(n)
	if err != nil {
		return "", false, err
	}
	return node.Chosen.Management.BootDevice(ctx, n)
}

// SetBootDevice implements [conductor.BootDeviceManager].
func (t *Type) SetBootDevice(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
	node, err := t.node(n)
	if err != nil {
		return err
	}
	return node.Chosen.Management.SetBootDevice(ctx, n, device, persistent)
}

// onceKey is the key of driver_internal_info with the boot device that is set again before each start, since the BMC
// keeps none.
//
// Source: restore_boot_device in ironic/drivers/modules/redfish/management.py.
const onceKey = "redfish_boot_device"

// deviceOnce returns the boot device that is set again before each start of the node's machine; "" if there is none.
func deviceOnce(n *conductor.Node) string {
	device, _ := n.DriverInternalInfo[onceKey].(string)
	return device
}

const (
	persistenceKey  = "force_persistent_boot_device"
	persistenceText = "Whether steps set the boot device persistently: Always, Never, or Default, which lets the step decide."
)

// bootModeKeeper is what the management interface "redfish" also implements.
type bootModeKeeper interface {
	// keepBootMode sets the boot mode that a BMC has changed beside the boot device, without a reboot. It returns the
	// given error, [bmc.ErrBootMode], if the mode remains another one, or is none of the node's.
	keepBootMode(ctx context.Context, n *conductor.Node, changed error) error
}

// bootFrom sets the boot device in a step, and the boot mode that a BMC may lose by that.
//
// Source: node_set_boot_device in ironic/conductor/utils.py.
func bootFrom(ctx context.Context, t Task, device string, persistent bool) error {
	before := t.Node().DriverInternalInfo
	n := t.Task.Node().Clone()
	switch value := n.DriverInfo[persistenceKey].(type) {
	case bool:
		persistent = persistent || value
	case string:
		always, _ := oslobool.Parse(value)
		persistent = value != "Never" && (persistent || always || value == "Always")
	}
	err := t.Chosen.Management.SetBootDevice(ctx, n, device, persistent)
	if keeper, ok := t.Chosen.Management.(bootModeKeeper); ok && errors.Is(err, bmc.ErrBootMode) {
		err = keeper.keepBootMode(ctx, n, err)
	}
	if reflect.DeepEqual(n.DriverInternalInfo, before) {
		return err
	}
	internal := n.DriverInternalInfo
	stored := t.Update(ctx, func(n *conductor.Node) error { n.DriverInternalInfo = internal; return nil })
	return cmp.Or(err, stored)
}
