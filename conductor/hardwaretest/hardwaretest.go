// SPDX-License-Identifier: Apache-2.0

// Package hardwaretest helps to test implementations of [conductor.Hardware].
//
// [Check] checks that a hardware type keeps the contract of the interface, on one machine:
//
//	func TestHardware(t *testing.T) {
//		machine := start(t)
//		err := hardwaretest.Check(hardwaretest.Config{
//			Hardware: hardware, Node: machine.node(), Changes: machine.changes, Break: machine.unplug,
//		})
//		if err != nil {
//			t.Error(err)
//		}
//	}
//
// Check ends at the first promise that is broken after more than a minute, as by a method that does not return. The
// error says so.
package hardwaretest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/internal/kit"
	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Config is a hardware type and a machine to check it on. Hardware, Node and Changes are required.
type Config struct {
	Hardware conductor.Hardware
	// Node is a valid record of the machine. Its Driver is the name of the hardware type. Check does not change it. Its
	// UUID may be empty.
	Node *conductor.Node
	// Changes returns how many requests the machine or its BMC has received that need a permission, see
	// [conductor.Permit]: each that changes the machine, and each log-in that begins a session on it. Credentials that
	// come with a request are no log-in, nor is a request that only reads. More may count if the hardware type asks for a
	// permission for them, too.
	Changes func() int
	// Starts, if not nil, returns how often the machine has started: switched on while it was off, or restarted. Without
	// it a hardware type that restarts no machine passes, if it sends something.
	Starts func() int
	// Image, if not empty, is the URL of an ISO image that the machine's BMC can load. Without it no image is inserted.
	Image string
	// Secrets are texts that no error may contain, such as the password in the node's driver_info.
	Secrets []string
	// Break, if not nil, makes the machine unreachable, or its answers wrong. It is called once, at the end. Call Check
	// twice, with a Break that makes the machine unreachable and with one after which its BMC refuses the password: the
	// errors have other sources.
	Break func()
}

// patience bounds the check of one promise, and how long a machine takes to reach a power state.
const patience = time.Minute

// grace is how long a method may take to return after its context has ended.
const grace = 10 * time.Second

// Check checks a hardware type, and returns an error that lists each promise that it breaks, or nil. It switches the
// machine on and off, sets its boot device, puts the Config's Image in the place of its CD and ejects it, and adopts
// and tears down an instance. A type that sends requests without a permission may change more: its management functions
// and vendor methods are called, too.
func Check(c Config) error {
	if c.Hardware == nil || c.Node == nil || c.Changes == nil {
		return &machine.ConfigError{Package: "hardwaretest", Field: "Config", Want: "a Hardware, a Node and Changes"}
	}
	t := &tester{Config: c, node: c.Node.Clone()}
	t.node.UUID = cmp.Or(t.node.UUID, "6d1e7a5c-feed-4bed-8bad-000000000001")
	t.boots, _ = c.Hardware.(conductor.BootDeviceManager)
	var all []kit.Promise
	for _, promise := range promised {
		all = append(all, kit.Promise{Name: promise.name, Check: func(ctx context.Context) error {
			return try.Catch(func() { promise.check(t, ctx) })
		}})
	}
	return kit.Check(patience, all)
}

var promised = []struct {
	name  string
	check func(*tester, context.Context)
}{
	{"a description is complete, and the caller's own", (*tester).checkDescription},
	{"a valid node is valid, without a request to the machine", (*tester).checkValid},
	{"boot devices are listed", (*tester).listBootDevices},
	{"any driver_info has an answer", (*tester).checkInvalid},
	{"steps have names, functions and descriptions", (*tester).checkSteps},
	{"a verification finds a power state", (*tester).checkVerify},
	{"a power state that is set is reached", (*tester).checkPower},
	{"a boot device that is listed is set, and others are refused", (*tester).checkBootDevices},
	{"an image that is inserted is shown until it is ejected", (*tester).checkMedia},
	{"nothing is sent without a permission", (*tester).checkFence},
	{"each request needs a permission of its own", (*tester).checkEachRequest},
	{"calls may be concurrent", (*tester).checkConcurrent},
	{"no method waits after its context has ended", (*tester).checkContext},
	{"the work of a conductor ends", (*tester).checkLife},
	{"a machine that cannot be reached is an error", (*tester).checkBroken},
}

// tester checks the promises, one after the other.
type tester struct {
	Config
	node *conductor.Node

	boots  conductor.BootDeviceManager // nil if the hardware type has no boot devices
	device string                      // one that it lists, "" if there is none
}

// listBootDevices finds a boot device for the later checks, of which many expect that nothing is sent: to list them may
// need a log-in. It is the network, from which the agent boots, if that is listed.
func (t *tester) listBootDevices(ctx context.Context) {
	if t.boots == nil {
		return
	}
	devices := try.Get(t.boots.BootDevices(ctx, t.node.Clone()))
	switch {
	case slices.Contains(devices, "pxe"):
		t.device = "pxe"
	case len(devices) > 0:
		t.device = devices[0]
	}
}

// operation is a call that reaches the machine.
type operation struct {
	name           string
	call           func(context.Context) error
	needsNoMachine bool // whether it may succeed without the machine
}

// operations returns the calls that reach the machine. They leave it on.
func (t *tester) operations() []operation {
	power := func(power states.Power) operation {
		return operation{name: "SetPower " + power.String(), call: func(ctx context.Context) error {
			return t.Hardware.SetPower(ctx, t.node.Clone(), power)
		}}
	}
	all := []operation{
		{name: "Verify", call: func(ctx context.Context) error { _, err := t.Hardware.Verify(ctx, t.node.Clone()); return err }},
		{name: "PowerState", call: func(ctx context.Context) error { _, err := t.Hardware.PowerState(ctx, t.node.Clone()); return err }},
		power(states.PowerOff), power(states.PowerOn),
	}
	if t.device != "" {
		all = append(all, operation{name: "SetBootDevice " + t.device, needsNoMachine: true, call: func(ctx context.Context) error {
			err := t.boots.SetBootDevice(ctx, t.node.Clone(), t.device, false)
			if isRefused(err) { // the hardware may have no device for one boot alone
				err = t.boots.SetBootDevice(ctx, t.node.Clone(), t.device, true)
			}
			return err
		}})
	}
	return all
}

// guarded returns the operations, and other methods that send a change or a log-in: those that read boot devices, the
// methods of [conductor.Management] and the exclusive vendor methods. They are called only where nothing may be sent.
func (t *tester) guarded() []operation {
	all := t.operations()
	add := func(name string, call func(context.Context, *conductor.Node) error) {
		all = append(all, operation{name: name, call: func(ctx context.Context) error { return call(ctx, t.node.Clone()) }})
	}
	if t.boots != nil {
		add("BootDevices", func(ctx context.Context, n *conductor.Node) error { _, err := t.boots.BootDevices(ctx, n); return err })
		add("BootDevice", func(ctx context.Context, n *conductor.Node) error {
			_, _, err := t.boots.BootDevice(ctx, n)
			return err
		})
	}
	if by, ok := t.Hardware.(conductor.Management); ok {
		add("InjectNMI", by.InjectNMI)
		add("SetBootMode", func(ctx context.Context, n *conductor.Node) error { return by.SetBootMode(ctx, n, "uefi") })
		add("SetSecureBoot", func(ctx context.Context, n *conductor.Node) error { return by.SetSecureBoot(ctx, n, true) })
		add("VirtualMedia", func(ctx context.Context, n *conductor.Node) error { _, err := by.VirtualMedia(ctx, n); return err })
		add("AttachVirtualMedia", func(ctx context.Context, n *conductor.Node) error {
			return by.AttachVirtualMedia(ctx, n, "cdrom", "http://192.0.2.1/hardwaretest.iso")
		})
		add("DetachVirtualMedia", func(ctx context.Context, n *conductor.Node) error {
			return by.DetachVirtualMedia(ctx, n, []string{"cdrom"})
		})
	}
	if by, ok := t.Hardware.(conductor.VendorPassthru); ok {
		for name, method := range sorted.All(by.VendorMethods(t.node.Clone())) {
			if method.Exclusive {
				add("CallVendor "+name, func(ctx context.Context, n *conductor.Node) error {
					_, err := by.CallVendor(ctx, n, name, map[string]any{})
					return err
				})
			}
		}
	}
	return all
}

// permitting returns a context that gives a number of permissions, and a function that tells how often it was asked.
func permitting(ctx context.Context, count int) (_ context.Context, asked func() int) {
	var total atomic.Int64
	return fence.With(ctx, func(context.Context) error {
		if total.Add(1) > int64(count) {
			return errNotPermitted
		}
		return nil
	}), func() int { return int(total.Load()) }
}

// errNotPermitted is why a fence of the check refuses a request.
var errNotPermitted = errors.New("hardwaretest: the request is not permitted")
