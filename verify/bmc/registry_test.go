// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const (
	registriesPath = "/redfish/v1/Registries"
	rightContent   = "/redfish/v1/right.json"
	wrongContent   = "/redfish/v1/wrong.json"
)

// registryFile is a member of the collection of registries. Without a body it cannot be read.
type registryFile struct{ name, body string }

// registriesOf gives a BMC other registries: these files, and a right and a wrong registry of the attribute BootTimeout
// at rightContent and wrongContent, whose types are their names and whose IDs are given.
func registriesOf(rightID, wrongID string, files ...registryFile) []bmctest.Fault {
	content := `{"Id": %q, "RegistryEntries": {"Attributes": [7, {"AttributeName": "BootTimeout", "Type": %q, "ReadOnly": 0}]}}`
	faults := []bmctest.Fault{
		{On: rightContent, Do: bmctest.Body(fmt.Sprintf(content, rightID, "right"))},
		{On: wrongContent, Do: bmctest.Body(fmt.Sprintf(content, wrongID, "wrong"))},
	}
	var members []string
	for _, file := range files {
		path := registriesPath + "/" + file.name
		members = append(members, fmt.Sprintf(`{"@odata.id": %q}`, path))
		if file.body == "" {
			faults = append(faults, bmctest.Fault{On: path, Do: bmctest.Status(http.StatusInternalServerError)})
			continue
		}
		faults = append(faults, bmctest.Fault{On: path, Do: bmctest.Body(file.body)})
	}
	return append(faults, bmctest.Fault{On: registriesPath, Do: bmctest.Body(`{"Members": [` + strings.Join(members, ", ") + `]}`)})
}

// named returns the body of a registry file with one location.
func named(id, registry, location string) string {
	return fmt.Sprintf(`{"Id": %q, "Registry": %q, "Location": [{"Language": "en", "Uri": %q}]}`, id, registry, location)
}

func TestTheRegistryIsTheOneThatTheBIOSNames(t *testing.T) {
	const id, strange = "BiosAttributeRegistry.v1_0_0", "Settings.v1"
	bios := registryFile{"A", named("A", "BiosAttributeRegistry", wrongContent)}
	other := registryFile{"B", named("AttributeRegistry", "", rightContent)}
	network := registryFile{"A", named("NetworkAttributeRegistry", "", wrongContent)}
	ofBIOS := registryFile{"B", named("BiosAttributeRegistry", "", rightContent)}
	for name, test := range map[string]struct {
		id      string // that the BIOS names
		rightID string
		files   []registryFile
		want    string
		unread  string
	}{
		"none is named":          {"", "", []registryFile{{"A", named("", "BiosAttributeRegistry", wrongContent)}}, "", registriesPath},
		"its file's name":        {id, "", []registryFile{bios, {id, named(id, "B", rightContent)}}, "right", registriesPath + "/A"},
		"its file's ID":          {strange, "", []registryFile{bios, {"B", named(strange, "", rightContent)}}, "right", wrongContent},
		"its file's registry":    {strange, "", []registryFile{bios, {"B", named("B", strange, rightContent)}}, "right", wrongContent},
		"its own ID":             {id, id, []registryFile{bios, other}, "right", ""},
		"its own ID, misspelt":   {id, "biosattributeregistry.1.0.0", []registryFile{bios, other}, "right", ""},
		"it is the BIOS's alone": {id, "", []registryFile{network, ofBIOS}, "right", ""},
		"two are of the BIOS":    {id, "", []registryFile{bios, ofBIOS}, "", ""},
		"the others are of no use": {strange, "", []registryFile{
			{"A", ""}, {"B", named("BiosMessages", "BiosMessages", wrongContent)},
			{"C", `{"Id": "BiosAttributeRegistry", "Location": 7}`}, {"D", named(strange, "", rightContent)},
		}, "right", wrongContent},
		"messages alone": {id, "", []registryFile{{"A", named("BiosMessages", "BiosMessages", wrongContent)}}, "", wrongContent},
		"in English": {strange, "", []registryFile{{"A", `{"Id": "Settings.v1", "Location": [
			{"Language": "de", "Uri": "` + wrongContent + `"}, {"Language": "en"}, {}, {"Language": "EN-us", "Uri": "` + rightContent + `"},
			{"Language": "en", "Uri": "` + wrongContent + `"}]}`}},
			"right", wrongContent},
		"in no language": {strange, "", []registryFile{{"A", `{"Id": "Settings.v1", "Location": [{"Uri": "` + rightContent + `"}]}`}},
			"right", wrongContent},
		"in two places": {id, "", []registryFile{{"A", `{"Registry": "BiosAttributeRegistry", "Location": [
			{"Language": "en", "Uri": "` + rightContent + `"}, {"Language": "en-us", "Uri": "` + wrongContent + `"}]}`}}, "right", wrongContent},
		"elsewhere": {strange, "", []registryFile{{"A", named(strange, "", "https://other.invalid/x")}}, "", "/"},
	} {
		t.Run(name, func(t *testing.T) {
			faults := append(registriesOf(test.rightID, "", test.files...),
				bmctest.Fault{On: systemPath + "/Bios", Do: bmctest.Property("AttributeRegistry", test.id)})
			d, server := vendorDriver(t, faults...)
			settings, err := d.BIOS(t.Context(), "node")
			require.NoError(t, err)
			require.Equal(t, "BootTimeout", settings[1].Name)
			require.Equal(t, test.want, settings[1].AttributeType)
			require.Nil(t, settings[1].ReadOnly, "a number is no truth value")
			require.Zero(t, count(server, http.MethodGet, test.unread), test.unread)
		})
	}
}

func TestNoOtherRegistryIsReadOnceAnAnswerIsLost(t *testing.T) {
	for lost, unread := range map[string]string{registriesPath + "/A": registriesPath + "/B", rightContent: wrongContent} {
		faults := registriesOf("", "", registryFile{"A", named("AttributeRegistryA", "", rightContent)},
			registryFile{"B", named("AttributeRegistryB", "", wrongContent)})
		d, server := vendorDriver(t, append([]bmctest.Fault{{On: lost, Do: bmctest.CloseAfter(0)}}, faults...)...)
		_, err := d.BIOS(t.Context(), "node")
		require.ErrorIs(t, err, verify.Protocol)
		require.NotZero(t, count(server, http.MethodGet, lost))
		require.Zero(t, count(server, http.MethodGet, unread))
	}
}

func TestARegistryMayBeLongerThanOtherAnswers(t *testing.T) {
	const longest = 16 << 10
	server := startRedfish(t, func(c *bmctest.RedfishConfig) {
		c.Faults = []bmctest.Fault{{On: registry + "/registry.json", Do: bmctest.Property("Description", strings.Repeat("long ", longest))}}
	})
	config := configOf(server)
	config.MaxAnswerBytes = longest
	settings, err := newDriver(t, 0, map[string]bmc.Config{"node": config}).BIOS(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, "Integer", settings[1].AttributeType)
}

func TestTheTimeOfABIOSChangeIsSentToABMCThatNamesIt(t *testing.T) {
	const settings = systemPath + "/Bios/Settings"
	for name, test := range map[string]struct {
		times any
		want  string
	}{
		"at the reset": {[]string{"Immediate", "OnReset"},
			`{"@Redfish.SettingsApplyTime":{"ApplyTime":"OnReset"},"Attributes":{"BootTimeout":30}}`},
		"at once":         {[]string{"Immediate"}, `{"Attributes":{"BootTimeout":30}}`},
		"nothing is said": {nil, `{"Attributes":{"BootTimeout":30}}`},
	} {
		var seen refusing
		d, _ := vendorDriver(t,
			bmctest.Fault{On: systemPath + "/Bios", Do: bmctest.Property("@Redfish.Settings", map[string]any{
				"SettingsObject": map[string]any{"@odata.id": settings}, "SupportedApplyTimes": test.times,
			})},
			bmctest.Fault{On: settings, Method: http.MethodPatch, Do: seen.effect(func(*http.Request, string) (int, string) { return 0, "" })})
		sent, err := d.SetBIOS(t.Context(), "node", map[string]any{"BootTimeout": 30})
		require.NoError(t, err, name)
		require.True(t, sent, name)
		require.Equal(t, []string{test.want}, seen.bodies, name)
	}
}

// The registry of an iDRAC has settings that are read-only while the system profile is not "Custom".
func TestAReadOnlyBIOSSettingIsSetBesideTheOneThatMakesItSo(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: registry + "/registry.json", Do: changeObject("dependencies", func(o map[string]any) {
		entries := o["RegistryEntries"].(map[string]any)
		for _, attribute := range entries["Attributes"].([]any) {
			if a := attribute.(map[string]any); a["AttributeName"] == "BootTimeout" || a["AttributeName"] == "QuietBoot" {
				a["ReadOnly"] = true
			}
		}
		depends := func(from, to, property string) any {
			return map[string]any{"Type": "Map", "DependencyFor": to, "Dependency": map[string]any{
				"MapToAttribute": to, "MapToProperty": property, "MapToValue": true,
				"MapFrom": []any{map[string]any{"MapFromAttribute": from, "MapFromValue": "Balanced"}},
			}}
		}
		entries["Dependencies"] = []any{depends("PowerProfile", "BootTimeout", "ReadOnly"), depends("HyperThreading", "BootTimeout", "Hidden"),
			depends("PowerProfile", "Unknown", "ReadOnly"), 7}
	})})
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	for _, test := range []struct {
		values map[string]any
		sent   bool
		err    error
	}{
		{map[string]any{"BootTimeout": 30}, false, verify.Misconfigured},
		{map[string]any{"BootTimeout": 30, "HyperThreading": "Disabled"}, false, verify.Misconfigured},
		{map[string]any{"QuietBoot": false, "PowerProfile": "Performance"}, false, verify.Misconfigured},
		{map[string]any{"BootTimeout": "301", "PowerProfile": "Performance"}, false, verify.Misconfigured},
		{map[string]any{"BootTimeout": "5", "QuietBoot": true, "SystemSerialNumber": server.BIOS("1")["SystemSerialNumber"]}, false, nil},
		{map[string]any{"SystemSerialNumber": server.BIOS("1")["SystemSerialNumber"], "AssetTag": "a"}, true, nil},
		{map[string]any{"BootTimeout": 30, "PowerProfile": "Performance"}, true, nil},
	} {
		sent, err := d.SetBIOS(t.Context(), "node", test.values)
		require.ErrorIs(t, err, test.err, "%v", test.values)
		require.Equal(t, test.sent, sent, "%v", test.values)
	}
	require.NoError(t, d.SetPower(t.Context(), "node", states.PowerRebooting))
	now := server.BIOS("1")
	require.Equal(t, []any{30, "Performance", "a"}, []any{now["BootTimeout"], now["PowerProfile"], now["AssetTag"]})
}
