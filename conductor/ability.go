// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"time"
)

// Validate checks the hardware interfaces of a node. The map has one entry for each kind of
// interface: nil if it is ready for work, or the reason why it is not. The error matches
// [NotFound] or [Invalid], or is the store's.
func (c *Conductor) Validate(ctx context.Context, ident string) (map[string]error, error) {
	return validate.call(ctx, c, ident, none{})
}

var validate = forOwner("validate", func(ctx context.Context, c *Conductor, ident string, _ none) (problems, error) {
	n, hardware, err := c.engine.load(ctx, ident)
	if err != nil {
		return nil, err
	}
	all := c.rules.validate(hardware, n)
	if all["deploy"] == nil {
		all["deploy"] = c.rules.validateTraits(n)
	}
	return all, nil
})

// BootDevice reads the device that a node boots from next. The error matches
// [NotFound], [Locked] or [Unsupported], or is a [*HardwareError] or the store's.
func (c *Conductor) BootDevice(ctx context.Context, ident string) (device string, persistent bool, err error) {
	boot, err := bootDevice.call(ctx, c, ident, none{})
	return boot.Device, boot.Persistent, err
}

type bootArgs struct {
	Device     string
	Persistent bool
}

var bootDevice = forOwner("boot device", func(ctx context.Context, c *Conductor, ident string, _ none) (boot bootArgs, err error) {
	err = withBootDevices(ctx, c, ident, func(ctx context.Context, b BootDeviceManager, n *Node) (err error) {
		boot.Device, boot.Persistent, err = b.BootDevice(ctx, n)
		return err
	})
	return boot, err
})

// BootDevices returns the devices that a node can boot from; errors are those of
// [Conductor.BootDevice].
func (c *Conductor) BootDevices(ctx context.Context, ident string) ([]string, error) {
	return bootDevices.call(ctx, c, ident, none{})
}

var bootDevices = forOwner("boot devices", func(ctx context.Context, c *Conductor, ident string, _ none) (devices []string, err error) {
	err = c.engine.shared(ctx, ident, func(ctx context.Context, hardware Hardware, n *Node) (err error) {
		b, ok := hardware.(BootDeviceManager)
		if !ok {
			return unsupported(n, "boot devices")
		}
		devices, err = b.BootDevices(ctx, n)
		return err
	})
	return devices, err
})

// SetBootDevice sets the device for the next boot of a node, or for all boots if persistent;
// errors are those of [Conductor.BootDevice].
func (c *Conductor) SetBootDevice(ctx context.Context, ident, device string, persistent bool) error {
	_, err := setBootDevice.call(ctx, c, ident, bootArgs{device, persistent})
	return err
}

var setBootDevice = forOwnerNoResult("set boot device", func(ctx context.Context, c *Conductor, ident string, args bootArgs) error {
	return withBootDevices(ctx, c, ident, func(ctx context.Context, b BootDeviceManager, n *Node) error {
		return b.SetBootDevice(ctx, n, args.Device, args.Persistent)
	})
})

// callTimeout bounds a hardware call whose result a client waits for.
const callTimeout = time.Minute

// withBootDevices reserves the node and calls f with its hardware type. The error matches
// Unsupported where the hardware type is no BootDeviceManager.
func withBootDevices(ctx context.Context, c *Conductor, ident string, f func(context.Context, BootDeviceManager, *Node) error) error {
	return c.engine.exclusively(ctx, ident, func(ctx context.Context, hardware Hardware, n *Node) error {
		b, ok := hardware.(BootDeviceManager)
		if !ok {
			return unsupported(n, "boot devices")
		}
		return f(ctx, b, n)
	})
}

// VendorMethods returns the vendor passthru methods of a node, nil if it has none. The error matches [NotFound] or
// [Invalid], or is the store's.
func (c *Conductor) VendorMethods(ctx context.Context, ident string) (map[string]VendorMethod, error) {
	return vendorMethods.call(ctx, c, ident, none{})
}

var vendorMethods = forOwner("vendor methods", func(ctx context.Context, c *Conductor, ident string, _ none) (map[string]VendorMethod, error) {
	n, hardware, err := c.engine.load(ctx, ident)
	if err != nil {
		return nil, err
	}
	if vendor := c.rules.vendor(hardware, n); vendor != nil {
		return vendor.VendorMethods(), nil
	}
	return nil, nil
})

// CallVendor calls a vendor passthru method of a node's hardware type. The error matches
// [NotFound], [Locked], or [Unsupported] where there is no such method, or is a
// [*HardwareError] or the store's.
func (c *Conductor) CallVendor(ctx context.Context, ident, method string, args map[string]any) (answer any, err error) {
	return callVendor.call(ctx, c, ident, vendorArgs{method, args})
}

type vendorArgs struct {
	Method string
	Args   map[string]any
}

var callVendor = forOwner("vendor", func(ctx context.Context, c *Conductor, ident string, args vendorArgs) (answer any, err error) {
	methods, err := vendorMethods.do(ctx, c, ident, none{})
	if err != nil {
		return nil, err
	}
	call := func(ctx context.Context, hardware Hardware, n *Node) (err error) {
		vendor := c.rules.vendor(hardware, n)
		if vendor == nil {
			return refuse(Unsupported, "No handler for method %s", args.Method)
		}
		answer, err = vendor.CallVendor(ctx, n, args.Method, args.Args)
		return err
	}
	switch m, ok := methods[args.Method]; {
	case !ok:
		return nil, refuse(Unsupported, "No handler for method %s", args.Method)
	case !m.Exclusive:
		err = c.engine.shared(ctx, ident, call)
	default:
		err = c.engine.exclusively(ctx, ident, call)
	}
	return answer, err
})
