// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestOnPowerTellsWhatTheSystemBoots(t *testing.T) {
	var calls []string
	bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{NoSessions: true,
		Systems: []bmctest.System{{ID: "1", OnPower: func(on bool, source, image string) {
			calls = append(calls, fmt.Sprintln(on, source, image))
		}}}})
	require.NoError(t, err)
	defer bmc.Close()
	send := func(method, path, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "https://"+bmc.Addr+"/redfish/v1"+path, bytes.NewReader([]byte(body)))
		require.NoError(t, err)
		r.SetBasicAuth(bmctest.DefaultUser, bmctest.DefaultPassword)
		r.Header.Set("Content-Type", "application/json")
		answer, err := bmc.Client().Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Less(t, answer.StatusCode, 300)
	}
	reset := func(kind string) {
		t.Helper()
		send(http.MethodPost, "/Systems/1/Actions/ComputerSystem.Reset", `{"ResetType": "`+kind+`"}`)
	}
	reset("ForceOff") // it is off
	reset("On")
	reset("On") // it is on
	send(http.MethodPost, "/Managers/bmc/VirtualMedia/CD/Actions/VirtualMedia.InsertMedia", `{"Image": "http://images/agent.iso"}`)
	send(http.MethodPatch, "/Systems/1", `{"Boot": {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}}`)
	reset("ForceRestart")
	reset("ForceOff")
	send(http.MethodPatch, "/Systems/1", `{"Boot": {"BootSourceOverrideTarget": "Usb", "BootSourceOverrideEnabled": "Continuous"}}`)
	reset("On")
	require.NoError(t, bmc.SetPower("1", "Off"))
	require.NoError(t, bmc.SetPower("1", "Off"))
	require.NoError(t, bmc.SetPower("1", "On"))
	require.Equal(t, []string{
		"true None \n", "true Cd http://images/agent.iso\n", "false  \n", "true Usb \n", "false  \n", "true Usb \n",
	}, calls)
}

func TestTheMachineAlsoBootsByItsPowerButton(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	for path, change := range map[string]string{
		biosSettings: `{"Attributes": {"BootTimeout": 300}}`, system + "/SecureBoot": `{"SecureBootEnable": true}`,
		system: `{"Boot": {"BootSourceOverrideTarget": "Pxe", "BootSourceOverrideEnabled": "Once"}}`,
	} {
		require.Equal(t, 200, ask(t, bmc, patch, path, change).StatusCode)
	}
	require.NoError(t, bmc.SetPower("1", "On"))
	require.Equal(t, 300, bmc.BIOS("1")["BootTimeout"])
	require.Equal(t, "Enabled", read(t, bmc, system+"/SecureBoot")["SecureBootCurrentBoot"])
	require.Equal(t, "None Disabled UEFI", bmc.Boot("1"))
}
