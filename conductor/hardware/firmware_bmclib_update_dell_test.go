// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// An iDRAC removes a task that has ended; its job stays. It restarts itself, and refuses sessions meanwhile.
func TestBMCLibUpdatesTheFirmwareOfADell(t *testing.T) {
	for job, failure := range map[string]string{"Completed": "", "Failed": "the BMC reports a failure: id: 7, state: Failed"} {
		t.Run(job, func(t *testing.T) {
			u := &updates{states: []string{"Scheduled", "Running", "lost"}, after: "2.9.1"}
			server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile, c.Faults = bmctest.Dell(), u.faults() })
			u.power = func() string { return server.Power(bmctest.Dell().SystemID) }
			server.AddFault(bmctest.Fault{
				On: "/redfish/v1/Managers/iDRAC.Embedded.1/Oem/Dell/Jobs/7",
				Do: bmctest.Handle("the job", func(w http.ResponseWriter, _ *http.Request) {
					u.note(job)
					server.AddFault(bmctest.Fault{Method: http.MethodPost, On: "/redfish/v1/SessionService/Sessions", Times: 2, Do: bmctest.Status(503)})
					_, _ = w.Write([]byte(`{"JobState": "` + job + `"}`))
				}),
			})
			config, _, files := serveImages(t)
			b, err := hardware.NewBMCLibDialing(config, dialer(server))
			require.NoError(t, err)
			b.PauseFirmwareUpdates(u.pause)
			s := start(t, hardware.Config{}, func(c *conductor.Config) { c.Hardware["bmclib"] = b })
			info := openBMCInfo(t, server)
			info["bmclib_provider"] = "dell"
			n := s.node(testMachine{driver: "bmclib", info: info}, func(n *conductor.Node) { n.ProvisionState = states.Manageable })
			s.setPower(n, states.PowerOn)
			n = s.updateFirmware(n, map[string]any{"component": "bmc", "url": files + "idrac.exe"})
			log := []string{"sent", "1m0s", "Scheduled", "1m0s", "Running", "1m0s", job}
			if failure != "" {
				require.Equal(t, states.CleanFail, n.ProvisionState)
				require.Contains(t, n.LastError, failure)
			} else {
				require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
				log = append(log, "1m0s", "1m0s", "1m0s")
			}
			require.Equal(t, log, u.log)
		})
	}
}
