// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const registry = "/redfish/v1/Registries/BiosAttributeRegistryBmctest.v1_0_0"

// The names and types are those of GET /v1/nodes/NODE/bios?detail=true.
func TestTheBIOSSettingsHaveTheFieldsOfTheRegistry(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	settings, err := d.BIOS(t.Context(), "node")
	require.NoError(t, err)
	require.Len(t, settings, 6)
	text, err := json.Marshal(settings[:5])
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"name": "AssetTag", "value": "", "attribute_type": "String", "min_length": 0, "max_length": 32, "read_only": false, "reset_required": false, "unique": false},
		{"name": "BootTimeout", "value": 5, "attribute_type": "Integer", "lower_bound": 0, "upper_bound": 300, "read_only": false, "reset_required": true, "unique": false},
		{"name": "HyperThreading", "value": "Enabled", "attribute_type": "Enumeration", "allowable_values": ["Enabled", "Disabled"], "read_only": false, "reset_required": true, "unique": false},
		{"name": "PowerProfile", "value": "Balanced", "attribute_type": "Enumeration", "allowable_values": ["Performance", "Balanced", "PowerSaving"], "read_only": false, "reset_required": true, "unique": false},
		{"name": "QuietBoot", "value": true, "attribute_type": "Boolean", "read_only": false, "reset_required": true, "unique": false}
	]`, string(text))
}

// The registry file of sushy-tools has another name than the registry in it, which sushy finds by its Id.
func TestTheRegistryIsFoundByItsOwnID(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: registry, Do: changeObject("another name", func(o map[string]any) {
		o["Id"], o["Registry"] = "BiosAttributeRegistry.v1_0_0", "BiosAttributeRegistry1.0"
	})})
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	settings, err := d.BIOS(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, "Integer", settings[1].AttributeType)

	server.AddFault(bmctest.Fault{On: registry + "/registry.json", Do: bmctest.Property("Id", "another registry")})
	settings, err = d.BIOS(t.Context(), "node")
	require.NoError(t, err)
	require.Empty(t, settings[1].AttributeType)
}

// A bound of a wrong type is none: one of 0 would exclude every value.
func TestARegistrysValuesOfAWrongTypeAreLeftOut(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: registry + "/registry.json", Do: changeObject("odd bounds", func(o map[string]any) {
		for _, attribute := range o["RegistryEntries"].(map[string]any)["Attributes"].([]any) {
			a := attribute.(map[string]any)
			a["LowerBound"], a["UpperBound"], a["MaxLength"], a["ReadOnly"] = nil, "300", []any{}, "no"
		}
	})})
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	sent, err := d.SetBIOS(t.Context(), "node", map[string]any{"BootTimeout": "30", "AssetTag": "a"})
	require.NoError(t, err)
	require.True(t, sent)
	settings, err := d.BIOS(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, "Integer", settings[1].AttributeType)
	require.Nil(t, settings[1].LowerBound)
	require.Nil(t, settings[1].UpperBound)
	require.Nil(t, settings[1].ReadOnly)
}

func TestBIOSSettingsAreWrittenWithTheirTypes(t *testing.T) {
	for _, described := range []bool{true, false} {
		server := startRedfish(t)
		if !described {
			server.AddFault(bmctest.Fault{On: registry, Do: bmctest.Status(http.StatusNotFound)})
		}
		d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
		values := map[string]any{"BootTimeout": "30", "QuietBoot": "False", "PowerProfile": "Performance"}
		for _, want := range []bool{true, true} { // the values are pending, but not in force
			sent, err := d.SetBIOS(t.Context(), "node", values)
			require.NoError(t, err)
			require.Equal(t, want, sent)
		}
		require.Equal(t, 5, server.BIOS("1")["BootTimeout"])
		require.NoError(t, d.SetPower(t.Context(), "node", states.PowerRebooting))
		now := server.BIOS("1")
		require.Equal(t, []any{30, false, "Performance"}, []any{now["BootTimeout"], now["QuietBoot"], now["PowerProfile"]})
		sent, err := d.SetBIOS(t.Context(), "node", values)
		require.NoError(t, err)
		require.False(t, sent)

		require.NoError(t, d.ResetBIOS(t.Context(), "node"))
		require.NoError(t, d.SetPower(t.Context(), "node", states.PowerRebooting))
		require.Equal(t, 5, server.BIOS("1")["BootTimeout"])
	}
}

func TestBIOSSettingsThatTheRegistryExcludesAreNotSent(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	for name, test := range map[string]struct {
		value any
		want  error
	}{
		"BootTimeout":        {301, verify.Misconfigured},
		"QuietBoot":          {"maybe", verify.Misconfigured},
		"PowerProfile":       {"Turbo", verify.Misconfigured},
		"AssetTag":           {"123456789012345678901234567890123", verify.Misconfigured},
		"SystemSerialNumber": {"1", verify.Misconfigured},
		"Unknown":            {"1", verify.Unsupported},
	} {
		sent, err := d.SetBIOS(t.Context(), "node", map[string]any{name: test.value})
		require.ErrorIs(t, err, test.want, name)
		require.False(t, sent)
	}
	_, err := d.SetBIOS(t.Context(), "node", map[string]any{"BootTimeout": "five"})
	require.ErrorIs(t, err, verify.Misconfigured)
	for _, asked := range server.Requests() {
		require.NotEqual(t, "PATCH", asked.Method)
	}
}

func TestABIOSThatIsMissingOrStrange(t *testing.T) {
	const bios = systemPath + "/Bios"
	for name, test := range map[string]struct {
		fault     bmctest.Fault
		read, set error
		settings  int
	}{
		"none":                  {bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("Bios")}, verify.Unsupported, verify.Unsupported, 0},
		"null":                  {bmctest.Fault{On: systemPath, Do: bmctest.Property("Bios", nil)}, verify.Unsupported, verify.Unsupported, 0},
		"elsewhere":             {bmctest.Fault{On: systemPath, Do: bmctest.Property("Bios", map[string]any{"@odata.id": "https://other.invalid/x"})}, verify.Unsupported, verify.Unsupported, 0},
		"no attributes":         {bmctest.Fault{On: bios, Do: bmctest.WithoutProperty("Attributes")}, nil, verify.Unsupported, 0},
		"a list for a value":    {bmctest.Fault{On: bios, Do: bmctest.Property("Attributes", map[string]any{"BootTimeout": []any{1}, "A": "b"})}, nil, verify.Unsupported, 1},
		"settings of a BMC":     {bmctest.Fault{On: bios + "/Settings", Do: bmctest.Status(http.StatusInternalServerError)}, nil, verify.Protocol, 6},
		"no registries":         {bmctest.Fault{On: "/redfish/v1/Registries", Do: bmctest.Status(http.StatusNotFound)}, nil, nil, 6},
		"a registry elsewhere":  {bmctest.Fault{On: registry, Do: bmctest.Property("Location", []any{map[string]any{"Language": "en", "Uri": "https://other.invalid/x"}})}, nil, nil, 6},
		"an attribute of null":  {bmctest.Fault{On: registry + "/registry.json", Do: bmctest.Property("RegistryEntries", map[string]any{"Attributes": []any{nil, 7, map[string]any{"AttributeName": 7}}})}, nil, nil, 6},
		"a registry of no JSON": {bmctest.Fault{On: registry + "/registry.json", Do: bmctest.Change("text", func(http.Header, []byte) []byte { return []byte("<html>") })}, nil, nil, 6},
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t)
			server.AddFault(test.fault)
			d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
			settings, err := d.BIOS(t.Context(), "node")
			require.Len(t, settings, test.settings)
			require.ErrorIs(t, err, test.read)
			_, err = d.SetBIOS(t.Context(), "node", map[string]any{"BootTimeout": 7})
			require.ErrorIs(t, err, test.set)
		})
	}
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: bios, Do: bmctest.WithoutProperty("Actions")})
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	require.ErrorIs(t, d.ResetBIOS(t.Context(), "node"), verify.Unsupported)
}

func TestTheFirmwareVersionsAreThoseOfIronicsComponents(t *testing.T) {
	server := startRedfish(t)
	const adapters = "/redfish/v1/Chassis/1/NetworkAdapters"
	serve := func(path string, body any) {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		server.AddFault(bmctest.Fault{On: path, Do: bmctest.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text)
		})})
	}
	link := func(path string) map[string]any { return map[string]any{"@odata.id": path} }
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Chassis/1", Do: bmctest.Property("NetworkAdapters", link(adapters))})
	serve(adapters, map[string]any{"Members": []any{link(adapters + "/1"), link(adapters + "/2"), link(adapters + "/3")}})
	serve(adapters+"/1", map[string]any{"Id": "1", "SerialNumber": "S1", "Controllers": []any{map[string]any{"FirmwarePackageVersion": "22.1"}}})
	serve(adapters+"/2", map[string]any{"Id": "2", "Controllers": []any{map[string]any{"FirmwarePackageVersion": "22.2"}, map[string]any{}}})
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	got, err := d.Firmware(t.Context(), "node")
	require.ErrorIs(t, err, verify.Unsupported, "the third adapter cannot be read")
	require.Equal(t, []bmc.FirmwareComponent{{"bios", "1.8.2"}, {"bmc", "2.14.0"}, {"nic:S1", "22.1"}, {"nic:2", "22.2"}}, got)
}
