// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
)

func TestABIOSSettingIsMissingUntilItHasItsValue(t *testing.T) {
	reported := []bmc.BIOSSetting{{Name: "BootTimeout", Value: 30}, {Name: "QuietBoot", Value: true}, {Name: "Mode", Value: "Fast"}}
	for _, test := range []struct{ wanted, want map[string]any }{
		{map[string]any{}, map[string]any{}},
		{map[string]any{"BootTimeout": "30", "QuietBoot": "TRUE", "Mode": "fast"}, map[string]any{}},
		{map[string]any{"BootTimeout": 31}, map[string]any{"BootTimeout": 31}},
		{map[string]any{"Mode": "30", "QuietBoot": true}, map[string]any{"Mode": "30"}},
		{map[string]any{"Timeout": 30}, map[string]any{"Timeout": 30}},
	} {
		require.Equal(t, test.want, missingBIOS(test.wanted, reported))
	}
}

func TestAMediumInASlotForCDsIsTheImage(t *testing.T) {
	in := func(inserted bool, types ...string) conductor.VirtualMedia {
		return conductor.VirtualMedia{Inserted: inserted, MediaTypes: types}
	}
	for _, test := range []struct {
		slots []conductor.VirtualMedia
		want  bool
	}{
		{nil, false},
		{[]conductor.VirtualMedia{in(true, "CD")}, true},
		{[]conductor.VirtualMedia{in(true, "DVD")}, true},
		{[]conductor.VirtualMedia{in(true, "CD", "DVD")}, true},
		{[]conductor.VirtualMedia{in(false, "CD", "DVD")}, false},
		{[]conductor.VirtualMedia{in(true, "USBStick", "Floppy")}, false},
		{[]conductor.VirtualMedia{in(false, "CD"), in(true, "Floppy"), in(true, "DVD")}, true},
	} {
		require.Equal(t, test.want, hasCD(test.slots, "http://h/a.iso"), "%v", test.slots)
	}
	for image, want := range map[string]bool{"http://h/a.iso": true, "http://h/old.iso": false} {
		require.Equal(t, want, hasCD([]conductor.VirtualMedia{{Image: image, Inserted: true}}, "http://h/a.iso"), "a slot that tells no types")
	}
}

func TestABIOSStepWaitsForMinutes(t *testing.T) {
	b, err := NewRedfish(Config{})
	require.NoError(t, err)
	require.Equal(t, 30*time.Minute, b.bmcs().biosTimeout)
	require.Equal(t, 10*time.Second, b.bmcs().biosInterval)
}

func TestTheArgumentOfAConfigurationIsAListOfSettings(t *testing.T) {
	setting := func(pairs ...any) map[string]any {
		s := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			s[pairs[i].(string)] = pairs[i+1]
		}
		return s
	}
	const each, atLeast = "settings: each must have a name and a value", "settings: there must be a list of at least one setting"
	for _, test := range []struct {
		argument any
		want     map[string]any
		err      string
	}{
		{[]any{setting("name", "a", "value", 1), setting("name", "b", "value", nil)}, map[string]any{"a": 1, "b": nil}, ""},
		{[]any{setting("name", "a")}, nil, each},
		{[]any{setting("value", 1)}, nil, each},
		{[]any{setting("name", 7, "value", 1)}, nil, each},
		{[]any{setting("name", "a", "value", 1), "b"}, nil, each},
		{[]any{}, nil, atLeast},
		{"a", nil, atLeast},
		{nil, nil, atLeast},
	} {
		got, err := biosValues(test.argument)
		require.Equal(t, test.want, got)
		if test.err == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, test.err)
		}
	}
}

func TestABIOSStepBootsTheAgentThatExecutesOtherSteps(t *testing.T) {
	made, err := NewRedfish(Config{})
	require.NoError(t, err)
	steps := func(prepared bool) *conductor.Steps { return &conductor.Steps{Prepared: prepared} }
	for _, test := range []struct {
		node conductor.Node
		want bool
	}{
		{conductor.Node{ProvisionState: states.Deploying, Interfaces: map[string]string{"deploy": "direct"}}, true},
		{conductor.Node{ProvisionState: states.Deploying, Interfaces: map[string]string{"deploy": "ramdisk"}, CleanSteps: steps(true)}, false},
		{conductor.Node{ProvisionState: states.Servicing, CleanSteps: steps(true)}, false},
		{conductor.Node{ProvisionState: states.Servicing, ServiceSteps: steps(false)}, false},
		{conductor.Node{ProvisionState: states.Servicing, ServiceSteps: steps(true)}, true},
		{conductor.Node{ProvisionState: states.Cleaning, ServiceSteps: steps(true)}, false},
		{conductor.Node{ProvisionState: states.Cleaning, CleanSteps: steps(false)}, false},
		{conductor.Node{ProvisionState: states.Cleaning, CleanSteps: steps(true)}, true},
	} {
		require.Equal(t, test.want, needsAgent(made.on(&test.node)), "%v", test.node)
	}
}
