// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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

// TestTheExchangesOfIronic plays exchanges that were recorded from Ironic 21.4.4 with a BMC of bmctest and an agent of
// agenttest. The test of package e2e/lockstep records them. That Ironic has neither firmware components (API 1.86) nor virtual media (1.89, and 1.93 to read them).
func TestTheExchangesOfIronic(t *testing.T) {
	for _, file := range []string{"redfish.txt", "bios.txt", "refusals.txt"} {
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
			s := start(t, hardware.Config{APIURL: web.URL, DefaultDeploy: "ramdisk"}, inSeries(states.Antelope), func(c *conductor.Config) { c.Name = "lockstep" })
			handler = api.New(s.Conductor, api.Config{})

			recorded, err := os.ReadFile(filepath.Join("testdata", file))
			require.NoError(t, err)
			played, err := exchanges.Play(web.URL, string(recorded), map[string]string{
				"ADDRESS": server.URL, "CERTIFICATE": redfishInfo(t, server)["redfish_verify_ca"].(string), "USER": user, "PASSWORD": password,
				"ISO": "http://images.example",
			})
			require.NoError(t, err)
			require.Equal(t, string(recorded), played)
		})
	}
}
