// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/oslobool"
)

// NoManagement returns the management interface "noop". It does not set a boot device on the machine, whose own boot
// order must be the network first, then the disk.
//
// Source: ironic/drivers/modules/noop_mgmt.py.
func NoManagement() Management { return noManagement{} }

type noManagement struct{}

func (noManagement) Name() string                  { return "noop" }
func (noManagement) Properties() map[string]string { return nil }
func (noManagement) Validate(Node) error           { return nil }

var noopBootDevices = []string{"pxe", "disk"}

func (noManagement) BootDevices(context.Context, *conductor.Node) ([]string, error) {
	return slices.Clone(noopBootDevices), nil
}

func (noManagement) BootDevice(context.Context, *conductor.Node) (device string, persistent bool, err error) {
	return "pxe", true, nil
}

func (noManagement) SetBootDevice(_ context.Context, _ *conductor.Node, device string, _ bool) error {
	if !slices.Contains(noopBootDevices, device) {
		text := "Invalid boot device " + device + " specified, supported are " + strings.Join(noopBootDevices, ", ") + "."
		return &conductor.Error{Reason: conductor.Invalid, Text: text}
	}
	return nil
}

// BootDevices implements [conductor.BootDeviceManager].
func (b *Type) BootDevices(ctx context.Context, n *conductor.Node) ([]string, error) {
	node, err := b.node(n)
	if err != nil {
		return nil, err
	}
	return node.Chosen.Management.BootDevices(ctx, n)
}

// BootDevice implements [conductor.BootDeviceManager]. By Redfish the device is "" if the BMC overrides none and
// the machine boots by its own order.
func (b *Type) BootDevice(ctx context.Context, n *conductor.Node) (device string, persistent bool, err error) {
	node, err := b.node(n)
	if err != nil {
		return "", false, err
	}
	return node.Chosen.Management.BootDevice(ctx, n)
}

// SetBootDevice implements [conductor.BootDeviceManager].
func (b *Type) SetBootDevice(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
	node, err := b.node(n)
	if err != nil {
		return err
	}
	return node.Chosen.Management.SetBootDevice(ctx, n, device, persistent)
}

// bmcManagement is the management interface "ipmitool", and the part of "redfish" that they have in common.
type bmcManagement struct{ *bmcs }

// BootDevices implements [Management].
func (b bmcManagement) BootDevices(context.Context, *conductor.Node) ([]string, error) {
	return slices.Clone(b.devices), nil
}

// BootDevice implements [Management].
func (b bmcManagement) BootDevice(ctx context.Context, n *conductor.Node) (device string, persistent bool, err error) {
	err = b.do(n, func() (err error) {
		device, persistent, err = b.driver.BootDevice(ctx, n.UUID)
		return err
	})
	return device, persistent, err
}

// SetBootDevice implements [Management].
func (b bmcManagement) SetBootDevice(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
	if err := b.checkDevice(device); err != nil {
		return err
	}
	kept := true
	err := b.do(n, func() (err error) {
		if persistent {
			kept, err = b.driver.KeepBootDevice(ctx, n.UUID, device)
			return err
		}
		return b.driver.SetBootDevice(ctx, n.UUID, device, false)
	})
	if err != nil {
		return err
	}
	internal := maps.Clone(n.DriverInternalInfo)
	delete(internal, onceKey)
	if !kept {
		if internal == nil {
			internal = map[string]any{}
		}
		internal[onceKey] = device
	}
	n.DriverInternalInfo = internal
	return nil
}

func (b *bmcs) checkDevice(device string) error {
	if !slices.Contains(b.devices, device) {
		return &conductor.Error{Reason: conductor.Invalid, Text: "Invalid boot device " + device + " specified."}
	}
	return nil
}

// InjectNMI implements [NMIInjector].
func (b bmcManagement) InjectNMI(ctx context.Context, n *conductor.Node) error {
	return b.do(n, func() error { return b.driver.InjectNMI(ctx, n.UUID) })
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

// bootFrom sets the boot device in a step.
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
	if reflect.DeepEqual(n.DriverInternalInfo, before) {
		return err
	}
	internal := n.DriverInternalInfo
	stored := t.Update(ctx, func(n *conductor.Node) error { n.DriverInternalInfo = internal; return nil })
	return cmp.Or(err, stored)
}
