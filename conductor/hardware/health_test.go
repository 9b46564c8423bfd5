// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestHealthOfAMachineIsShown(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{}, func(c *conductor.Config) { c.SkipPowerSync, c.Power.Interval = false, 20*time.Millisecond })
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	handler := api.New(s.Conductor, api.Config{})
	shows := func(want string) func() bool {
		return func() bool {
			request := httptest.NewRequest(http.MethodGet, "/v1/nodes/"+n.UUID+"?fields=health", nil)
			request.Header.Set("X-OpenStack-Ironic-API-Version", "1.109")
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			require.Equal(t, http.StatusOK, answer.Code)
			return answer.Body.String()[:len(want)] == want
		}
	}
	require.Eventually(t, shows(`{"health":"OK"`), time.Minute, time.Millisecond)
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.Property("Status", map[string]any{"Health": "Critical"})})
	require.Eventually(t, shows(`{"health":"CRITICAL"`), time.Minute, time.Millisecond)
	health, err := s.redfish.ReadHealth(t.Context(), &conductor.Node{UUID: n.UUID, DriverInfo: n.DriverInfo, Interfaces: map[string]string{"management": "noop"}})
	require.NoError(t, err)
	require.Empty(t, health)
}
