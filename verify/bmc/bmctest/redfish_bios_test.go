// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

const biosPath, biosSettings = system + "/Bios", system + "/Bios/Settings"

// attributesOf returns the attributes of Bios or of its settings resource.
func attributesOf(t *testing.T, bmc *bmctest.Redfish, path string) map[string]any {
	t.Helper()
	return read(t, bmc, path)["Attributes"].(map[string]any)
}

// bootAgain resets a system that is on, and powers on one that is off.
func bootAgain(t *testing.T, bmc *bmctest.Redfish) {
	t.Helper()
	kind := "On"
	if bmc.Power("1") == "On" {
		kind = "ForceRestart"
	}
	require.Equal(t, 204, ask(t, bmc, post, reset, `{"ResetType":"`+kind+`"}`).StatusCode)
}

func TestBIOSSettingsWaitForTheNextBoot(t *testing.T) {
	for _, power := range []string{"On", "Off"} {
		bmc := newRedfish(t, bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1", Power: power}}})
		settings := read(t, bmc, biosPath)["@Redfish.Settings"].(map[string]any)
		path := settings["SettingsObject"].(map[string]any)["@odata.id"].(string)
		before := bmc.BIOS("1")
		const changes = `{"Attributes":{"BootTimeout":300,"PowerProfile":"Performance","QuietBoot":false},
			"@Redfish.SettingsApplyTime":{"ApplyTime":"OnReset"}}`
		require.Equal(t, 200, ask(t, bmc, patch, path, changes).StatusCode)
		require.Equal(t, before, bmc.BIOS("1"))
		require.EqualValues(t, 5, attributesOf(t, bmc, biosPath)["BootTimeout"])
		require.EqualValues(t, 300, attributesOf(t, bmc, path)["BootTimeout"])
		require.Equal(t, "Enabled", attributesOf(t, bmc, path)["HyperThreading"], "which is not to change")

		bootAgain(t, bmc)
		want := maps.Clone(before)
		want["BootTimeout"], want["PowerProfile"], want["QuietBoot"] = 300, "Performance", false
		require.Equal(t, want, bmc.BIOS("1"))
		require.Equal(t, attributesOf(t, bmc, biosPath), attributesOf(t, bmc, path))
	}
}

func TestAnAttributeWithoutResetRequiredChangesAtOnce(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	require.Equal(t, 200, ask(t, bmc, patch, biosSettings, `{"Attributes":{"AssetTag":"rack 7"}}`).StatusCode)
	require.Equal(t, "rack 7", bmc.BIOS("1")["AssetTag"])
}

func TestBIOSIsResetToItsDefaults(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	before := bmc.BIOS("1")
	require.Equal(t, 200, ask(t, bmc, patch, biosSettings, `{"Attributes":{"BootTimeout":9,"AssetTag":"a"}}`).StatusCode)
	bootAgain(t, bmc)
	require.NotEqual(t, before, bmc.BIOS("1"))
	action := read(t, bmc, biosPath)["Actions"].(map[string]any)["#Bios.ResetBios"].(map[string]any)["target"].(string)
	require.Equal(t, 204, ask(t, bmc, post, action, `{}`).StatusCode)
	require.Equal(t, 9, bmc.BIOS("1")["BootTimeout"], "before the next boot")
	bootAgain(t, bmc)
	require.Equal(t, before, bmc.BIOS("1"), "with its serial number")
}

func TestBIOSRefusesWhatIsWrong(t *testing.T) {
	tests := []struct{ name, body, messageID string }{
		{"no JSON", `{`, "MalformedJSON"},
		{"unknown property", `{"Color":{}}`, "PropertyUnknown"},
		{"attributes that are no object", `{"Attributes":[]}`, "PropertyValueTypeError"},
		{"unknown attribute", `{"Attributes":{"Color":"red"}}`, "PropertyUnknown"},
		{"another case", `{"Attributes":{"bootTimeout":1}}`, "PropertyUnknown"},
		{"read-only", `{"Attributes":{"SystemSerialNumber":"1"}}`, "PropertyNotWritable"},
		{"number for text", `{"Attributes":{"PowerProfile":1}}`, "PropertyValueTypeError"},
		{"text for number", `{"Attributes":{"BootTimeout":"1"}}`, "PropertyValueTypeError"},
		{"fraction", `{"Attributes":{"BootTimeout":1.5}}`, "PropertyValueTypeError"},
		{"text for boolean", `{"Attributes":{"QuietBoot":"true"}}`, "PropertyValueTypeError"},
		{"null", `{"Attributes":{"QuietBoot":null}}`, "PropertyValueTypeError"},
		{"not in the list", `{"Attributes":{"PowerProfile":"Turbo"}}`, "PropertyValueNotInList"},
		{"too small", `{"Attributes":{"BootTimeout":-1}}`, "PropertyValueOutOfRange"},
		{"too large", `{"Attributes":{"BootTimeout":301}}`, "PropertyValueOutOfRange"},
		{"too long", `{"Attributes":{"AssetTag":"` + strings.Repeat("a", 33) + `"}}`, "PropertyValueFormatError"},
		{"one of two is wrong", `{"Attributes":{"AssetTag":"a","BootTimeout":301}}`, "PropertyValueOutOfRange"},
		{"at once", `{"Attributes":{"AssetTag":"a"},"@Redfish.SettingsApplyTime":{"ApplyTime":"Immediate"}}`, "PropertyValueNotInList"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bmc := newRedfish(t, bmctest.RedfishConfig{})
			before := bmc.BIOS("1")
			r := ask(t, bmc, patch, biosSettings, tt.body)
			require.Equal(t, 400, r.StatusCode, "body: %s", r.body)
			require.Equal(t, tt.messageID, r.messageID(t))
			require.Equal(t, attributesOf(t, bmc, biosPath), attributesOf(t, bmc, biosSettings))
			require.Equal(t, before, bmc.BIOS("1"))
		})
	}
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	require.Equal(t, 405, ask(t, bmc, patch, biosPath, `{"Attributes":{"AssetTag":"a"}}`).StatusCode)
	require.Nil(t, bmc.BIOS("none"))
}

func TestTheRegistryDescribesEachAttribute(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	name := read(t, bmc, biosPath)["AttributeRegistry"]
	files := membersOf(t, bmc, read(t, bmc, "/redfish/v1/Registries")["Members"])
	require.Len(t, files, 1)
	require.Equal(t, name, files[0]["Id"])
	location := files[0]["Location"].([]any)[0].(map[string]any)
	require.Equal(t, "en", location["Language"])
	registry := read(t, bmc, location["Uri"].(string))
	require.Equal(t, name, registry["Id"])
	require.Equal(t, "en", registry["Language"])

	values := attributesOf(t, bmc, biosPath)
	kinds := map[string]bool{}
	for _, entry := range registry["RegistryEntries"].(map[string]any)["Attributes"].([]any) {
		e := entry.(map[string]any)
		kind := e["Type"].(string)
		kinds[kind] = true
		require.Contains(t, values, e["AttributeName"])
		delete(values, e["AttributeName"].(string))
		require.Equal(t, kind == "Enumeration", e["Value"] != nil)
		require.Equal(t, kind == "Integer", e["LowerBound"] != nil && e["UpperBound"] != nil)
		require.Equal(t, kind == "String", e["MinLength"] != nil && e["MaxLength"] != nil)
		require.IsType(t, true, e["ReadOnly"])
		require.IsType(t, true, e["ResetRequired"])
		if e["AttributeName"] == "PowerProfile" {
			require.Equal(t, map[string]any{"ValueName": "Performance", "ValueDisplayName": "Performance"}, e["Value"].([]any)[0])
		}
	}
	require.Empty(t, values, "attributes without an entry")
	require.Equal(t, map[string]bool{"Enumeration": true, "Integer": true, "String": true, "Boolean": true}, kinds)
}

func TestGofishSetsBIOSAttributes(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	systems, err := gofishClient(t, bmc).Service.Systems()
	require.NoError(t, err)
	bios, err := systems[0].Bios()
	require.NoError(t, err)
	require.NoError(t, bios.UpdateBiosAttributes(schemas.SettingsAttributes{"PowerProfile": "Performance"}))
	bootAgain(t, bmc)
	require.Equal(t, "Performance", bmc.BIOS("1")["PowerProfile"])
	require.NoError(t, bios.ResetBios())
	bootAgain(t, bmc)
	require.Equal(t, "Balanced", bmc.BIOS("1")["PowerProfile"])
}

func TestBmclibReadsAndResetsTheBIOS(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	ctx := t.Context()
	client := dial(bmc, bmctest.DefaultPassword)
	require.NoError(t, client.Open(ctx))
	config, err := client.GetBiosConfiguration(ctx)
	require.NoError(t, err)
	require.Equal(t, "Balanced", config["PowerProfile"])
	require.NoError(t, client.ResetBiosConfiguration(ctx))
	require.NoError(t, client.Close(ctx))
}
