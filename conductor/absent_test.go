// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// lean is a hardware type with no more than the required kinds of hardware interfaces.
type lean struct{ conductor.Fake }

func (*lean) Describe() conductor.Description {
	return conductor.Description{Interfaces: map[string][]string{"power": {"x"}, "management": {"x"}, "boot": {"x"}, "deploy": {"x"}}}
}

func (*lean) Validate(*conductor.Node) map[string]error {
	return map[string]error{"power": nil, "management": nil, "boot": nil, "deploy": nil}
}

// As Ironic's abstract hardware type, from which all others inherit "no-rescue" and its like.
func TestAKindThatAHardwareTypeLeavesOutIsAbsentFromItsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) {
			c.Hardware, c.SkipPowerSync = map[string]conductor.Hardware{"fake-hardware": &lean{}}, true
		})
		for _, test := range []struct {
			state  states.State
			target string
			status int
			text   string
		}{
			{states.Active, "rescue", http.StatusInternalServerError, "Driver fake-hardware does not support rescue (disabled or not implemented)."},
			{states.Manageable, "inspect", http.StatusBadRequest, "Driver fake-hardware does not support inspect (disabled or not implemented)."},
		} {
			n := f.create(conductor.Node{Driver: "fake-hardware", ProvisionState: test.state})
			err := f.Provision(f.ctx, n.UUID, f.provision(test.target))
			require.ErrorIs(t, err, conductor.Unsupported)
			require.Equal(t, test.status, conductor.HTTPStatus(err))
			require.ErrorContains(t, err, test.text)
			after := f.settle(n)
			require.Equal(t, test.state, after.ProvisionState)
			require.Empty(t, after.LastError)
		}
		n := f.create(conductor.Node{Driver: "fake-hardware", ProvisionState: states.Manageable})
		found, err := f.Validate(f.ctx, n.UUID)
		require.NoError(t, err)
		for _, kind := range []string{"bios", "console", "firmware", "inspect", "raid", "rescue"} {
			require.ErrorIs(t, found[kind], conductor.Unsupported, kind)
		}
		for _, kind := range []string{"boot", "deploy", "management", "network", "power", "storage"} {
			require.Contains(t, found, kind)
			require.NoError(t, found[kind], kind)
		}
		methods, err := f.VendorMethods(f.ctx, n.UUID)
		require.NoError(t, err)
		require.Empty(t, methods, "though the type has some")
		d, ok := f.Description("fake-hardware")
		require.True(t, ok)
		require.Equal(t, map[string][]string{
			"bios": {"no-bios"}, "boot": {"x"}, "console": {"no-console"}, "deploy": {"x"}, "firmware": {"no-firmware"}, "inspect": {"no-inspect"},
			"management": {"x"}, "network": {"noop"}, "power": {"x"}, "raid": {"no-raid"}, "rescue": {"no-rescue"}, "storage": {"noop"},
			"vendor": {"no-vendor"},
		}, d.Interfaces)
		_, err = f.CreateNode(f.ctx, &conductor.Node{
			Driver: "fake-hardware", ProvisionState: states.Enroll, Interfaces: map[string]string{"rescue": "no-rescue", "network": "noop"},
		})
		require.NoError(t, err)
		_, err = f.CreateNode(f.ctx, &conductor.Node{
			Driver: "fake-hardware", ProvisionState: states.Enroll, Interfaces: map[string]string{"rescue": "agent"},
		})
		require.ErrorIs(t, err, conductor.Invalid)
	})
}

func TestAHardwareTypeThatCannotWorkIsRefused(t *testing.T) {
	interfaces := func(kind string, names ...string) conductor.Hardware {
		d := (&lean{}).Describe()
		d.Interfaces[kind] = names
		return &describing{description: func() conductor.Description { return d }}
	}
	for _, test := range []struct {
		name     string
		hardware conductor.Hardware
		text     string
	}{
		{"", &lean{}, `conductor: Hardware: the name "" is invalid: want`},
		{"nil", nil, `conductor: Hardware: the hardware type "nil" is nil`},
		{"a b/\n", &lean{}, `conductor: Hardware: the name "a b/\n" is invalid`},
		{"..", &lean{}, `conductor: Hardware: the name ".." is invalid`},
		{"own", interfaces("power"), `conductor: Hardware: the hardware type "own": there is no power interface`},
		{"own", interfaces("power", "no-power"), `the name "no-power" stands for the lack of a power interface`},
		{"own", interfaces("power", "a\nb /"), `power interface: the name "a\nb /" is invalid`},
		{"own", interfaces("power", ""), `power interface: the name "" is invalid`},
		{"own", &describing{description: func() conductor.Description { panic("a defect") }}, "panic with a value of type string"},
	} {
		_, err := conductor.New(conductor.Config{Store: &conductor.Memory{}, Hardware: map[string]conductor.Hardware{test.name: test.hardware}})
		require.ErrorContains(t, err, test.text, test.name)
		require.ErrorAs(t, err, new(*machine.ConfigError), test.name)
	}
	for _, name := range []string{"ipmi", "idrac-9", "my_own.type", "X", "9p"} {
		_, err := conductor.New(conductor.Config{Store: &conductor.Memory{}, Hardware: map[string]conductor.Hardware{name: &lean{}}})
		require.NoError(t, err, name)
	}
}

// describing is a hardware type with a description of its own.
type describing struct {
	lean
	description func() conductor.Description
}

func (d *describing) Describe() conductor.Description { return d.description() }

func TestNoNodeIsNotCreated(t *testing.T) {
	c, err := conductor.New(conductor.Config{Store: &conductor.Memory{}, Hardware: map[string]conductor.Hardware{"lean": &lean{}}})
	require.NoError(t, err)
	_, err = c.CreateNode(t.Context(), nil)
	require.ErrorIs(t, err, conductor.Invalid)
	require.EqualError(t, err, "no node was given: it is nil")
}
