// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// FuzzPatch sends arbitrary patches: the response is JSON and never a server error.
func FuzzPatch(f *testing.F) {
	for _, patch := range []string{
		`[]`, `{}`, `[{"op": "add", "path": "/extra/a", "value": {"b": [1, 2]}}, {"op": "remove", "path": "/extra/a/b/0"}]`,
		`[{"op": "replace", "path": "/driver_info", "value": {"password": "x"}}]`, `[{"op": "remove", "path": "/instance_uuid"}]`,
		`[{"op": "add", "path": "/name", "value": "é"}]`, `[{"op": "add", "path": "/extra/~0~1", "value": null}]`,
		`[{"op": "replace", "path": "/maintenance", "value": "true"}, {"op": "replace", "path": "/power_interface", "value": null}]`,
		`[{"op": "add", "path": "/network_data/links/-", "value": 1e308}]`, `[{"op": "remove", "path": "/driver"}]`,
		`[{"op": "add", "path": "/parent_node", "value": "n"}]`, `[{"op": "add", "path": "/chassis_uuid", "value": "x"}]`,
	} {
		f.Add(patch, uint16(115))
	}
	s := start(f, states.Latest(), api.Config{})
	uuid := s.create(`{"driver": "fake-hardware"}`)
	f.Fuzz(func(t *testing.T, patch string, version uint16) {
		s := &server{Handler: s.Handler, t: t}
		checkAnswer(t, s.do("PATCH", "/v1/nodes/"+uuid, states.APIVersion(version%114).String(), patch))
		checkAnswer(t, s.do("GET", "/v1/nodes/"+uuid, "latest", ""))
	})
}

// FuzzRequest sends arbitrary requests at any version and any series.
func FuzzRequest(f *testing.F) {
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/", ""}, {"GET", "/v1", ""}, {"GET", "/v1/nodes?fields=uuid,name&sort_key=name&limit=1", ""}, {"GET", "/v1/nodes/n.json", ""},
		{"POST", "/v1/nodes", `{"driver": "fake-hardware", "properties": {"a": 1}}`}, {"DELETE", "/v1/nodes/n", ""},
		{"PUT", "/v1/nodes/n/states/provision", `{"target": "clean", "clean_steps": [{"interface": "deploy", "step": "x", "args": {}}]}`},
		{"PUT", "/v1/nodes/n/states/provision", `{"target": "active", "configdrive": {"user_data": []}, "deploy_steps": [{"priority": "1"}]}`},
		{"PUT", "/v1/nodes/n/states/power", `{"target": "power on", "timeout": "5"}`},
		{"PUT", "/v1/nodes/n/states/raid", `{"logical_disks": [5]}`},
		{"PUT", "/v1/nodes/n/traits", `{"traits": ["CUSTOM_A"]}`}, {"DELETE", "/v1/nodes/n/traits/CUSTOM_A", ""},
		{"POST", "/v1/ports", `{"node_ident": "n", "address": "52:54:00:00:00:01", "local_link_connection": {"port_id": "x", "switch_id": "y"}}`},
		{"GET", "/v1/ports?node=n&detail=true&conductor_groups=a", ""}, {"POST", "/v1/portgroups", `{"node_uuid": "x", "mode": null}`},
		{"POST", "/v1/volume/targets", `{"boot_index": 0, "properties": {}}`}, {"POST", "/v1/allocations", `{"node": "n", "traits": []}`},
		{"POST", "/v1/deploy_templates", `{"name": "CUSTOM_A", "steps": [{"interface": "deploy", "step": "x", "args": {}, "priority": 1}]}`},
		{"POST", "/v1/runbooks", `{"name": "a", "steps": [{"interface": "deploy", "step": "x", "order": 1}]}`},
		{"GET", "/v1/drivers/fake-hardware?fields=name", ""}, {"GET", "/v1/lookup?addresses=52:54:00:00:00:01", ""},
		{"POST", "/v1/heartbeat/n", `{"callback_url": "http://x", "agent_token": "x"}`}, {"POST", "/v1/events", `{"events": [{"event": "x"}]}`},
		{"POST", "/v1/nodes/n/vendor_passthru/third_method_sync", `{"bar": "meow"}`}, {"GET", "/v1/nodes/n/history?detail=true", ""},
		{"PATCH", "/v1/ports/x", `[{"op": "add", "path": "/extra/a", "value": 1}]`}, {"GET", "/v1/conductors/testhost", ""},
	} {
		f.Add(c.method, c.path, "1.82", c.body, uint8(1))
	}
	servers := []*server{start(f, states.Kilo, api.Config{}), start(f, states.Antelope, api.Config{}), start(f, states.Latest(), api.Config{})}
	for _, s := range servers {
		s.do("POST", "/v1/nodes", "1.5", `{"driver": "fake-hardware", "name": "n"}`).must(http.StatusCreated)
	}
	f.Fuzz(func(t *testing.T, method, path, version, body string, series uint8) {
		if strings.ContainsAny(version, "\r\n") || !strings.HasPrefix(path, "/") {
			return // net/http lets no such request in
		}
		s := &server{Handler: servers[int(series)%len(servers)].Handler, t: t}
		checkAnswer(t, s.do(method, path, version, body))
	})
}

// checkAnswer asserts the invariants of every response: the body is empty or JSON, an error
// status has a fault in its envelope, and the status is never a server error.
func checkAnswer(t *testing.T, a reply) {
	if a.body == "" {
		require.Less(t, a.status, 300)
		return
	}
	require.True(t, json.Valid([]byte(a.body)), a.body)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	if a.status >= 400 {
		a.fault()
		require.NotEqual(t, http.StatusInternalServerError, a.status, a.body)
	}
}
