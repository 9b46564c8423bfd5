// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	inventory "github.com/bmc-toolbox/common"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
)

func TestABIOSSettingIsMissingUntilItHasItsValue(t *testing.T) {
	reported := []bmc.BIOSSetting{
		{Name: "BootTimeout", Value: 30}, {Name: "QuietBoot", Value: true}, {Name: "Mode", Value: "Fast"},
		{Name: "AdminPassword", AttributeType: "Password", Value: ""}, {Name: "Unknown"},
		{Name: "Count", Value: json.Number("30")}, {Name: "Text", Value: "30"},
	}
	for _, test := range []struct{ wanted, want map[string]any }{
		{map[string]any{}, map[string]any{}},
		{map[string]any{"BootTimeout": "30", "QuietBoot": "TRUE", "Mode": "fast"}, map[string]any{}},
		{map[string]any{"BootTimeout": 31}, map[string]any{"BootTimeout": 31}},
		{map[string]any{"Mode": "30", "QuietBoot": true}, map[string]any{"Mode": "30"}},
		{map[string]any{"AdminPassword": "secret"}, map[string]any{}},
		{map[string]any{"Timeout": 30}, map[string]any{"Timeout": 30}},
		{map[string]any{"Unknown": "30"}, map[string]any{"Unknown": "30"}},
		{map[string]any{"Unknown": nil}, map[string]any{}},
		{map[string]any{"QuietBoot": "1", "Count": "030"}, map[string]any{}},
		{map[string]any{"QuietBoot": json.Number("1"), "Count": "+30"}, map[string]any{}},
		{map[string]any{"QuietBoot": "0", "Count": "031"}, map[string]any{"QuietBoot": "0", "Count": "031"}},
		{map[string]any{"QuietBoot": "on", "Count": "many"}, map[string]any{"QuietBoot": "on", "Count": "many"}},
		{map[string]any{"Text": "030"}, map[string]any{"Text": "030"}},
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

func TestTheFirmwareInAnInventoryIsThatWithAVersion(t *testing.T) {
	common := func(serial, version string) inventory.Common {
		return inventory.Common{Vendor: "v", Model: "m", Serial: serial, Firmware: &inventory.Firmware{Installed: version}}
	}
	require.Empty(t, firmwareIn(&inventory.Device{}))
	require.Empty(t, firmwareIn(&inventory.Device{
		BIOS: &inventory.BIOS{}, BMC: &inventory.BMC{Common: common("s", "")}, NICs: []*inventory.NIC{{ID: "NIC.1"}},
	}))
	found := firmwareIn(&inventory.Device{
		BIOS: &inventory.BIOS{Common: common("b", "1")}, BMC: &inventory.BMC{Common: common("", "2")},
		NICs: []*inventory.NIC{{ID: "NIC.1", Common: common("n", "3")}, {ID: "NIC.2", Common: common("", "4")}},
	})
	of := func(name, version, serial string) conductor.FirmwareComponent {
		return conductor.FirmwareComponent{Component: name, CurrentVersion: version, Vendor: "v", Model: "m", SerialNumber: serial}
	}
	require.Equal(t, []conductor.FirmwareComponent{
		of("bios", "1", "b"), of("bmc", "2", ""), of("nic:n", "3", "n"), of("nic:NIC.2", "4", ""),
	}, found)
	require.Equal(t, 10*time.Second, dialTimeout)
}

func TestTheLogOfAVerificationNamesTheNode(t *testing.T) {
	var log bytes.Buffer
	b, err := NewRedfish(Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	c, err := b.bmcs().configOf(&conductor.Node{UUID: "u-1", DriverInfo: map[string]any{
		"redfish_address": "https://192.0.2.1", "redfish_username": "u", "redfish_password": "p",
	}})
	require.NoError(t, err)
	c.Log.Info("a request is repeated")
	require.Contains(t, log.String(), "node=u-1")
}

func TestTheParametersOfVirtualMediaAreListed(t *testing.T) {
	properties := mediaBoot{}.Properties()
	for name := range (scriptBoot{}).Properties() {
		require.Contains(t, properties, name)
	}
	for _, name := range []string{"deploy_iso", "rescue_iso", "bootloader", "config_via_removable", "external_http_url"} {
		require.Contains(t, properties, name)
	}
}

func TestTheNumbersOfAnInventoryAreAsTheyWereRead(t *testing.T) {
	object, err := asMap(map[string]any{"size": int64(1)<<60 + 1})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"size": json.Number("1152921504606846977")}, object)
	_, err = asMap(func() {})
	require.Error(t, err)
}
