// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"

	"github.com/ironstate/ironstate/internal/kinds"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// fakeInterface is a hardware interface of fake-hardware. Without more than a name it is always valid and does nothing.
// It is none of package hardware's, which imports this package: programs that need fake-hardware alone, such as the
// ones that test clients, do without that package and its drivers for BMCs.
type fakeInterface struct {
	name       string
	unlisted   bool              // see Description.Unlisted
	properties map[string]string // of driver_info
	validate   func(n *Node) error
	steps      []fakeStep

	network    bool                  // a boot interface: the machine boots from the network, which needs a port
	image      bool                  // a deploy interface: the agent cleans, deploys, services, and writes the image
	management fakeManagement        // of a management interface
	methods    map[string]fakeMethod // of a vendor interface
}

// fakeStep is a step of an interface.
type fakeStep struct {
	Step
	works stepWorks                          // that it is of
	do    func(context.Context, *Task) error // after [Fake.Before]; nil does nothing
}

// stepWorks maps each kind of work with a step to the first series of Ironic in which it has the step, NoSeries for
// all.
type stepWorks map[states.Work]states.Series

// fakeManagement is what a management interface does.
type fakeManagement struct {
	devices    []string // that can be set
	persistent bool     // whether the boot device that is read is
	hint       string   // in the refusal of another device
	indicators []Indicator
}

// fakeMethod is a vendor method. It compares its argument "bar" with the field bar, unless that is empty.
type fakeMethod struct {
	VendorMethod
	bar   string
	since states.Series
}

// fakeKind has the interfaces of a kind, the default first.
type fakeKind struct {
	name string
	all  []fakeInterface
}

// fakeKinds are the interfaces of fake-hardware, in the order of their steps.
//
// Source: ironic/drivers/fake_hardware.py, and ironic/drivers/modules/fake.py, noop.py and noop_mgmt.py.
var fakeKinds = []fakeKind{
	{"bios", []fakeInterface{{name: "fake", steps: fakeBIOSSteps}, fakeNone("bios")}},
	{"boot", []fakeInterface{{name: "fake"}, {name: "ipxe", network: true}, {name: "pxe", network: true}}},
	{"console", []fakeInterface{{name: "fake"}, fakeNone("console")}},
	{"deploy", []fakeInterface{
		{name: "fake", steps: []fakeStep{
			{Step: Step{Step: "deploy", Priority: 100, Abortable: true}, works: stepWorks{states.WorkDeploy: states.NoSeries}},
			oneFakeStep("tear_down", states.WorkDelete), oneFakeStep("take_over", states.WorkAdopt),
		}},
		{name: "direct", image: true, validate: needsImage, steps: []fakeStep{
			{Step: Step{Step: "tear_down", Priority: 100}, works: stepWorks{states.WorkDelete: states.NoSeries}, do: powerOff},
			oneFakeStep("take_over", states.WorkAdopt),
		}},
	}},
	{"inspect", []fakeInterface{
		{name: "fake", steps: []fakeStep{oneFakeStep("inspect_hardware", states.WorkInspect)}}, fakeNone("inspect"),
	}},
	{"management", []fakeInterface{
		{name: "fake", management: fakeManagement{devices: []string{"pxe"}, indicators: []Indicator{
			{Component: "chassis", Name: "led-0", ReadOnly: true, States: []string{"off", "on"}},
			{Component: "system", Name: "led", States: []string{"blinking", "off", "on"}},
		}}},
		{name: "noop", unlisted: true, management: fakeManagement{
			devices: []string{"pxe", "disk"}, persistent: true, hint: ", supported are pxe, disk",
		}},
	}},
	{"network", []fakeInterface{{name: "noop"}}},
	{"power", []fakeInterface{{name: "fake"}}},
	{"raid", []fakeInterface{{name: "fake", steps: fakeRAIDSteps}, fakeNone("raid")}},
	{"rescue", []fakeInterface{
		{name: "fake", steps: []fakeStep{oneFakeStep("rescue", states.WorkRescue), oneFakeStep("unrescue", states.WorkUnrescue)}},
		fakeNone("rescue"),
	}},
	{"storage", []fakeInterface{{name: "noop"}, {name: "fake"}}},
	{"vendor", []fakeInterface{
		{
			name: "fake", methods: fakeMethods, steps: fakeVendorSteps,
			properties: map[string]string{"B1": "B1 description. Required.", "B2": "B2 description. Required."},
		},
		fakeNone("vendor"),
	}},
	{"firmware", []fakeInterface{
		{name: "fake", steps: []fakeStep{{
			Step: Step{Step: "update", ArgsInfo: map[string]StepArgument{
				"settings": {Description: "List of Firmware components, each item needs to contain a dictionary with name/value pairs", Required: true},
			}},
			works: stepWorks{states.WorkClean: states.Bobcat, states.WorkService: uncheckedSince},
		}}},
		fakeNone("firmware"),
	}},
}

// fakeNone returns the interface "no-KIND".
func fakeNone(kind string) fakeInterface {
	return fakeInterface{name: kinds.None(kind), validate: func(n *Node) error { return unsupported(n, kind) }}
}

// oneFakeStep returns the only step of work, which does nothing.
func oneFakeStep(name string, work states.Work) fakeStep {
	return fakeStep{Step: Step{Step: name, Priority: 100}, works: stepWorks{work: states.NoSeries}}
}

// needsImage is the validation of the deploy interface "direct".
func needsImage(n *Node) error {
	_, err := n.InstanceImage("")
	return err
}

func powerOff(ctx context.Context, t *Task) error { return t.SetPower(ctx, states.PowerOff) }

var fakeVendorSteps = []fakeStep{
	{Step: Step{Step: "log_passthrough", Priority: 1}, works: stepWorks{states.WorkClean: states.Bobcat}},
	{Step: Step{Step: "log_passthrough", NoRamdisk: true}, works: stepWorks{states.WorkService: states.Bobcat}},
	{
		Step: Step{Step: "trigger_servicewait"}, works: stepWorks{states.WorkService: states.Bobcat},
		do: func(context.Context, *Task) error { return ErrWait },
	},
}

var fakeMethods = map[string]fakeMethod{
	"second_method":             {VendorMethod: fakePost("Test if the value of bar is kazoo", true, true), bar: "kazoo"},
	"third_method_sync":         {VendorMethod: fakePost("Test if the value of bar is meow", false, true), bar: "meow"},
	"fourth_method_shared_lock": {VendorMethod: fakePost("Test if the value of bar is woof", true, false), bar: "woof"},
	"log_passthrough":           {VendorMethod: fakePost("Test pass-through to wait.", true, true), since: states.Bobcat},
}

func fakePost(description string, async, exclusive bool) VendorMethod {
	return VendorMethod{HTTPMethods: []string{"POST"}, Async: async, Description: description, Exclusive: exclusive}
}

// uncheckedSince is the first series in which a service with a step that the interfaces lack begins all the same, in
// case the agent has the step, unless the client disables the ramdisk. Ironic then calls the interface's method of that
// name, which is no declared step of a service. The Fake has the methods that are steps of other work or of other
// hardware types. It refuses the others, such as validate, which in Ironic succeed or end in a Python exception.
//
// Source: do_node_service in ironic/conductor/servicing.py.
const uncheckedSince = states.Flamingo

// declaredOnly reports whether a service that is about to be planned for a node can only have declared steps.
func declaredOnly(n *Node) bool {
	s := n.ServiceSteps
	return s != nil && s.withoutRamdisk() && s.Planned == nil
}

// fakeRAIDSteps are methods that are no declared steps of any work.
var fakeRAIDSteps = []fakeStep{
	{
		Step: Step{Step: "create_configuration", ArgsInfo: map[string]StepArgument{
			"create_root_volume":     {Description: "Whether to create the root volume of target_raid_config, true by default."},
			"create_nonroot_volumes": {Description: "Whether to create the other volumes of target_raid_config, true by default."},
		}},
		works: stepWorks{states.WorkService: uncheckedSince},
	},
	{Step: Step{Step: "delete_configuration"}, works: stepWorks{states.WorkService: uncheckedSince}},
}

// biosWorks are the kinds of work with the steps of the BIOS.
var biosWorks = stepWorks{states.WorkClean: states.NoSeries, states.WorkService: uncheckedSince}

// fakeBIOSSteps change the settings in the node's record.
var fakeBIOSSteps = []fakeStep{
	{
		Step: Step{Step: "apply_configuration", ArgsInfo: map[string]StepArgument{
			"settings": {Description: "List of BIOS settings, each item needs to contain a dictionary with name/value pairs", Required: true},
		}},
		works: biosWorks, do: applyFakeBIOS,
	},
	{Step: Step{Step: "factory_reset"}, works: biosWorks, do: func(ctx context.Context, t *Task) error {
		return t.Update(ctx, func(n *Node) error { n.BIOSSettings = nil; return nil })
	}},
	{Step: Step{Step: "cache_bios_settings"}, works: biosWorks},
}

func applyFakeBIOS(ctx context.Context, t *Task) error {
	var settings []BIOSSetting
	if argument, given := t.Step().Args["settings"]; given {
		var err error
		if settings, err = biosSettings(argument); err != nil {
			return err
		}
	}
	return t.Update(ctx, func(n *Node) error { n.SetBIOSSettings(settings); return nil })
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
