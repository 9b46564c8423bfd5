// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

const inspectedMAC = "52:54:00:00:00:01"

// inspecting creates a node with a port, whose inspection waits for the data of an agent.
func (s *server) inspecting() (uuid string) {
	s.t.Helper()
	uuid = s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.do("POST", "/v1/ports", "latest", `{"address": "`+inspectedMAC+`", "node_uuid": "`+uuid+`"}`).must(http.StatusCreated)
	s.provision("n", "manage")
	s.onOperation(func(_ context.Context, _ *conductor.Node, operation string) error {
		if operation == "inspect.inspect_hardware" {
			return conductor.ErrWait
		}
		return nil
	})
	s.do("PUT", "/v1/nodes/n/states/provision", "latest", `{"target": "inspect"}`).must(http.StatusAccepted)
	s.untilState("n", states.InspectWait)
	return uuid
}

const inspectionData = `{"inventory": {
	"interfaces": [
		{"name": "lo", "mac_address": "00:00:00:00:00:00", "ipv4_address": "127.0.0.1"},
		{"name": "eth0", "mac_address": "52:54:00:00:00:01", "ipv4_address": "192.0.2.10"},
		{"name": "eth1", "mac_address": "52:54:00:00:00:02", "ipv4_address": "192.0.2.11"}
	],
	"cpu": {"architecture": "aarch64"}, "memory": {"physical_mb": 8192}, "boot": PXE
}, "error": null, "root_disk": {"name": "/dev/sda"}, "logs": "H4sI"}`

func TestInspectionDataOfAnAgentEndTheInspection(t *testing.T) {
	for name, c := range map[string]struct {
		version, query, boot string
		ports                []any
	}{
		"without a version":       {"", "", `{"pxe_interface": "52:54:00:00:00:02"}`, []any{inspectedMAC, "52:54:00:00:00:02"}},
		"interface as of PXE":     {"1.1", "", `{"pxe_interface": "01-52-54-00-00-00-02"}`, []any{inspectedMAC, "52:54:00:00:00:02"}},
		"booting with known port": {"1.1", "", `{"pxe_interface": "52:54:00:00:00:01"}`, []any{inspectedMAC}},
		"without boot interface":  {"1.1", "", `{}`, []any{inspectedMAC, "52:54:00:00:00:02"}},
		"latest":                  {"latest", "", `{}`, []any{inspectedMAC, "52:54:00:00:00:02"}},
		"by UUID":                 {"1.84", "?node_uuid=UUID", `{}`, []any{inspectedMAC, "52:54:00:00:00:02"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, states.Latest(), api.Config{})
			uuid := s.inspecting()
			answer := s.do("POST", "/v1/continue_inspection"+strings.ReplaceAll(c.query, "UUID", uuid), c.version,
				strings.ReplaceAll(inspectionData, "PXE", c.boot)).must(http.StatusAccepted)
			if c.version == "" || c.version == "1.1" {
				require.Equal(t, map[string]any{"uuid": uuid}, answer)
			} else {
				require.Equal(t, uuid, answer["node"].(map[string]any)["uuid"])
				require.Len(t, answer["config"].(map[string]any)["agent_token"], 43)
			}
			s.untilState("n", states.Manageable)
			stored := s.do("GET", "/v1/nodes/n/inventory", "latest", "").json()
			require.Equal(t, map[string]any{"physical_mb": 8192.0}, stored["inventory"].(map[string]any)["memory"])
			plugins := stored["plugin_data"].(map[string]any)
			require.Equal(t, map[string]any{"name": "/dev/sda"}, plugins["root_disk"])
			require.NotContains(t, plugins, "logs")
			require.Len(t, plugins["all_interfaces"], 3)
			require.NotContains(t, plugins["valid_interfaces"], "lo")
			require.Equal(t, "aarch64", s.do("GET", "/v1/nodes/n", "latest", "").json()["properties"].(map[string]any)["cpu_arch"])
			var addresses []any
			for _, port := range s.do("GET", "/v1/ports", "latest", "").json()["ports"].([]any) {
				addresses = append(addresses, port.(map[string]any)["address"])
			}
			require.ElementsMatch(t, c.ports, addresses)
		})
	}
}

func TestUnusableInspectionDataFailTheInspection(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"inventory": {"interfaces": [{"name": "eth0", "mac_address": "52:54:00:00:00:01"}]}, "error": "no disk"}`,
			"Failed to finish inspection: Failed to inspect hardware. Reason: Ramdisk reported error: no disk"},
		{`{"inventory": {"interfaces": [{"mac_address": "52:54:00:00:00:01"}]}}`, "no valid network interfaces"},
		{`{"inventory": {"interfaces": [{"name": "lo", "mac_address": "52:54:00:00:00:01"}]}}`, "no network interfaces match the configuration"},
		{`{"inventory": {"interfaces": [{"name": "a", "mac_address": "52:54:00:00:00:01", "ipv6_address": "::1"}]}}`,
			"no network interfaces match the configuration"},
		{`{"inventory": {"interfaces": [{"name": "a", "mac_address": "52:54:00:00:00:01"}],
			"boot": {"pxe_interface": "52:54:00:00:00:09"}}, "logs": "H4sIAA"}`,
			"no network interfaces match the configuration"},
	} {
		s := start(t, states.Latest(), api.Config{})
		s.inspecting()
		s.do("POST", "/v1/continue_inspection", "", c.body).must(http.StatusAccepted)
		s.untilState("n", states.InspectFail)
		require.Contains(t, s.do("GET", "/v1/nodes/n", "latest", "").json()["last_error"], c.want)
		require.Equal(t, http.StatusNotFound, s.do("GET", "/v1/nodes/n/inventory", "latest", "").status)
	}
}

func TestInspectionUpdatesThePortsOfTheNode(t *testing.T) {
	const other, gone = "52:54:00:00:00:02", "52:54:00:00:00:09"
	for name, c := range map[string]struct {
		boot string
		pxe  map[string]any
	}{
		"an interface has booted the agent": {`{"pxe_interface": "01-52-54-00-00-00-02"}`,
			map[string]any{inspectedMAC: false, other: true, gone: false}},
		"virtual media have": {`{}`, map[string]any{inspectedMAC: false, other: false, gone: false}},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, states.Latest(), api.Config{})
			uuid := s.inspecting()
			for _, mac := range []string{other, gone} {
				s.do("POST", "/v1/ports", "latest",
					`{"address": "`+mac+`", "node_uuid": "`+uuid+`", "pxe_enabled": `+fmt.Sprint(mac == gone)+
						`, "extra": {"a": 1}}`).must(http.StatusCreated)
			}
			body := strings.Replace(strings.ReplaceAll(inspectionData, "PXE", c.boot), `"mac_address": "`+other+`"`,
				`"mac_address": "`+other+`", "client_id": "ff:01"`, 1)
			require.Contains(t, body, "ff:01")
			s.do("POST", "/v1/continue_inspection", "latest", body).must(http.StatusAccepted)
			s.untilState("n", states.Manageable)
			pxe, extra := map[string]any{}, map[string]any{}
			for _, item := range s.do("GET", "/v1/ports?detail=true", "latest", "").json()["ports"].([]any) {
				port := item.(map[string]any)
				pxe[port["address"].(string)], extra[port["address"].(string)] = port["pxe_enabled"], port["extra"]
			}
			require.Equal(t, c.pxe, pxe)
			require.Equal(t, map[string]any{inspectedMAC: map[string]any{}, other: map[string]any{"a": 1.0, "client-id": "ff:01"},
				gone: map[string]any{"a": 1.0}}, extra)
		})
	}
}

func TestInspectionDataThatNobodyWaitsForAreRefused(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	post := func(version, query, body string) reply {
		return s.do("POST", "/v1/continue_inspection"+query, version, body)
	}
	good := strings.ReplaceAll(inspectionData, "PXE", "{}")
	require.Equal(t, http.StatusNotFound, post("", "", good).status, "there is no node")
	uuid := s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.do("POST", "/v1/ports", "latest", `{"address": "`+inspectedMAC+`", "node_uuid": "`+uuid+`"}`).must(http.StatusCreated)
	require.Equal(t, "Resource could not be found.", post("", "", good).fault(), "the node waits for nothing")
	require.Equal(t, "Resource could not be found.", post("latest", "?node_uuid="+uuid, good).fault())
	require.Equal(t, "API version 1.84 or newer is required", post("1.83", "", good).fault())
	require.Equal(t, "API version 1.84 or newer is required", post("1.1", "?node_uuid="+uuid, good).fault())
	require.Equal(t, http.StatusMethodNotAllowed, s.do("GET", "/v1/continue_inspection", "latest", "").status)
	nothing := `{"inventory": {"interfaces": [{"mac_address": "none"}]}}`
	require.Equal(t, "No lookup information provided", post("latest", "", nothing).fault())
	require.Equal(t, http.StatusNotFound, post("latest", "?node_uuid="+uuid, nothing).status)
	for _, body := range []string{
		"", "[]", "{}", `{"inventory": {}}`, `{"inventory": {"interfaces": []}}`, `{"inventory": {"interfaces": [{}]}}`,
		`{"inventory": {"interfaces": [{"mac_address": 1}]}}`,
		`{"inventory": {"interfaces": [{"mac_address": "52:54:00:00:00:01"}], "bmc_address": 1}}`,
		`{"inventory": {"interfaces": [{"mac_address": "52:54:00:00:00:01"}], "bmc_v6address": {}}}`,
	} {
		require.Equal(t, http.StatusBadRequest, post("latest", "", body).status, body)
	}
}

// An agent that is faster than the conductor repeats its request.
func TestInspectionDataBeforeTheNodeWaitsAreAConflict(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.provision("n", "manage")
	status := make(chan int, 1)
	s.onOperation(func(_ context.Context, n *conductor.Node, operation string) error {
		if operation == "inspect.inspect_hardware" {
			status <- s.do("POST", "/v1/continue_inspection?node_uuid="+n.UUID, "latest", strings.ReplaceAll(inspectionData, "PXE", "{}")).status
		}
		return nil
	})
	s.do("PUT", "/v1/nodes/n/states/provision", "latest", `{"target": "inspect"}`).must(http.StatusAccepted)
	require.Equal(t, http.StatusConflict, <-status)
}

func TestAnInspectionMayHaveLongLogs(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	sent := func(logs, more int) int {
		body := strings.Replace(inspectionData, "H4sI", strings.Repeat("A", logs), 1)
		body = strings.Replace(body, "PXE", `{"pxe_interface": "`+strings.Repeat("B", more)+`"}`, 1)
		return s.do("POST", "/v1/continue_inspection", "1.1", body).status
	}
	require.Equal(t, http.StatusNotFound, sent(15<<20, 0), "no node waits")
	require.Equal(t, http.StatusRequestEntityTooLarge, sent(17<<20, 0))
	require.Equal(t, http.StatusRequestEntityTooLarge, sent(2<<20, 1<<20), "all but the logs")
}
