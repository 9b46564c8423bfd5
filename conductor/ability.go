// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/ironstate/ironstate/states"
)

// Validate checks the hardware interfaces of a node. The map has one entry for each kind of
// interface: nil if it is ready for work, or the reason why it is not. The error matches
// [NotFound] or [Invalid], or is the store's.
func (c *Conductor) Validate(ctx context.Context, ident string) (map[string]error, error) {
	return dispatch(ctx, c, ident, validateRequest{})
}

type validateRequest struct{}

func (validateRequest) method() string { return "validate" }

func (validateRequest) here(ctx context.Context, c *Conductor, ident string) (problems, error) {
	n, hardware, err := c.engine.load(ctx, ident)
	if err != nil {
		return nil, err
	}
	all, err := c.engine.validateWithPorts(ctx, hardware, n)
	if err != nil {
		return nil, err
	}
	if all["deploy"] == nil {
		all["deploy"] = c.rules.validateTraits(n)
	}
	return all, nil
}

// validateWithPorts returns the validation of a node and of its ports.
//
// Source: _validate_common in ironic/drivers/modules/pxe_base.py.
func (e *engine) validateWithPorts(ctx context.Context, hardware Hardware, n *Node) (map[string]error, error) {
	all := e.types.validate(ctx, hardware, n)
	needer, ok := hardware.(PortNeeder)
	if !ok {
		return all, nil
	}
	kinds, err := askHardware(ctx, e.types, n, "the interfaces that need a port", func() []string { return needer.NeedsPort(n) })
	if err != nil || len(kinds) == 0 {
		return all, err
	}
	ports, err := e.fleet.portsOf(ctx, n.UUID)
	if err != nil || len(ports) > 0 {
		return all, err
	}
	for _, kind := range kinds {
		all[kind] = refuse(Invalid, "Node %s does not have any port associated with it", n.UUID)
	}
	return all, nil
}

// BootDevice reads the device that a node boots from next. The error matches
// [NotFound], [Locked] or [Unsupported], or is a [*HardwareError] or the store's.
func (c *Conductor) BootDevice(ctx context.Context, ident string) (device string, persistent bool, err error) {
	boot, err := dispatch(ctx, c, ident, bootDeviceRequest{})
	return boot.Device, boot.Persistent, err
}

// bootDevices is the word in the refusal of a request that only a [BootDeviceManager] can serve.
const bootDevices = "boot devices"

type bootDevice struct {
	Device     string
	Persistent bool
}

type bootDeviceRequest struct{}

func (bootDeviceRequest) method() string { return "boot device" }

func (bootDeviceRequest) here(ctx context.Context, c *Conductor, ident string) (bootDevice, error) {
	read := func(b BootDeviceManager, ctx context.Context, n *Node) (boot bootDevice, err error) {
		boot.Device, boot.Persistent, err = b.BootDevice(ctx, n)
		return boot, err
	}
	return withInterface(ctx, c.engine.exclusively, ident, function{name: bootDevices, call: "the boot device"}, read)
}

// BootDevices returns the devices that a node can boot from; it fails as
// [Conductor.BootDevice] does.
func (c *Conductor) BootDevices(ctx context.Context, ident string) ([]string, error) {
	return dispatch(ctx, c, ident, bootDevicesRequest{})
}

type bootDevicesRequest struct{}

func (bootDevicesRequest) method() string { return "boot devices" }

func (bootDevicesRequest) here(ctx context.Context, c *Conductor, ident string) ([]string, error) {
	devices, err := withInterface(ctx, c.engine.shared, ident, function{name: bootDevices}, BootDeviceManager.BootDevices)
	if c.config.Table.Series() < uefiHTTPSince {
		devices = slices.DeleteFunc(devices, func(device string) bool { return device == uefiHTTP })
	}
	return devices, err
}

// uefiHTTP is the boot device of an HTTP boot by the UEFI firmware, which earlier series do not know.
//
// Source: ironic/common/boot_devices.py.
const (
	uefiHTTP      = "uefihttp"
	uefiHTTPSince = states.Caracal
)

// SetBootDevice sets the device for the next boot of a node, or for all boots if persistent;
// it fails as [Conductor.BootDevice] does. It may take two minutes, and goes on after the end of ctx.
func (c *Conductor) SetBootDevice(ctx context.Context, ident, device string, persistent bool) error {
	_, err := dispatch(ctx, c, ident, setBootDeviceRequest{device, persistent})
	return err
}

type setBootDeviceRequest bootDevice

func (setBootDeviceRequest) method() string { return "set boot device" }

func (r setBootDeviceRequest) here(ctx context.Context, c *Conductor, ident string) (none, error) {
	set := func(ctx context.Context, hardware Hardware, n *Node) (func(*Node), error) {
		by, ok := hardware.(BootDeviceManager)
		switch {
		case !ok:
			return nil, unsupported(n, bootDevices)
		case r.Device == uefiHTTP && c.config.Table.Series() < uefiHTTPSince:
			return nil, refuse(Invalid, "Invalid boot device %s specified.", r.Device)
		}
		after := n.Clone()
		err := by.SetBootDevice(ctx, after, r.Device, r.Persistent)
		if reflect.DeepEqual(after.DriverInternalInfo, n.DriverInternalInfo) {
			return nil, err
		}
		return func(n *Node) { n.DriverInternalInfo = after.DriverInternalInfo }, err
	}
	// It goes on if the client leaves, or another conductor no longer waits for it, as in Ironic.
	return none{}, c.engine.exclusively(context.WithoutCancel(ctx), slowCallTimeout, ident, "setting the boot device", set)
}

const (
	// clientCallTimeout bounds a hardware call whose result a client waits for.
	clientCallTimeout = time.Minute
	// slowCallTimeout bounds a call for which slow BMCs need more: a change of the boot device, and reading virtual media.
	// It is less than the time in which an HTTP server has to answer, see package api.
	slowCallTimeout = 110 * time.Second
)

// function is a function of a hardware interface that clients call.
type function struct {
	name  string        // in the text of a refusal
	call  string        // while a call hangs, further ones with this text are refused; empty stands for the name
	limit time.Duration // of a call; 0 stands for clientCallTimeout
}

// withInterface calls f for a node whose hardware type is an A, and returns its results. reserve is the engine's method
// that calls a function for a node, with or without a reservation. For any other hardware type the error matches
// [Unsupported] and names the function.
func withInterface[A, R any](
	ctx context.Context, reserve func(ctx context.Context, limit time.Duration, ident, what string, f hardwareCall) error,
	ident string, of function, f func(A, context.Context, *Node) (R, error),
) (R, error) {
	var result, none R
	limit, what := cmp.Or(of.limit, clientCallTimeout), cmp.Or(of.call, of.name)
	err := reserve(ctx, limit, ident, what, func(ctx context.Context, hardware Hardware, n *Node) (change func(*Node), err error) {
		by, ok := hardware.(A)
		if !ok {
			return nil, unsupported(n, of.name)
		}
		result, err = f(by, ctx, n)
		return nil, err
	})
	if err != nil {
		return none, err // the call may still write its result
	}
	return result, nil
}

// VendorMethods returns the vendor passthru methods of a node, nil if it has none. The error matches [NotFound] or
// [Invalid], or is the store's.
func (c *Conductor) VendorMethods(ctx context.Context, ident string) (map[string]VendorMethod, error) {
	return dispatch(ctx, c, ident, vendorMethodsRequest{})
}

type vendorMethodsRequest struct{}

func (vendorMethodsRequest) method() string { return "vendor methods" }

func (vendorMethodsRequest) here(ctx context.Context, c *Conductor, ident string) (map[string]VendorMethod, error) {
	n, hardware, err := c.engine.load(ctx, ident)
	if err != nil {
		return nil, err
	}
	if vendor := c.engine.types.vendor(hardware, n); vendor != nil {
		return askHardware(ctx, c.engine.types, n, "its vendor methods", func() map[string]VendorMethod { return vendor.VendorMethods(n) })
	}
	return nil, nil
}

// CallVendor calls a vendor passthru method of a node's hardware type. The error matches
// [NotFound], [Locked], or [Unsupported] where there is no such method, or is a
// [*HardwareError] or the store's.
func (c *Conductor) CallVendor(ctx context.Context, ident, method string, args map[string]any) (answer any, err error) {
	return dispatch(ctx, c, ident, vendorRequest{method, args})
}

type vendorRequest struct {
	Method string
	Args   map[string]any
}

func (vendorRequest) method() string { return "vendor" }

func (r vendorRequest) here(ctx context.Context, c *Conductor, ident string) (any, error) {
	methods, err := vendorMethodsRequest{}.here(ctx, c, ident)
	if err != nil {
		return nil, err
	}
	var answer any
	call := func(ctx context.Context, hardware Hardware, n *Node) (change func(*Node), err error) {
		vendor := c.engine.types.vendor(hardware, n)
		if vendor == nil {
			return nil, refuse(Unsupported, "No handler for method %s", r.Method)
		}
		answer, err = vendor.CallVendor(ctx, n, r.Method, r.Args)
		return nil, err
	}
	what := "method " + r.Method
	switch m, ok := methods[r.Method]; {
	case !ok:
		return nil, refuse(Unsupported, "No handler for method %s", r.Method)
	case !m.Exclusive:
		err = c.engine.shared(ctx, clientCallTimeout, ident, what, call)
	default:
		err = c.engine.exclusively(ctx, clientCallTimeout, ident, what, call)
	}
	if err != nil {
		return nil, err // the call may still write its answer
	}
	return answer, nil
}
