// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/internal/exchanges"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// TestTheExchangesOfIronic plays exchanges that were recorded from Ironic 21.4.4 (2023.1), 29.0.5 (2025.1) and 39.0.0
// (2026.2) with a BMC of bmctest and an agent of agenttest. The test of package e2e/lockstep records them.
func TestTheExchangesOfIronic(t *testing.T) {
	for _, series := range []states.Series{states.Antelope, states.Epoxy, states.Hibiscus} {
		t.Run(series.String(), func(t *testing.T) { playExchanges(t, series) })
	}
}

// playExchanges plays the exchanges of a series.
func playExchanges(t *testing.T, series states.Series) {
	for file, check := range map[string]func(*testing.T, *bmctest.Redfish){
		"redfish.txt": func(t *testing.T, server *bmctest.Redfish) {
			require.Equal(t, 1, server.NMIs("1"))
			require.Equal(t, "Cd Once UEFI", server.Boot("1"))
			require.False(t, server.SecureBoot("1"))
			require.Empty(t, server.Subscriptions())
			require.Equal(t, []string{
				"POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset", "POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
				"PATCH /redfish/v1/Systems/1", "PATCH /redfish/v1/Systems/1",
				"PATCH /redfish/v1/Systems/1/SecureBoot", "PATCH /redfish/v1/Systems/1/SecureBoot", "PATCH /redfish/v1/Systems/1",
				"POST /redfish/v1/EventService/Subscriptions", "DELETE /redfish/v1/EventService/Subscriptions/1",
			}, changesOf(server), "Ironic sends the same")
		},
		"bios.txt": func(t *testing.T, server *bmctest.Redfish) {
			require.Equal(t, "Balanced", server.BIOS("1")["PowerProfile"])
			require.Contains(t, changesOf(server), "PATCH /redfish/v1/Systems/1/Bios/Settings")
			require.Contains(t, changesOf(server), "POST /redfish/v1/Systems/1/Bios/Actions/Bios.ResetBios")
		},
		"refusals.txt": func(t *testing.T, server *bmctest.Redfish) {
			require.Zero(t, server.NMIs("refuses"))
			require.Equal(t, "Off", server.Power("refuses"))
			require.Equal(t, []string{
				"POST /redfish/v1/Systems/refuses/Actions/ComputerSystem.Reset", "PATCH /redfish/v1/Systems/refuses",
				"PATCH /redfish/v1/Systems/refuses/SecureBoot", "PATCH /redfish/v1/Systems/refuses",
				"POST /redfish/v1/Systems/refuses/Actions/ComputerSystem.Reset",
			}, changesOf(server), "Ironic sends the same")
		},
	} {
		t.Run(file, func(t *testing.T) {
			var handler http.Handler
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
			t.Cleanup(web.Close)
			t.Cleanup(http.DefaultClient.CloseIdleConnections)
			machine, err := agenttest.New(agenttest.Config{API: web.URL, MACs: []string{"52:54:00:00:00:01"}})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, machine.Close()) })
			server := startRedfish(t, func(c *bmctest.RedfishConfig) {
				c.Systems = []bmctest.System{
					{ID: "1", Hardware: bmctest.Hardware{MACs: []string{"52:54:00:00:00:01", "52:54:00:00:00:02"}}, OnPower: machine.Power},
					{ID: "refuses", Hardware: bmctest.Hardware{DIMMs: -1}},
				}
				c.Faults = []bmctest.Fault{ // of the system that refuses
					{On: "/redfish/v1/Systems/refuses", Method: http.MethodPatch, Do: bmctest.Status(http.StatusBadRequest)},
					{On: "/redfish/v1/Systems/refuses/Actions/ComputerSystem.Reset", Do: bmctest.Status(http.StatusBadRequest)},
					{On: "/redfish/v1/Systems/refuses/SecureBoot", Method: http.MethodPatch, Do: bmctest.Status(http.StatusBadRequest)},
					{On: "/redfish/v1/Systems/refuses/Bios", Do: bmctest.Status(http.StatusBadRequest)},
				}
			})
			s := start(t, hardware.Config{APIURL: web.URL, DefaultDeploy: "ramdisk"}, inSeries(series),
				func(c *conductor.Config) { c.Name = "lockstep" })
			handler = api.New(s.Conductor, api.Config{})

			recorded, err := os.ReadFile(filepath.Join("testdata", series.String(), file))
			require.NoError(t, err)
			played, err := exchanges.Play(web.URL, string(recorded), map[string]string{
				"ADDRESS": server.URL, "CERTIFICATE": redfishInfo(t, server)["redfish_verify_ca"].(string), "USER": user, "PASSWORD": password,
				"ISO": "http://images.example",
			})
			require.NoError(t, err)
			require.Equal(t, string(recorded), played)
			check(t, server)
		})
	}
}

// changesOf returns the requests to a BMC that were neither reads nor about sessions.
func changesOf(server *bmctest.Redfish) (changes []string) {
	for _, r := range server.Requests() {
		if r.Method != http.MethodGet && !strings.Contains(r.Path, "/Sessions") {
			changes = append(changes, r.Method+" "+r.Path)
		}
	}
	return changes
}
