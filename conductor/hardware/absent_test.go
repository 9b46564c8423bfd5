// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
)

// ask sends a request of the newest version to the API of a site, and returns the status and the answer.
func (s *site) ask(method, path, body string) (status int, answer string) {
	s.t.Helper()
	web := httptest.NewServer(api.New(s.Conductor, api.Config{}))
	defer web.Close()
	request, err := http.NewRequestWithContext(s.t.Context(), method, web.URL+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-OpenStack-Ironic-API-Version", states.Latest().MaxAPIVersion().String())
	response, err := web.Client().Do(request)
	require.NoError(s.t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	return response.StatusCode, string(text)
}

// Interfaces of Ironic that the hardware types redfish and ipmi do not have.
func TestAnInterfaceThatIsNotHereIsRefused(t *testing.T) {
	s := start(t, hardware.Config{})
	for kind, names := range map[string][]string{
		"boot":     {"http", "http-ipxe", "redfish-https", "idrac-redfish-virtual-media"},
		"bios":     {"idrac-redfish"},
		"console":  {"ipmitool-socat", "redfish-graphical", "fake-graphical"},
		"deploy":   {"anaconda", "ansible", "autodetect", "bootc", "noop"},
		"firmware": {"fake"},
		"inspect":  {"inspector", "idrac-redfish"},
		"network":  {"flat", "neutron", "ironic-networking"},
		"storage":  {"cinder", "external"},
		"vendor":   {"ipmitool", "idrac-redfish"},
	} {
		for _, name := range names {
			for _, driver := range []string{"redfish", "ipmi"} {
				status, answer := s.ask("POST", "/v1/nodes", fmt.Sprintf(`{"driver": %q, "%s_interface": %q}`, driver, kind, name))
				require.Equal(t, http.StatusBadRequest, status, "%s %s: %s", driver, name, answer)
				require.Contains(t, answer, fmt.Sprintf("in the 'ironic.hardware.interfaces.%s' entrypoint: %s.", kind, name))
			}
		}
	}
	for _, driver := range []string{"idrac", "manual-management"} {
		status, answer := s.ask("POST", "/v1/nodes", fmt.Sprintf(`{"driver": %q}`, driver))
		require.Equal(t, http.StatusBadRequest, status, answer)
		require.Contains(t, answer, driver)
	}
}

// A node has no console, whatever it asks for.
func TestAConsoleIsRefused(t *testing.T) {
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(startRedfish(t), t), func(n *conductor.Node) { n.ProvisionState = states.Active })
	status, answer := s.ask("PUT", "/v1/nodes/"+n.UUID+"/states/console", `{"enabled": true}`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, answer, "does not support console (disabled or not implemented).")
	_, answer = s.ask("GET", "/v1/nodes/"+n.UUID+"/validate", "")
	var validation map[string]struct{ Result *bool }
	require.NoError(t, json.Unmarshal([]byte(answer), &validation))
	require.Equal(t, new(bool), validation["console"].Result)
}

// No indicator of a machine is read or set.
func TestAnIndicatorIsRefused(t *testing.T) {
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(startRedfish(t), t), func(n *conductor.Node) { n.ProvisionState = states.Active })
	for _, path := range []string{"", "/led@system"} {
		status, answer := s.ask("GET", "/v1/nodes/"+n.UUID+"/management/indicators"+path, "")
		require.Equal(t, http.StatusBadRequest, status, answer)
		require.Contains(t, answer, "does not support")
	}
}

// Steps of Ironic's interfaces that these hardware types do not have end the work, and the BMC sees no change.
func TestAStepThatIsNotHereFailsTheWork(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	for name, chosen := range map[string]map[string]string{
		"firmware.update":             {"firmware": "redfish"},
		"management.update_firmware":  nil,
		"management.set_bmc_clock":    nil,
		"raid.create_configuration":   {"raid": "redfish"},
		"raid.delete_configuration":   {"raid": "redfish"},
		"network.reattach_networking": nil,
	} {
		n := s.node(redfishMachine(server, t), func(n *conductor.Node) {
			n.ProvisionState = states.Manageable
			for kind, name := range chosen {
				n.Interfaces[kind] = name
			}
		})
		kind, step, _ := strings.Cut(name, ".")
		require.NoError(t, s.Provision(t.Context(), n.UUID, conductor.ProvisionRequest{
			Target: "clean", CleanSteps: []conductor.StepRequest{{Interface: kind, Step: step}}, Version: s.word("").Version,
		}))
		n = s.settle(n)
		require.Equal(t, states.CleanFail, n.ProvisionState, name)
		require.Contains(t, n.LastError, fmt.Sprintf("node does not support this clean step: {'interface': '%s', 'step': '%s'}", kind, step))
	}
	for _, r := range server.Requests() {
		require.True(t, r.Method == http.MethodGet || strings.HasSuffix(r.Path, "/Sessions"), "%v changes the machine", r)
	}
}
