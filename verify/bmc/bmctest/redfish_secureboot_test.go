// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestSecureBootTakesEffectAtTheNextBoot(t *testing.T) {
	const mode = `{"Boot":{"BootSourceOverrideMode":"`
	tests := []struct {
		name, power, mode, reset string
		want                     bool
	}{
		{"restart", "On", "UEFI", "ForceRestart", true},
		{"power on", "Off", "UEFI", "On", true},
		{"on that is on already", "On", "UEFI", "On", false},
		{"power off", "On", "UEFI", "ForceOff", false},
		{"legacy boot mode", "On", "Legacy", "ForceRestart", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bmc := newRedfish(t, bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1", Power: tt.power}}})
			path := read(t, bmc, system)["SecureBoot"].(map[string]any)["@odata.id"].(string)
			require.Equal(t, 200, ask(t, bmc, patch, path, `{"SecureBootEnable":true}`).StatusCode)
			require.Equal(t, 200, ask(t, bmc, patch, system, mode+tt.mode+`"}}`).StatusCode)
			require.Equal(t, "None Disabled "+tt.mode, bmc.Boot("1"))
			before := read(t, bmc, path)
			require.Equal(t, true, before["SecureBootEnable"])
			require.Equal(t, "Disabled", before["SecureBootCurrentBoot"])
			require.False(t, bmc.SecureBoot("1"))

			require.Equal(t, 204, ask(t, bmc, post, reset, `{"ResetType":"`+tt.reset+`"}`).StatusCode)
			require.Equal(t, tt.want, bmc.SecureBoot("1"))
			require.Equal(t, tt.want, read(t, bmc, path)["SecureBootCurrentBoot"] == "Enabled")
		})
	}
	require.False(t, newRedfish(t, bmctest.RedfishConfig{}).SecureBoot("none"))
}

func TestSecureBootRefusesWhatIsWrong(t *testing.T) {
	for body, messageID := range map[string]string{
		`{`:                                   "MalformedJSON",
		`{"SecureBootEnable":"true"}`:         "PropertyValueTypeError",
		`{"SecureBootEnable":null}`:           "PropertyValueTypeError",
		`{"SecureBootCurrentBoot":"Enabled"}`: "PropertyNotWritable",
		`{"SecureBoot":true}`:                 "PropertyUnknown",
	} {
		r := ask(t, newRedfish(t, bmctest.RedfishConfig{}), patch, system+"/SecureBoot", body)
		require.Equal(t, 400, r.StatusCode, body)
		require.Equal(t, messageID, r.messageID(t), body)
	}
}

func TestARequestWithSeveralMistakesAlwaysGetsTheSameRefusal(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	for range 20 {
		r := ask(t, bmc, patch, system+"/SecureBoot", `{"SecureBootMode":"UserMode","SecureBootEnable":null,"SecureBoot":true}`)
		require.Equal(t, "PropertyUnknown", r.messageID(t))
		r = ask(t, bmc, post, "/redfish/v1/EventService/Subscriptions", `{"Protocol":7,"EventTypes":["Odd"],"Kind":""}`)
		require.Equal(t, "PropertyValueNotInList", r.messageID(t))
	}
}

func TestGofishSetsSecureBoot(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	systems, err := gofishClient(t, bmc).Service.Systems()
	require.NoError(t, err)
	secure, err := systems[0].SecureBoot()
	require.NoError(t, err)
	secure.SecureBootEnable = true
	require.NoError(t, secure.Update())
	require.Equal(t, true, read(t, bmc, system+"/SecureBoot")["SecureBootEnable"])
}

func TestNMIsAreCounted(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	require.Equal(t, 409, ask(t, bmc, post, reset, `{"ResetType":"Nmi"}`).StatusCode, "the system is off")
	require.NoError(t, bmc.SetPower("1", "On"))
	for range 2 {
		require.Equal(t, 204, ask(t, bmc, post, reset, `{"ResetType":"Nmi"}`).StatusCode)
	}
	require.Equal(t, 2, bmc.NMIs("1"))
	require.Zero(t, bmc.NMIs("none"))
}
