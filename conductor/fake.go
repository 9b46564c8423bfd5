// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// Fake is Ironic's hardware type fake-hardware: it has no real hardware, and all work
// succeeds at once. The zero value is ready for use; it must not be copied. It is
// safe for concurrent use once Before is set.
//
// As in Ironic, a node whose deploy interface is "direct" has an agent: its cleaning,
// servicing and deployment wait for the agent's heartbeat, and the agent executes their steps.
//
// Like the types of package hardware, it is a list of interfaces by kind, from which each node chooses. These are not
// that package's Interface: package hardware imports this one, whose tests and whose users without BMCs need the Fake.
//
// Source: ironic/drivers/modules/fake.py.
type Fake struct {
	// Before, if not nil, is called before each operation on a node. The operation is
	// "verify", "read power", "prepare", the requested power state such as "power on", or
	// the name of a step such as "deploy.deploy". The operation takes as long as Before
	// takes, and fails with its error. A step for which Before returns [ErrWait] waits for
	// a call-back.
	Before func(ctx context.Context, n *Node, operation string) error
	// Series is the series whose fake-hardware this is; zero stands for the latest. Since 2023.2 its vendor interface has
	// the steps log_passthrough, which automated cleaning runs, and trigger_servicewait, which leads to service wait, and
	// its firmware interface the step update of manual cleaning, which changes nothing.
	Series states.Series

	power sync.Map // states.Power by UUID, as the hardware has it; the record may differ
}

func (f *Fake) do(ctx context.Context, n *Node, operation string) error {
	switch err := Permit(ctx); {
	case err != nil:
		return err
	case f.Before == nil:
		return nil
	default:
		return f.Before(ctx, n, operation)
	}
}

// has reports whether the series has something that came with another.
func (f *Fake) has(since states.Series) bool {
	return f.Series == states.NoSeries || f.Series >= since
}

// chosen returns the interface of the kind that the node has. An unknown one counts as the default.
func (k fakeKind) chosen(n *Node) fakeInterface {
	i := slices.IndexFunc(k.all, func(each fakeInterface) bool { return each.name == n.Interfaces[k.name] })
	return k.all[max(i, 0)]
}

// fakeChosen returns the interface of a kind such as "boot" that the node has.
func fakeChosen(n *Node, kind string) fakeInterface {
	i := slices.IndexFunc(fakeKinds, func(k fakeKind) bool { return k.name == kind })
	return fakeKinds[i].chosen(n)
}

// Describe implements [Hardware].
func (f *Fake) Describe() Description {
	d := Description{
		Interfaces: map[string][]string{}, Unlisted: map[string][]string{}, Properties: map[string]string{}, Simulated: true,
	}
	for _, kind := range fakeKinds {
		for _, each := range kind.all {
			maps.Copy(d.Properties, each.properties)
			list := d.Interfaces
			if each.unlisted {
				list = d.Unlisted
			}
			list[kind.name] = append(list[kind.name], each.name)
		}
	}
	return d
}

// NeedsPort implements [PortNeeder]: the boot interfaces "ipxe" and "pxe" need a port.
func (f *Fake) NeedsPort(n *Node) []string {
	switch {
	case !fakeChosen(n, "boot").network:
		return nil
	case f.WritesImage(n):
		return []string{"boot", "deploy"}
	default:
		return []string{"boot"}
	}
}

// Validate implements [Hardware]. Every configuration is valid, except that the deploy interface "direct" needs
// an image.
func (f *Fake) Validate(n *Node) map[string]error {
	result := map[string]error{}
	for _, kind := range fakeKinds {
		if kind.name == "vendor" { // as in Ironic
			continue
		}
		result[kind.name] = nil
		if validate := kind.chosen(n).validate; validate != nil {
			result[kind.name] = validate(n)
		}
	}
	return result
}

// Verify implements [Hardware]. As in Ironic, the power state is unknown until it is first
// set.
func (f *Fake) Verify(ctx context.Context, n *Node) (states.Power, error) {
	return f.read(ctx, n, "verify")
}

// PowerState implements [Hardware].
func (f *Fake) PowerState(ctx context.Context, n *Node) (states.Power, error) {
	return f.read(ctx, n, "read power")
}

// read returns the power state that was last set, or the recorded one if none was.
func (f *Fake) read(ctx context.Context, n *Node, operation string) (states.Power, error) {
	if err := f.do(ctx, n, operation); err != nil {
		return states.NoPower, err
	}
	if power, ok := f.power.Load(n.UUID); ok {
		return power.(states.Power), nil
	}
	return n.Power, nil
}

// SetPower implements [Hardware].
func (f *Fake) SetPower(ctx context.Context, n *Node, power states.Power) error {
	if err := f.do(ctx, n, power.String()); err != nil {
		return err
	}
	switch power {
	case states.PowerOff, states.PowerSoftOff:
		f.power.Store(n.UUID, states.PowerOff)
	default:
		f.power.Store(n.UUID, states.PowerOn)
	}
	return nil
}

// Steps implements [Hardware].
func (f *Fake) Steps(n *Node, work states.Work) (steps []Step) {
	for _, kind := range fakeKinds {
		for _, each := range kind.chosen(n).steps {
			since, has := each.works[work]
			if !has || !f.has(since) || work == states.WorkService && since == uncheckedSince && declaredOnly(n) {
				continue
			}
			step := each.Step
			step.Interface, step.Run = kind.name, func(ctx context.Context, t *Task) error {
				if err := f.do(ctx, t.Node(), step.String()); err != nil || each.do == nil {
					return err
				}
				return each.do(ctx, t)
			}
			steps = append(steps, step)
		}
	}
	return steps
}

// UsesAgent implements [AgentBooter]: the agent cleans, deploys and services a node with the deploy interface "direct".
func (f *Fake) UsesAgent(n *Node, work states.Work) bool {
	return int(work) < len(works) && works[work].agent.word != "" && f.WritesImage(n)
}

// WritesImage implements [AgentBooter].
func (f *Fake) WritesImage(n *Node) bool { return fakeChosen(n, "deploy").image }

// BootAgent implements [AgentBooter]. There is no machine: an agent must be started by other means.
func (f *Fake) BootAgent(ctx context.Context, t *Task) error {
	if err := f.do(ctx, t.Node(), "prepare"); err != nil {
		return err
	}
	return t.SetPower(ctx, states.PowerRebooting)
}

// CleanUpAgent implements [AgentBooter].
func (f *Fake) CleanUpAgent(context.Context, *Task) error { return nil }

// PrepareInstance implements [AgentBooter]. As in Ironic, a deployment fails unless the management interface is "noop",
// since the only boot device of the other one is the network.
//
// Source: configure_local_boot in ironic/drivers/modules/agent_base.py.
func (f *Fake) PrepareInstance(ctx context.Context, t *Task) error {
	if t.Node().ProvisionState != states.Deploying {
		return nil
	}
	if err := f.SetBootDevice(ctx, t.Node(), "disk", true); err != nil {
		//lint:ignore ST1005 the text is Ironic's
		return fmt.Errorf("Failed to change the boot device to disk when deploying node %s: %w", t.Node().UUID, err)
	}
	return nil
}

// BootDevices implements [BootDeviceManager]. The only device is the network, and with the management interface "noop"
// the disk too.
func (f *Fake) BootDevices(_ context.Context, n *Node) ([]string, error) {
	return slices.Clone(fakeChosen(n, "management").management.devices), nil
}

// BootDevice implements [BootDeviceManager].
func (f *Fake) BootDevice(_ context.Context, n *Node) (string, bool, error) {
	return "pxe", fakeChosen(n, "management").management.persistent, nil
}

// SetBootDevice implements [BootDeviceManager].
func (f *Fake) SetBootDevice(_ context.Context, n *Node, device string, _ bool) error {
	if by := fakeChosen(n, "management").management; !slices.Contains(by.devices, device) {
		return refuse(Invalid, "Invalid boot device %s specified%s.", device, by.hint)
	}
	return nil
}

// Indicators implements [IndicatorReader]. With the management interface "noop" there are none.
func (f *Fake) Indicators(_ context.Context, n *Node) ([]Indicator, error) {
	by := fakeChosen(n, "management").management
	if by.indicators == nil {
		return nil, unsupported(n, "get_supported_indicators")
	}
	return slices.Clone(by.indicators), nil
}

// IndicatorState implements [IndicatorReader]. The lights are always on.
func (f *Fake) IndicatorState(_ context.Context, n *Node, component, name string) (string, error) {
	by := fakeChosen(n, "management").management
	if by.indicators == nil {
		return "", unsupported(n, "get_indicator_state")
	}
	known := false
	for _, indicator := range by.indicators {
		if known = known || indicator.Component == component; indicator.Component == component && indicator.Name == name {
			return "on", nil
		}
	}
	if !known {
		return "", refuse(Invalid, "Invalid component %s specified.", component)
	}
	return "", refuse(Invalid, "Invalid indicator %s specified.", name)
}

// VendorMethods implements [VendorPassthru].
func (f *Fake) VendorMethods(n *Node) map[string]VendorMethod {
	methods := map[string]VendorMethod{}
	for name, method := range fakeChosen(n, "vendor").methods {
		if f.has(method.since) {
			methods[name] = method.VendorMethod
		}
	}
	return methods
}

// CallVendor implements [VendorPassthru].
func (f *Fake) CallVendor(_ context.Context, n *Node, method string, args map[string]any) (any, error) {
	called, known := fakeChosen(n, "vendor").methods[method]
	bar := args["bar"]
	switch {
	case !known || !f.has(called.since):
		return nil, refuse(Unsupported, "No handler for method %s", method)
	case called.bar == "":
		return nil, nil
	case !pyrepr.Truthy(bar):
		return nil, refuse(Invalid, "Parameter 'bar' not passed to method '%s'.", method)
	case called.Async:
		return nil, nil
	}
	for name := range args {
		if name != "bar" {
			return nil, refuse(Invalid, "The method %s has no parameter '%s'.", method, name)
		}
	}
	return fmt.Sprint(bar) == called.bar, nil
}
