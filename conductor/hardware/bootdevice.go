// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"
	"context"
	"errors"
	"reflect"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/oslobool"
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

const (
	persistenceKey  = "force_persistent_boot_device"
	persistenceText = "Whether steps set the boot device persistently: Always, Never, or Default, which lets the step decide."
)

// bootFrom sets the boot device in a step, and the boot mode that a BMC may lose by that.
//
// Source: node_set_boot_device in ironic/conductor/utils.py.
func bootFrom(ctx context.Context, t Task, device string, persistent bool) error {
	return changeInternal(ctx, t, func(n *conductor.Node) error {
		switch value := n.DriverInfo[persistenceKey].(type) {
		case bool:
			persistent = persistent || value
		case string:
			always, _ := oslobool.Parse(value)
			persistent = value != "Never" && (persistent || always || value == "Always")
		}
		err := t.Chosen.Management.SetBootDevice(ctx, n, device, persistent)
		if by, ok := t.Chosen.Management.(BootModeKeeper); ok && errors.Is(err, ErrBootMode) {
			return by.KeepBootMode(ctx, n, err)
		}
		return err
	})
}

// changeInternal calls f with a copy of the node's record, and stores what f has changed in driver_internal_info, also
// if f fails.
func changeInternal(ctx context.Context, t Task, f func(*conductor.Node) error) error {
	before := t.Node().DriverInternalInfo
	n := t.Task.Node().Clone()
	err := f(n)
	if reflect.DeepEqual(n.DriverInternalInfo, before) {
		return err
	}
	internal := n.DriverInternalInfo
	stored := t.Update(ctx, func(n *conductor.Node) error { n.DriverInternalInfo = internal; return nil })
	return cmp.Or(err, stored)
}
