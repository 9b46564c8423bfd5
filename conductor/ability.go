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
	if r, delegated, err := c.calls.delegate(ctx, ident, "validate", callArgs{}); delegated {
		problems := map[string]error{}
		for kind, problem := range r.Problems {
			problems[kind] = nil
			if problem != nil {
				problems[kind] = problem
			}
		}
		return problems, err
	}
	n, hardware, err := c.engine.load(ctx, ident)
	if err != nil {
		return nil, err
	}
	problems := c.rules.validate(hardware, n)
	if problems["deploy"] == nil {
		problems["deploy"] = c.rules.validateTraits(n)
	}
	return problems, nil
}

// BootDevice reads the device that a node boots from next. The error matches
// [NotFound], [Locked] or [Unsupported], or is the hardware's or the store's.
func (c *Conductor) BootDevice(ctx context.Context, ident string) (device string, persistent bool, err error) {
	if r, delegated, err := c.calls.delegate(ctx, ident, "boot device", callArgs{}); delegated {
		return r.Device, r.Persistent, err
	}
	err = withBootDevices(ctx, c, ident, func(ctx context.Context, b BootDeviceManager, n *Node) (err error) {
		device, persistent, err = b.BootDevice(ctx, n)
		return err
	})
	return device, persistent, err
}

// BootDevices returns the devices that a node can boot from; errors are those of
// [Conductor.BootDevice].
func (c *Conductor) BootDevices(ctx context.Context, ident string) (devices []string, err error) {
	if r, delegated, err := c.calls.delegate(ctx, ident, "boot devices", callArgs{}); delegated {
		return r.Devices, err
	}
	err = c.engine.shared(ctx, ident, func(ctx context.Context, hardware Hardware, n *Node) (err error) {
		b, ok := hardware.(BootDeviceManager)
		if !ok {
			return unsupported(n, "boot devices")
		}
		devices, err = b.BootDevices(ctx, n)
		return err
	})
	return devices, err
}

// SetBootDevice sets the device for the next boot of a node, or for all boots if persistent;
// errors are those of [Conductor.BootDevice].
func (c *Conductor) SetBootDevice(ctx context.Context, ident, device string, persistent bool) error {
	if _, delegated, err := c.calls.delegate(ctx, ident, "set boot device", callArgs{Device: device, Persistent: persistent}); delegated {
		return err
	}
	return withBootDevices(ctx, c, ident, func(ctx context.Context, b BootDeviceManager, n *Node) error {
		return b.SetBootDevice(ctx, n, device, persistent)
	})
}

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

// VendorMethods returns the vendor passthru methods of a node, nil if it has none. The error matches [NotFound] or [Invalid], or is the store's.
func (c *Conductor) VendorMethods(ctx context.Context, ident string) (map[string]VendorMethod, error) {
	if r, delegated, err := c.calls.delegate(ctx, ident, "vendor methods", callArgs{}); delegated {
		return r.Vendor, err
	}
	n, hardware, err := c.engine.load(ctx, ident)
	if err != nil {
		return nil, err
	}
	if vendor := c.rules.vendor(hardware, n); vendor != nil {
		return vendor.VendorMethods(), nil
	}
	return nil, nil
}

// CallVendor calls a vendor passthru method of a node's hardware type. The error matches
// [NotFound], [Locked], or [Unsupported] where there is no such method, or is the
// hardware's or the store's.
func (c *Conductor) CallVendor(ctx context.Context, ident, method string, args map[string]any) (answer any, err error) {
	if r, delegated, err := c.calls.delegate(ctx, ident, "vendor", callArgs{Vendor: method, Args: args}); delegated {
		return r.Answer, err
	}
	methods, err := c.VendorMethods(ctx, ident)
	if err != nil {
		return nil, err
	}
	call := func(ctx context.Context, hardware Hardware, n *Node) (err error) {
		vendor := c.rules.vendor(hardware, n)
		if vendor == nil {
			return refuse(Unsupported, "No handler for method %s", method)
		}
		answer, err = vendor.CallVendor(ctx, n, method, args)
		return err
	}
	switch m, ok := methods[method]; {
	case !ok:
		return nil, refuse(Unsupported, "No handler for method %s", method)
	case !m.Exclusive:
		err = c.engine.shared(ctx, ident, call)
	default:
		err = c.engine.exclusively(ctx, ident, call)
	}
	return answer, err
}
