// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// plug is a power interface of somebody else's, with a step.
type plug struct {
	name   string
	closed *error
}

func (p plug) Name() string { return p.name }
func (p plug) Properties() map[string]string {
	return map[string]string{p.name + "_address": "Its address."}
}

func (p plug) Validate(n hardware.Node) error {
	if n.DriverInfo[p.name+"_address"] == nil {
		return &conductor.Error{Reason: conductor.Invalid, Text: "no address of " + p.name}
	}
	return nil
}

func (p plug) PowerState(context.Context, *conductor.Node) (states.Power, error) {
	return states.PowerOn, nil
}

func (p plug) SetPower(_ context.Context, _ *conductor.Node, power states.Power) error {
	return errors.New(p.name + " " + power.String())
}

func (p plug) Steps(n hardware.Node, work states.Work) []conductor.Step {
	if work != states.WorkClean {
		return nil
	}
	return []conductor.Step{{Step: "blink " + n.Chosen.Boot.Name(), Interface: "it is the type's"}}
}

func (p plug) Close(context.Context) error { return *p.closed }

// verifying is a plug with a verification of its own.
type verifying struct{ plug }

func (verifying) Verify(context.Context, *conductor.Node) (states.Power, error) {
	return states.PowerOff, nil
}

func newPlugs(t *testing.T, set ...func(*hardware.Config, *hardware.Interfaces)) *hardware.Type {
	t.Helper()
	c, i := hardware.Config{}, plugs(new(error))
	for _, s := range set {
		s(&c, &i)
	}
	made, err := hardware.New(c, i)
	require.NoError(t, err)
	return made
}

func plugs(closed *error) hardware.Interfaces {
	return hardware.Interfaces{
		Power:      []hardware.Power{plug{"plug", closed}, verifying{plug{"socket", closed}}},
		Management: []hardware.Management{hardware.NoManagement()},
	}
}

func TestPowerAndManagementAreAHardwareType(t *testing.T) {
	b := newPlugs(t)
	d := b.Describe()
	require.Equal(t, map[string][]string{
		"bios": {"no-bios"}, "boot": {"ipxe", "pxe"}, "console": {"no-console"}, "deploy": {"direct", "ramdisk", "custom-agent"},
		"firmware": {"no-firmware"}, "inspect": {"agent", "no-inspect"}, "management": {"noop"}, "network": {"noop"},
		"power": {"plug", "socket"}, "raid": {"no-raid", "agent"}, "rescue": {"no-rescue", "agent"}, "storage": {"noop"}, "vendor": {"no-vendor"},
	}, d.Interfaces)
	require.Equal(t, "Its address.", d.Properties["plug_address"])
	require.Equal(t, "Its address.", d.Properties["socket_address"])
	require.Contains(t, d.Properties, "deploy_kernel")
	require.Contains(t, d.Properties, "image_http_proxy")
	require.NotContains(t, d.Properties, "deploy_iso")

	n := &conductor.Node{UUID: uuid, Driver: "plug", DriverInfo: map[string]any{"plug_address": "1"}}
	problems := b.Validate(n)
	for _, kind := range []string{"power", "management", "boot", "inspect", "network", "storage"} {
		require.NoError(t, problems[kind], kind)
	}
	for _, kind := range []string{"bios", "console", "firmware", "raid", "rescue"} {
		require.ErrorIs(t, problems[kind], conductor.Unsupported)
		require.EqualError(t, problems[kind], "Driver plug does not support "+kind+" (disabled or not implemented).")
	}
	require.NotContains(t, problems, "vendor")
	for work, want := range map[states.Work]bool{
		states.WorkInspect: true, states.WorkClean: true, states.WorkDeploy: true, states.WorkService: true, states.WorkRescue: false,
	} {
		require.Equal(t, want, b.UsesAgent(n, work), work)
	}
	require.True(t, b.WritesImage(n))
	require.Equal(t, []conductor.Step{{Interface: "power", Step: "blink ipxe"}}, b.Steps(n, states.WorkClean))
	require.Equal(t, "deploy.tear_down", b.Steps(n, states.WorkDelete)[0].String())
	require.Equal(t, "inspect.inspect_hardware", b.Steps(n, states.WorkInspect)[0].String())
	require.Empty(t, b.Steps(n, states.WorkRescue))
}

func TestANodeHasTheInterfacesThatItHasChosen(t *testing.T) {
	b := newPlugs(t)
	power := func(name string) *conductor.Node {
		return &conductor.Node{
			UUID: uuid, Driver: "plug", DriverInfo: map[string]any{}, Interfaces: map[string]string{"power": name, "rescue": "agent"},
		}
	}
	for name, want := range map[string]states.Power{"plug": states.PowerOn, "socket": states.PowerOff} {
		require.EqualError(t, b.Validate(power(name))["power"], "no address of "+name)
		require.EqualError(t, b.Validate(power(name))["inspect"], "no address of "+name)
		require.EqualError(t, b.SetPower(t.Context(), power(name), states.PowerOff), name+" power off")
		verified, err := b.Verify(t.Context(), power(name))
		require.NoError(t, err)
		require.Equal(t, want, verified)
	}
	require.NoError(t, b.Validate(power("plug"))["rescue"])
	require.Equal(t, "rescue.unrescue", b.Steps(power("plug"), states.WorkUnrescue)[0].String())
	require.Equal(t, "rescue.rescue", b.Steps(power("plug"), states.WorkRescue)[0].String())

	unknown := power("strip")
	const text = "Node " + uuid + " has the power interface strip, which its driver plug does not have"
	require.EqualError(t, b.Validate(unknown)["power"], text)
	_, err := b.PowerState(t.Context(), unknown)
	require.EqualError(t, err, text)
	require.ErrorIs(t, err, conductor.Invalid)
	require.Empty(t, b.Steps(unknown, states.WorkDelete))
	require.Empty(t, b.VendorMethods(unknown))
	require.False(t, b.UsesAgent(unknown, states.WorkClean))
	require.False(t, b.WritesImage(unknown))
}

// writer and rescuer are somebody else's interfaces that leave their work to the agent.
type (
	writer  struct{ hardware.Deploy }
	rescuer struct{ plug }
)

func (writer) Name() string                               { return "writer" }
func (writer) WritesImage() bool                          { return true }
func (rescuer) UsesAgent(hardware.Node, states.Work) bool { return true }

func TestTheAgentDoesTheWorkOfAnyInterfaceThatUsesIt(t *testing.T) {
	b := newPlugs(t, func(_ *hardware.Config, i *hardware.Interfaces) {
		i.Deploy = []hardware.Deploy{hardware.CustomAgent(), writer{hardware.CustomAgent()}, hardware.Ramdisk()}
		i.Inspect = []hardware.Interface{hardware.AgentInspect(), hardware.None("inspect")}
		i.Rescue = []hardware.Interface{plug{name: "by-hand"}, rescuer{plug{name: "rescuer"}}, hardware.AgentRescue()}
	})
	for _, test := range []struct {
		kind, name string
		work       states.Work
		uses       bool
		writes     bool
	}{
		{"deploy", "custom-agent", states.WorkDeploy, true, false},
		{"deploy", "writer", states.WorkDeploy, true, true},
		{"deploy", "writer", states.WorkClean, true, true},
		{"deploy", "ramdisk", states.WorkDeploy, false, false},
		{"inspect", "agent", states.WorkInspect, true, false},
		{"inspect", "no-inspect", states.WorkInspect, false, false},
		{"rescue", "by-hand", states.WorkRescue, false, false},
		{"rescue", "rescuer", states.WorkRescue, true, false},
		{"rescue", "agent", states.WorkRescue, true, false},
	} {
		n := &conductor.Node{UUID: uuid, Driver: "plug", Interfaces: map[string]string{test.kind: test.name}}
		require.Equal(t, test.uses, b.UsesAgent(n, test.work), "%v", test)
		require.Equal(t, test.writes, b.WritesImage(n), "%v", test)
	}
}

func TestAFunctionThatNoInterfaceHasIsRefused(t *testing.T) {
	b, n := newPlugs(t), &conductor.Node{UUID: uuid, Driver: "plug"}
	_, err := b.VirtualMedia(t.Context(), n)
	for function, err := range map[string]error{
		"inject_nmi": b.InjectNMI(t.Context(), n), "set_boot_mode": b.SetBootMode(t.Context(), n, "uefi"),
		"set_secure_boot_state": b.SetSecureBoot(t.Context(), n, true), "get_virtual_media": err,
		"virtual media": b.AttachVirtualMedia(t.Context(), n, "cdrom", "http://h/a"),
	} {
		require.ErrorIs(t, err, conductor.Unsupported)
		require.EqualError(t, err, conductor.UnsupportedText("plug", function))
	}
	require.ErrorIs(t, b.DetachVirtualMedia(t.Context(), n, []string{"cdrom"}), conductor.Unsupported)
	require.Empty(t, b.VendorMethods(n))
	_, err = b.CallVendor(t.Context(), n, "blink", nil)
	require.EqualError(t, err, "No handler for method blink")
	n.InstanceInfo = map[string]any{
		"capabilities": map[string]any{"secure_boot": "true"}, "image_source": "http://h/a", "image_checksum": "00",
	}
	require.ErrorContains(t, b.Validate(n)["deploy"], "the management interface noop of driver plug does not change secure boot")
}

func TestTheInterfacesOfATypeHaveNames(t *testing.T) {
	for _, test := range []struct {
		set  func(*hardware.Interfaces)
		want string
	}{
		{func(i *hardware.Interfaces) { i.Power = nil }, "an interface of the kind power"},
		{func(i *hardware.Interfaces) { i.Management = nil }, "an interface of the kind management"},
		{func(i *hardware.Interfaces) { i.Power = []hardware.Power{nil} }, "an interface of the kind power"},
		{func(i *hardware.Interfaces) { i.BIOS = []hardware.Interface{nil} }, "an interface of the kind bios"},
		{
			func(i *hardware.Interfaces) { i.Power = append(i.Power, plug{name: "plug"}) },
			"a name of its own for each interface of the kind power",
		},
		{func(i *hardware.Interfaces) { i.Rescue = []hardware.Interface{plug{}} }, "a name of its own for each interface of the kind rescue"},
	} {
		i := plugs(new(error))
		test.set(&i)
		_, err := hardware.New(hardware.Config{}, i)
		var wrong *machine.ConfigError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, "Interfaces", wrong.Field)
		require.Equal(t, test.want, wrong.Want)
	}
	_, err := hardware.New(hardware.Config{Timeout: -1}, plugs(new(error)))
	require.Error(t, err)
	for name, text := range map[string]string{
		"no-power": `hardware: Interfaces: the name "no-power" stands for the lack of a power interface, which each hardware type has`,
		"a\nb /":   `hardware: Interfaces: power interface: the name "a\nb /" is invalid: want up to 255 letters`,
	} {
		i := plugs(new(error))
		i.Power = append(i.Power, plug{name: name})
		_, err := hardware.New(hardware.Config{}, i)
		require.ErrorContains(t, err, text)
		require.ErrorAs(t, err, new(*machine.ConfigError))
	}
}

func TestADefaultDoesNotChangeTheListOfTheCaller(t *testing.T) {
	deploy := []hardware.Deploy{hardware.Direct(), hardware.Ramdisk()}
	b := newPlugs(t, func(c *hardware.Config, i *hardware.Interfaces) { c.DefaultDeploy, i.Deploy = "ramdisk", deploy })
	require.Equal(t, []string{"ramdisk", "direct"}, b.Describe().Interfaces["deploy"])
	require.Equal(t, "direct", deploy[0].Name())
	require.Equal(t, "ramdisk", deploy[1].Name())
}

func TestATypeClosesItsInterfaces(t *testing.T) {
	failed := errors.New("still open")
	b := newPlugs(t, func(_ *hardware.Config, i *hardware.Interfaces) { *i = plugs(&failed) })
	require.ErrorIs(t, b.Close(t.Context()), failed)
	require.NoError(t, newPlugs(t).Close(t.Context()))
}

// settings is a BIOS interface whose steps the agent executes.
type settings struct{ hardware.Interface }

func (settings) Name() string                   { return "settings" }
func (settings) StepsInBand(hardware.Node) bool { return true }

func TestTheStepsOfAnInterfaceMayBeTheAgents(t *testing.T) {
	b := newPlugs(t, func(_ *hardware.Config, i *hardware.Interfaces) {
		i.BIOS = []hardware.Interface{hardware.None("bios"), settings{hardware.None("bios")}}
	})
	for _, test := range []struct {
		chosen map[string]string
		kind   string
		want   bool
	}{
		{nil, "raid", false},
		{nil, "bios", false},
		{map[string]string{"raid": "agent"}, "raid", true},
		{map[string]string{"raid": "agent"}, "bios", false},
		{map[string]string{"bios": "settings"}, "bios", true},
		{map[string]string{"bios": "settings"}, "raid", false},
		{map[string]string{"bios": "settings"}, "unknown", false},
		{map[string]string{"bios": "settings", "power": "unknown"}, "bios", false},
	} {
		require.Equal(t, test.want, b.StepsInBand(&conductor.Node{Interfaces: test.chosen}, test.kind), "%+v", test)
	}
}
