// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const registry = "/redfish/v1/Registries/BiosAttributeRegistryBmctest.v1_0_0"

// The names and types are the same as in GET /v1/nodes/NODE/bios?detail=true.
func TestTheBIOSSettingsHaveTheFieldsOfTheRegistry(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	settings, err := d.BIOS(t.Context(), "node")
	require.NoError(t, err)
	require.Len(t, settings, 6)
	text, err := json.Marshal(settings[:5])
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"name": "AssetTag", "value": "", "attribute_type": "String", "min_length": 0, "max_length": 32,
			"read_only": false, "reset_required": false, "unique": false},
		{"name": "BootTimeout", "value": 5, "attribute_type": "Integer", "lower_bound": 0, "upper_bound": 300,
			"read_only": false, "reset_required": true, "unique": false},
		{"name": "HyperThreading", "value": "Enabled", "attribute_type": "Enumeration", "allowable_values": ["Enabled", "Disabled"],
			"read_only": false, "reset_required": true, "unique": false},
		{"name": "PowerProfile", "value": "Balanced", "attribute_type": "Enumeration",
			"allowable_values": ["Performance", "Balanced", "PowerSaving"], "read_only": false, "reset_required": true, "unique": false},
		{"name": "QuietBoot", "value": true, "attribute_type": "Boolean", "read_only": false, "reset_required": true, "unique": false}
	]`, string(text))
}

// The registry file of sushy-tools has another name than the registry in it, which sushy finds by its Id.
func TestTheRegistryIsFoundByItsOwnID(t *testing.T) {
	for name, test := range map[string]struct {
		names bmctest.RegistryNames
		want  string
	}{
		"the registry has the name": {bmctest.RegistryNames{Attribute: "A.v1_0_0", File: "BiosAttributeRegistry.v1_0_0",
			Registry: "BiosAttributeRegistry1.0"}, "Integer"},
		"the only registry of the BIOS is meant": {bmctest.RegistryNames{Attribute: "A.v1_0_0", File: "BiosAttributeRegistry", ID: "another"},
			"Integer"},
		"it is another device's": {bmctest.RegistryNames{Attribute: "A.v1_0_0", File: "NetworkAttributeRegistry", ID: "another"}, ""},
	} {
		d, _ := profileDriver(t, bmctest.Profile{Registry: test.names})
		settings, err := d.BIOS(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, test.want, settings[1].AttributeType, name)
	}
}

// Supermicro's registries have numbers as names of the values.
func TestTheValuesOfABIOSSettingAreThoseThatItHas(t *testing.T) {
	names, words := []string{"Off", "1", "2"}, []string{"No", "Yes", "2"}
	for value, want := range map[string][]string{"Off": names, "1": names, "2": names, "No": words, "Yes": words, "Perhaps": names} {
		d, _ := vendorDriver(t,
			bmctest.Fault{On: systemPath + "/Bios", Do: bmctest.Property("Attributes", map[string]any{"HyperThreading": value})},
			bmctest.Fault{On: registry + "/registry.json", Do: bmctest.Property("RegistryEntries", map[string]any{"Attributes": []any{map[string]any{
				"AttributeName": "HyperThreading", "Type": "Enumeration", "Value": []any{
					map[string]any{"ValueName": "Off", "ValueDisplayName": "No"}, map[string]any{"ValueName": "1", "ValueDisplayName": "Yes"},
					map[string]any{"ValueName": "2"}, map[string]any{},
				},
			}}})})
		settings, err := d.BIOS(t.Context(), "node")
		require.NoError(t, err)
		require.Len(t, settings, 1)
		require.Equal(t, want, settings[0].AllowableValues, value)
	}
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
		values := map[string]any{"BootTimeout": "30", "QuietBoot": "False", "PowerProfile": "Performance"}
		config := configOf(server)
		config.AnyBIOSSetting = !described
		d := newDriver(t, 0, map[string]bmc.Config{"node": config})
		for _, want := range []bool{true, true} { // the values are pending, but not in force
			sent, err := d.SetBIOS(t.Context(), "node", values)
			require.NoError(t, err)
			require.Equal(t, want, sent)
		}
		require.Equal(t, 5, server.BIOS("1")["BootTimeout"])
		for _, value := range []int{5, 30} { // the first is in force, but another one is pending
			sent, err := d.SetBIOS(t.Context(), "node", map[string]any{"BootTimeout": value})
			require.NoError(t, err)
			require.True(t, sent)
		}
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

func TestASettingsObjectMayShowOnlyWhatIsPending(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{Method: "GET", On: systemPath + "/Bios/Settings", Do: changeObject("none", func(o map[string]any) {
		o["Attributes"] = map[string]any{}
	})})
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	sent, err := d.SetBIOS(t.Context(), "node", map[string]any{"BootTimeout": 5})
	require.NoError(t, err)
	require.False(t, sent, "the machine has the value")
}

func TestPendingBIOSSettingsComeFromTheSettingsObject(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	_, err := d.SetBIOS(t.Context(), "node", map[string]any{"BootTimeout": 30})
	require.NoError(t, err)
	pending, err := d.PendingBIOS(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, json.Number("30"), pending["BootTimeout"])
	require.Len(t, pending, 6)

	d, _ = profileDriver(t, bmctest.Profile{BIOSInPlace: true})
	pending, err = d.PendingBIOS(t.Context(), "node")
	require.NoError(t, err)
	require.Empty(t, pending)

	d, _ = vendorDriver(t, bmctest.Fault{On: systemPath + "/Bios/Settings", Do: bmctest.Status(http.StatusNotFound)})
	_, err = d.PendingBIOS(t.Context(), "node")
	require.ErrorIs(t, err, verify.Unsupported)
	d, _ = vendorDriver(t, bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("Bios")})
	_, err = d.PendingBIOS(t.Context(), "node")
	require.ErrorIs(t, err, verify.Unsupported)
}

// As a Gigabyte has it.
func TestASettingsObjectWithoutALinkIsBelowTheBIOS(t *testing.T) {
	const bios = systemPath + "/Bios"
	unlinked := bmctest.Fault{On: bios, Method: http.MethodGet, Do: bmctest.Property("@Redfish.Settings",
		map[string]any{"ETag": "Dummyetag", "Messages": []any{map[string]any{"MessageId": "Base.1.0.SettingsFailed"}}})}
	fails := func(status int) bmctest.Fault { return bmctest.Fault{On: bios + "/SD", Do: bmctest.Status(status)} }
	ended := false
	ends := bmctest.Fault{Do: bmctest.Status(http.StatusUnauthorized), If: func(r *http.Request) bool {
		ended = ended || r.URL.Path == bios+"/SD"
		return ended
	}}
	at, none := bmctest.Profile{BIOSSettings: "SD"}, bmctest.Profile{BIOSInPlace: true}
	for name, test := range map[string]struct {
		profile bmctest.Profile
		fault   bmctest.Fault
		path    string
		err     error
	}{
		"at SD":           {at, bmctest.Fault{}, bios + "/SD", nil},
		"none":            {none, bmctest.Fault{}, bios, nil},
		"not to be read":  {none, fails(http.StatusInternalServerError), bios, nil},
		"refused alone":   {none, fails(http.StatusUnauthorized), bios, nil},
		"with no session": {at, ends, "", verify.Credentials},
	} {
		d, server := profileDriver(t, test.profile, test.fault, unlinked)
		_, err := d.SetBIOS(t.Context(), "node", map[string]any{"BootTimeout": 30})
		require.ErrorIs(t, err, test.err, name)
		for _, path := range []string{bios, bios + "/SD"} {
			require.Equal(t, path == test.path, count(server, "PATCH", path) == 1, "%s: %s", name, path)
		}
	}
}

func TestNoBIOSSettingsAreNoChange(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	sent, err := d.SetBIOS(t.Context(), "node", nil)
	require.NoError(t, err)
	require.False(t, sent)
	for _, asked := range server.Requests() {
		require.NotEqual(t, "PATCH", asked.Method)
	}
}

// repeats refuses a request with a message that has the value of a setting.
func repeats(value string) bmctest.Effect {
	return bmctest.Handle("repeats the value", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error": {"@Message.ExtendedInfo": [{"MessageId": "Base.1.8.PropertyValueFormatError",
			"Message": "The value `+value+` is too weak"}]}}`)
	})
}

// SECURITY.md: Passwords and session tokens are removed from every text of a BMC before it reaches an error, a log or
// `last_error`.
func TestARefusalThatRepeatsABIOSPasswordIsMasked(t *testing.T) {
	const firmwarePassword = "correct horse"
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: registry + "/registry.json", Do: changeObject("a password", func(o map[string]any) {
		for _, attribute := range o["RegistryEntries"].(map[string]any)["Attributes"].([]any) {
			if a := attribute.(map[string]any); a["AttributeName"] == "AssetTag" {
				a["Type"] = "Password"
			}
		}
	})})
	server.AddFault(bmctest.Fault{Method: "PATCH", Do: repeats(firmwarePassword)})
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	_, err := d.SetBIOS(t.Context(), "node", map[string]any{"AssetTag": firmwarePassword})
	require.ErrorContains(t, err, "is too weak")
	require.NotContains(t, err.Error(), firmwarePassword)
}

// BMCs of Dell, Gigabyte and NVIDIA show a password as null.
func TestAPasswordOfTheBIOSIsASettingWithoutAValue(t *testing.T) {
	const firmwarePassword = "correct horse"
	for _, described := range []bool{true, false} {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile.BIOSPassword = "AdminPassword" })
		config, kind := configOf(server), "Password"
		if !described {
			server.AddFault(bmctest.Fault{On: registry, Do: bmctest.Status(http.StatusNotFound)})
			config.AnyBIOSSetting, kind = true, ""
		}
		d := newDriver(t, 0, map[string]bmc.Config{"node": config})
		settings, err := d.BIOS(t.Context(), "node")
		require.NoError(t, err)
		require.Len(t, settings, 7)
		require.Equal(t, "AdminPassword", settings[0].Name)
		require.Nil(t, settings[0].Value)
		require.Equal(t, kind, settings[0].AttributeType)
		require.True(t, settings[0].IsSecret())

		sent, err := d.SetBIOS(t.Context(), "node", map[string]any{"AdminPassword": nil})
		require.NoError(t, err)
		require.False(t, sent, "it is null")
		sent, err = d.SetBIOS(t.Context(), "node", map[string]any{"AdminPassword": firmwarePassword})
		require.NoError(t, err)
		require.True(t, sent)
		require.NoError(t, d.SetPower(t.Context(), "node", states.PowerRebooting))
		require.Equal(t, firmwarePassword, server.BIOS("1")["AdminPassword"])

		server.AddFault(bmctest.Fault{Method: "PATCH", Do: repeats(firmwarePassword)})
		_, err = d.SetBIOS(t.Context(), "node", map[string]any{"AdminPassword": firmwarePassword})
		require.ErrorContains(t, err, "is too weak")
		require.NotContains(t, err.Error(), firmwarePassword)
	}
}

func TestABIOSThatIsMissingOrStrange(t *testing.T) {
	const bios = systemPath + "/Bios"
	for name, test := range map[string]struct {
		fault     bmctest.Fault
		read, set error
		settings  int
	}{
		"none": {bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("Bios")}, verify.Unsupported, verify.Unsupported, 0},
		"null": {bmctest.Fault{On: systemPath, Do: bmctest.Property("Bios", nil)}, verify.Unsupported, verify.Unsupported, 0},
		"elsewhere": {bmctest.Fault{On: systemPath, Do: bmctest.Property("Bios",
			map[string]any{"@odata.id": "https://other.invalid/x"})}, verify.Unsupported, verify.Unsupported, 0},
		"no attributes": {bmctest.Fault{On: bios, Do: bmctest.WithoutProperty("Attributes")}, nil, verify.Unsupported, 0},
		"a list for a value": {bmctest.Fault{On: bios, Do: bmctest.Property("Attributes", map[string]any{"BootTimeout": []any{1}, "A": "b"})},
			nil, verify.Unsupported, 1},
		"settings of a BMC": {bmctest.Fault{On: bios + "/Settings", Do: bmctest.Status(http.StatusInternalServerError)}, nil, verify.Protocol, 6},
		"no registries":     {bmctest.Fault{On: "/redfish/v1/Registries", Do: bmctest.Status(http.StatusNotFound)}, nil, verify.Unsupported, 6},
		"a registry elsewhere": {bmctest.Fault{On: registry, Do: bmctest.Property("Location",
			[]any{map[string]any{"Language": "en", "Uri": "https://other.invalid/x"}})}, nil, verify.Unsupported, 6},
		"an attribute of null": {bmctest.Fault{On: registry + "/registry.json", Do: bmctest.Property("RegistryEntries",
			map[string]any{"Attributes": []any{nil, 7, map[string]any{"AttributeName": 7}}})}, nil, verify.Unsupported, 6},
		"a registry of no JSON": {bmctest.Fault{On: registry + "/registry.json", Do: bmctest.Change("text", func(http.Header, []byte) []byte {
			return []byte("<html>")
		})}, nil, verify.Unsupported, 6},
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

// The second attempt begins with the resources that the first one has found.
func TestWhatIsReadAgainAfterASessionHasEndedIsReturnedOnce(t *testing.T) {
	const subscriptions = "/redfish/v1/EventService/Subscriptions"
	d, server := vendorDriver(t)
	_, err := d.Subscribe(t.Context(), "node", bmc.Subscription{Destination: "https://events.example", Protocol: "Redfish"})
	require.NoError(t, err)
	for on, read := range map[string]func() (int, error){
		"/redfish/v1/Chassis/1": func() (int, error) { found, err := d.Firmware(t.Context(), "node"); return len(found), err },
		slotUSB:                 func() (int, error) { found, err := d.VirtualMedia(t.Context(), "node"); return len(found), err },
		subscriptions + "/more": func() (int, error) { found, err := d.Subscriptions(t.Context(), "node"); return len(found), err },
	} {
		want, err := read()
		require.NoError(t, err)
		require.NotZero(t, want)
		logins := server.Logins().Attempts
		server.AddFault(bmctest.Fault{On: on, Times: 1, Do: bmctest.Status(http.StatusUnauthorized)})
		server.AddFault(bmctest.Fault{On: subscriptions, Times: 1, Do: bmctest.Property("Members@odata.nextLink", subscriptions+"/more")})
		got, err := read()
		require.NoError(t, err, on)
		require.Equal(t, want, got, on)
		require.Equal(t, logins+1, server.Logins().Attempts, on)
		require.NoError(t, server.ClearFaults())
	}
}
