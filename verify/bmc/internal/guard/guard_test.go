// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/internal/guard"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

const systemPath = "/redfish/v1/Systems/1"

// follow takes links on the host "bmc".
func follow(link string) (string, bool) {
	base, _ := url.Parse("https://bmc" + systemPath)
	u, err := base.Parse(link)
	if err != nil || link == "" || u.Host != "bmc" || u.User != nil || u.Opaque != "" {
		return "", false
	}
	return u.EscapedPath(), true
}

func ofSystem() guard.Rules {
	return guard.Rules{Path: systemPath, Follow: follow, Decode: new(schemas.ComputerSystem).UnmarshalJSON}
}

func TestWhatHarmsGofishDoesNotReachIt(t *testing.T) {
	tests := map[string]struct{ answer, want string }{
		"a null member":              {`{"Bios": null, "Name": "a"}`, `{"Name": "a"}`},
		"a null member of an object": {`{"Links": {"Chassis": null}}`, `{"Links": {}}`},
		"a null in a list": {`{"Links": {"Chassis": [null, {"@odata.id": "/c/1"}, null]}}`,
			`{"Links": {"Chassis": [{"@odata.id": "/c/1"}]}}`},
		"a link to another host": {`{"Bios": {"@odata.id": "//evil.invalid/x"}}`, `{"Bios": {}}`},
		"a link behind an at sign": {`{"Bios": {"@odata.id": "@evil.invalid/x"}}`,
			`{"Bios": {"@odata.id": "/redfish/v1/Systems/@evil.invalid/x"}}`},
		"an old link":             {`{"Bios": {"href": "https://evil.invalid/x"}}`, `{"Bios": {}}`},
		"an empty link":           {`{"Bios": {"@odata.id": ""}}`, `{"Bios": {}}`},
		"an empty link in a list": {`{"PCIeDevices": [{"@odata.id": ""}, {}]}`, `{"PCIeDevices": []}`},
		"a link that is no text":  {`{"Bios": {"@odata.id": 7}}`, `{"Bios": {}}`},
		"a link in another case":  {`{"Bios": {"@ODATA.ID": "https://evil.invalid/x"}}`, `{"Bios": {}}`},
		"a target elsewhere": {`{"Actions": {"#ComputerSystem.Reset": {"target": "https://evil.invalid/x"}}}`,
			`{"Actions": {"#ComputerSystem.Reset": {}}}`},
		"a target in another case": {`{"Actions": {"#ComputerSystem.Reset": {"TarGet": "//evil.invalid/x"}}}`,
			`{"Actions": {"#ComputerSystem.Reset": {}}}`},
		"another's identity":           {`{"@odata.id": "/redfish/v1/Systems/2"}`, `{}`},
		"another's, in another case":   {`{"@odata.iD": "/redfish/v1/Systems/2"}`, `{}`},
		"a next page":                  {`{"Members@odata.nextLink": "` + systemPath + `"}`, `{}`},
		"a next page in another case":  {`{"members@ODATA.nextlink": "` + systemPath + `"}`, `{}`},
		"two spellings":                {`{"PowerState": "On", "powerState": "Off"}`, `{}`},
		"two spellings beyond ASCII":   {`{"PowerState": "On", "PowerſTate": "Off"}`, `{}`},
		"two spellings of an identity": {`{"@odata.id": "` + systemPath + `", "@Odata.id": "/redfish/v1/Systems/2"}`, `{}`},
		"a text for a number": {`{"MemorySummary": {"TotalSystemMemoryGiB": "96", "MemoryMirroring": "None"}}`,
			`{"MemorySummary": {"MemoryMirroring": "None"}}`},
		"a number for a text":    {`{"PowerState": 1, "Name": "a"}`, `{"Name": "a"}`},
		"a number for an object": {`{"Boot": 7, "Name": "a"}`, `{"Name": "a"}`},
		"an object for a text": {`{"Boot": {"BootSourceOverrideTarget": {}, "BootSourceOverrideMode": "UEFI"}}`,
			`{"Boot": {"BootSourceOverrideMode": "UEFI"}}`},
		"a number that is too large": {`{"MemorySummary": {"TotalSystemMemoryGiB": 1e999999}}`, `{"MemorySummary": {}}`},
		"a wrong value in a list": {`{"Actions": {"#ComputerSystem.Reset": {"ResetType@Redfish.AllowableValues": ["On", 7, "ForceOff"]}}}`,
			`{"Actions": {"#ComputerSystem.Reset": {"ResetType@Redfish.AllowableValues": ["On", "ForceOff"]}}}`},
		"large numbers": {`{"Oem": {"Serial": 12345678901234567890}}`, `{"Oem": {"Serial": 12345678901234567890}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := guard.Resource([]byte(test.answer), ofSystem())
			require.NoError(t, err)
			require.Equal(t, systemPath, got["@odata.id"])
			delete(got, "@odata.id")
			text, err := json.Marshal(got)
			require.NoError(t, err)
			require.JSONEq(t, test.want, string(text))
		})
	}
}

func TestWhatIsNoResourceIsRefused(t *testing.T) {
	nested := func(levels int) string {
		return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
	}
	many := func(values int) string { return `{"a": [` + strings.Repeat("1,", values-3) + "1]}" }
	wrong := func(name string, values int) string {
		return `{"` + name + `": [` + strings.Repeat("7,", values-1) + "7]}"
	}
	for name, test := range map[string]struct {
		answer string
		ok     bool
	}{
		"null":                   {"null", false},
		"a list":                 {"[null]", false},
		"a text":                 {`"x"`, false},
		"nothing":                {"", false},
		"half an object":         {`{"a": 1`, false},
		"two objects":            {"{} {}", false},
		"an object":              {" {} \n", true},
		"24 levels":              {nested(24), true},
		"25 levels":              {nested(25), false},
		"levels in a text":       {`{"a": "` + strings.Repeat("[", 100) + `\"{"}`, true},
		"20,000 values":          {many(20_000), true},
		"20,001 values":          {many(20_001), false},
		"10,000 levels":          {strings.Repeat("[", 10_000), false},
		"a few of a wrong type":  {`{"Name": 7, "Boot": [], "PowerState": {}}`, true},
		"anything for a link":    {wrong("PCIeDevices", 2000), true},
		"2,000 of a wrong type":  {wrong("HostingRoles", 2000), false},
		"500 of a wrong type":    {wrong("HostingRoles", 500), true},
		"1,000 trials":           {wrong("HostingRoles", 1_000-5), true}, // the resource twice, the list twice, and its @odata.id
		"1,001 trials":           {wrong("HostingRoles", 1_001-5), false},
		"a resource of a system": {`{"Name": "a", "PowerState": "On"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := guard.Resource([]byte(test.answer), ofSystem())
			require.Equal(t, test.ok, err == nil, "%v", err)
		})
	}
}

func TestADecoderThatPanicsDropsWhatItPanicsAt(t *testing.T) {
	rules := ofSystem()
	rules.Decode = func(part []byte) error {
		if strings.Contains(string(part), "bad") {
			panic("bad")
		}
		return nil
	}
	got, err := guard.Resource([]byte(`{"a": {"b": "bad", "c": 1}, "d": ["bad", "good"]}`), rules)
	require.NoError(t, err)
	delete(got, "@odata.id")
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, `{"a": {"c": 1}, "d": ["good"]}`, string(text))
}

// decoders has the types of gofish that package bmc decodes.
var decoders = []func() json.Unmarshaler{
	func() json.Unmarshaler { return new(schemas.Service) },
	func() json.Unmarshaler { return new(schemas.ComputerSystem) },
	func() json.Unmarshaler { return new(schemas.Manager) },
	func() json.Unmarshaler { return new(schemas.VirtualMedia) },
	func() json.Unmarshaler { return new(schemas.Bios) },
	func() json.Unmarshaler { return new(schemas.Chassis) },
	func() json.Unmarshaler { return new(schemas.Processor) },
	func() json.Unmarshaler { return new(schemas.Memory) },
	func() json.Unmarshaler { return new(schemas.Storage) },
	func() json.Unmarshaler { return new(schemas.Drive) },
	func() json.Unmarshaler { return new(schemas.Volume) },
	func() json.Unmarshaler { return new(schemas.SimpleStorage) },
	func() json.Unmarshaler { return new(schemas.EthernetInterface) },
	func() json.Unmarshaler { return new(schemas.NetworkAdapter) },
	func() json.Unmarshaler { return new(schemas.SecureBoot) },
	func() json.Unmarshaler { return new(schemas.Collection) },
}

// FuzzResource passes answers through the guard into gofish's decoders. What passes is
// decoded, without a panic, and has no link that leads elsewhere.
func FuzzResource(f *testing.F) {
	for _, seed := range []string{
		`{"@odata.id": "/redfish/v1/Systems/1", "Members": [null, {"@odata.id": "@other/x"}], "Members@odata.nextLink": ""}`,
		`{"Boot": {"BootSourceOverrideTarget": 7}, "Actions": {"#ComputerSystem.Reset": {"Target": "//evil.invalid/"}}}`,
		`{"Links": {"ManagedBy": [{}], "Chassis": {}}, "MemorySummary": {"TotalSystemMemoryGiB": "96"}, "Bios": null}`,
		`{"@Redfish.Settings": {"SettingsObject": {"@odata.id": "https://evil.invalid"}, "SupportedApplyTimes": 1}, "Attributes": {"a": null}}`,
		`{"MediaTypes": ["CD", 1], "Inserted": "yes", "Actions": {"#VirtualMedia.InsertMedia": {"target": "x"}, "Oem": []}}`,
	} {
		for kind := range decoders {
			f.Add(uint8(kind), seed)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, answer string) {
		into := decoders[int(kind)%len(decoders)]()
		got, err := guard.Resource([]byte(answer), guard.Rules{Path: systemPath, Follow: follow, Decode: into.UnmarshalJSON})
		if err != nil {
			return
		}
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.NoError(t, into.UnmarshalJSON(text))
		require.NotEqual(t, "null", string(text))
		switch decoded := into.(type) {
		case *schemas.ComputerSystem:
			require.Equal(t, systemPath, decoded.ODataID)
		case *schemas.Collection:
			require.Empty(t, decoded.MembersNextLink)
			for _, link := range decoded.ItemLinks {
				require.True(t, link == "" || strings.HasPrefix(link, "/"), "%q", link)
			}
		}
	})
}
