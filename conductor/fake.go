// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ironstate/ironstate/internal/masked"
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

// fakeInterfaces maps each kind of hardware interface to the interfaces that fake-hardware
// supports, the default first.
var fakeInterfaces = map[string][]string{
	"bios": {"fake", "no-bios"}, "boot": {"fake", "ipxe", "pxe"}, "console": {"fake", "no-console"},
	"deploy": {"fake", "direct"}, "inspect": {"fake", "no-inspect"}, "management": {"fake"},
	"network": {"noop"}, "power": {"fake"}, "raid": {"fake", "no-raid"}, "rescue": {"fake", "no-rescue"},
	"storage": {"noop", "fake"}, "vendor": {"fake", "no-vendor"}, "firmware": {"fake", "no-firmware"},
}

// Describe implements [Hardware].
func (f *Fake) Describe() Description {
	interfaces := make(map[string][]string, len(fakeInterfaces))
	for kind, names := range fakeInterfaces {
		interfaces[kind] = slices.Clone(names)
	}
	return Description{
		Interfaces: interfaces,
		Unlisted:   map[string][]string{"management": {"noop"}},
		Properties: map[string]string{
			"B1": "B1 description. Required.",
			"B2": "B2 description. Required.",
		},
		Simulated: true,
	}
}

// NeedsPort implements [PortNeeder]: the boot interfaces "ipxe" and "pxe" need a port.
func (f *Fake) NeedsPort(n *Node) []string {
	boot := n.Interfaces["boot"]
	switch {
	case boot != "ipxe" && boot != "pxe":
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
	valid := maps.Clone(fakeValid)
	if f.WritesImage(n) {
		_, valid["deploy"] = n.InstanceImage("")
	}
	return valid
}

// fakeValid is the validation of a valid node of fake-hardware.
var fakeValid = map[string]error{
	"bios": nil, "boot": nil, "console": nil, "deploy": nil, "firmware": nil, "inspect": nil, "management": nil,
	"network": nil, "power": nil, "raid": nil, "rescue": nil, "storage": nil,
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

// fakeSteps are the steps of fake-hardware by the work that they are of.
var fakeSteps = map[states.Work][]Step{
	states.WorkInspect:  {{Interface: "inspect", Step: "inspect_hardware", Priority: 100}},
	states.WorkDeploy:   {{Interface: "deploy", Step: "deploy", Priority: 100, Abortable: true}},
	states.WorkDelete:   {{Interface: "deploy", Step: "tear_down", Priority: 100}},
	states.WorkRescue:   {{Interface: "rescue", Step: "rescue", Priority: 100}},
	states.WorkUnrescue: {{Interface: "rescue", Step: "unrescue", Priority: 100}},
	states.WorkAdopt:    {{Interface: "deploy", Step: "take_over", Priority: 100}},
	states.WorkClean: {
		{Interface: "bios", Step: "apply_configuration", ArgsInfo: fakeBIOSArgs},
		{Interface: "bios", Step: "factory_reset"}, {Interface: "bios", Step: "cache_bios_settings"},
	},
	states.WorkService: {
		{Interface: "bios", Step: "apply_configuration", ArgsInfo: fakeBIOSArgs},
		{Interface: "bios", Step: "factory_reset"}, {Interface: "bios", Step: "cache_bios_settings"},
	},
}

// passthroughStep and triggerStep are the steps of the vendor interface.
var (
	passthroughStep = Step{Interface: "vendor", Step: "log_passthrough", Priority: 1}
	triggerStep     = Step{Interface: "vendor", Step: "trigger_servicewait"}
)

// updateStep is the step of the firmware interface.
var updateStep = Step{Interface: "firmware", Step: "update", ArgsInfo: map[string]StepArgument{
	"settings": {Description: "List of Firmware components, each item needs to contain a dictionary with name/value pairs", Required: true},
}}

// laterFakeSteps are the steps that came with 2023.2.
var laterFakeSteps = map[states.Work][]Step{
	states.WorkClean:   {passthroughStep, updateStep},
	states.WorkService: {passthroughStep, triggerStep},
}

// laterSteps returns the steps of work that came with 2023.2.
func (f *Fake) laterSteps(work states.Work) []Step {
	if f.Series != states.NoSeries && f.Series < states.Bobcat {
		return nil
	}
	return laterFakeSteps[work]
}

var fakeBIOSArgs = map[string]StepArgument{
	"settings": {Description: "List of BIOS settings, each item needs to contain a dictionary with name/value pairs", Required: true},
}

// Steps implements [Hardware].
func (f *Fake) Steps(n *Node, work states.Work) []Step {
	steps := append(slices.Clone(fakeSteps[work]), f.laterSteps(work)...)
	if work == states.WorkDeploy && f.WritesImage(n) {
		return nil
	}
	for i := range steps {
		steps[i].Run = f.run
	}
	return steps
}

// UsesAgent implements [AgentBooter]: the agent cleans, deploys and services a node with the deploy interface "direct".
func (f *Fake) UsesAgent(n *Node, work states.Work) bool {
	return works[work].agent != "" && f.WritesImage(n)
}

// WritesImage implements [AgentBooter].
func (f *Fake) WritesImage(n *Node) bool { return n.Interfaces["deploy"] == "direct" }

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

// run does a step. The steps of the BIOS interface change the settings in the record.
func (f *Fake) run(ctx context.Context, t *Task) error {
	step := t.Step()
	if err := f.do(ctx, t.Node(), step.Interface+"."+step.Step); err != nil {
		return err
	}
	switch step.Step {
	case "tear_down":
		if f.WritesImage(t.Node()) {
			return t.SetPower(ctx, states.PowerOff)
		}
		return nil
	case triggerStep.Step:
		return ErrWait
	case "factory_reset":
		return t.Update(ctx, func(n *Node) error { n.BIOSSettings = nil; return nil })
	case "apply_configuration":
		var settings []BIOSSetting
		if argument, given := step.Args["settings"]; given {
			var err error
			if settings, err = biosSettings(argument); err != nil {
				return err
			}
		}
		return t.Update(ctx, func(n *Node) error { n.SetBIOSSettings(settings); return nil })
	default:
		return nil
	}
}

// biosSettings returns the settings in the argument of a step.
func biosSettings(argument any) ([]BIOSSetting, error) {
	list, isList := argument.([]any)
	settings := make([]BIOSSetting, len(list))
	for i, item := range list {
		object, _ := item.(map[string]any)
		name, named := object["name"].(string)
		value, has := object["value"]
		isList = isList && named && has
		if text, isText := value.(string); isText {
			settings[i] = BIOSSetting{Name: name, Value: text}
		} else {
			settings[i] = BIOSSetting{Name: name, Value: pyrepr.Of(value)}
		}
	}
	if !isList {
		return nil, fmt.Errorf("settings: %s is not a list of objects with a name and a value", pyrepr.Of(masked.Value(argument)))
	}
	return settings, nil
}

// isUnmanaged reports whether a node has the management interface "noop".
func isUnmanaged(n *Node) bool { return n.Interfaces["management"] == "noop" }

// BootDevices implements [BootDeviceManager]. The only device is the network, and with the management interface "noop"
// the disk too.
func (f *Fake) BootDevices(_ context.Context, n *Node) ([]string, error) {
	if isUnmanaged(n) {
		return []string{"pxe", "disk"}, nil
	}
	return []string{"pxe"}, nil
}

// BootDevice implements [BootDeviceManager].
func (f *Fake) BootDevice(_ context.Context, n *Node) (string, bool, error) {
	return "pxe", isUnmanaged(n), nil
}

// SetBootDevice implements [BootDeviceManager].
func (f *Fake) SetBootDevice(ctx context.Context, n *Node, device string, _ bool) error {
	devices, _ := f.BootDevices(ctx, n) // never fails
	switch {
	case slices.Contains(devices, device):
		return nil
	case isUnmanaged(n):
		return refuse(Invalid, "Invalid boot device %s specified, supported are %s.", device, strings.Join(devices, ", "))
	default:
		return refuse(Invalid, "Invalid boot device %s specified.", device)
	}
}

// fakeIndicators are the lights of fake-hardware, which are always on.
var fakeIndicators = []Indicator{
	{Component: "chassis", Name: "led-0", ReadOnly: true, States: []string{"off", "on"}},
	{Component: "system", Name: "led", States: []string{"blinking", "off", "on"}},
}

// Indicators implements [IndicatorReader]. With the management interface "noop" there are none.
func (f *Fake) Indicators(_ context.Context, n *Node) ([]Indicator, error) {
	if isUnmanaged(n) {
		return nil, unsupported(n, "get_supported_indicators")
	}
	return slices.Clone(fakeIndicators), nil
}

// IndicatorState implements [IndicatorReader].
func (f *Fake) IndicatorState(_ context.Context, n *Node, component, name string) (string, error) {
	if isUnmanaged(n) {
		return "", unsupported(n, "get_indicator_state")
	}
	known := false
	for _, indicator := range fakeIndicators {
		if known = known || indicator.Component == component; indicator.Component == component && indicator.Name == name {
			return "on", nil
		}
	}
	if !known {
		return "", refuse(Invalid, "Invalid component %s specified.", component)
	}
	return "", refuse(Invalid, "Invalid indicator %s specified.", name)
}

// fakeMethods are the vendor methods of fake-hardware. Each compares its argument "bar" with
// the value of the field bar.
var fakeMethods = map[string]struct {
	VendorMethod
	bar string
}{
	"second_method":             {VendorMethod{[]string{"POST"}, true, "Test if the value of bar is kazoo", false, true}, "kazoo"},
	"third_method_sync":         {VendorMethod{[]string{"POST"}, false, "Test if the value of bar is meow", false, true}, "meow"},
	"fourth_method_shared_lock": {VendorMethod{[]string{"POST"}, true, "Test if the value of bar is woof", false, false}, "woof"},
}

// VendorMethods implements [VendorPassthru].
func (f *Fake) VendorMethods(*Node) map[string]VendorMethod {
	methods := map[string]VendorMethod{}
	for name, method := range fakeMethods {
		methods[name] = method.VendorMethod
	}
	if len(f.laterSteps(states.WorkClean)) > 0 {
		methods[passthroughStep.Step] = VendorMethod{[]string{"POST"}, true, "Test pass-through to wait.", false, true}
	}
	return methods
}

// CallVendor implements [VendorPassthru].
func (f *Fake) CallVendor(_ context.Context, _ *Node, method string, args map[string]any) (any, error) {
	if method == passthroughStep.Step {
		return nil, nil
	}
	bar := args["bar"]
	if !pyrepr.Truthy(bar) {
		return nil, refuse(Invalid, "Parameter 'bar' not passed to method '%s'.", method)
	}
	if fakeMethods[method].Async {
		return nil, nil
	}
	for name := range args {
		if name != "bar" {
			return nil, refuse(Invalid, "The method %s has no parameter '%s'.", method, name)
		}
	}
	return fmt.Sprint(bar) == fakeMethods[method].bar, nil
}
