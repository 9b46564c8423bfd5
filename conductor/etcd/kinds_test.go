// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
)

// ask sends a request to an API and returns the status and the decoded body.
func ask(t *testing.T, server *httptest.Server, method, path string, body any) (status int, answer any) {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	if body == nil {
		text = nil
	}
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, bytes.NewReader(text))
	require.NoError(t, err)
	r.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	r.Header.Set("Content-Type", "application/json")
	response, err := server.Client().Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	if len(text) > 0 {
		require.NoError(t, json.Unmarshal(text, &answer), "%s", text)
	}
	return response.StatusCode, answer
}

// TestEachAPIServesTheNodesOfEachConductor has three conductors with one hardware type each, and their
// APIs.
func TestEachAPIServesTheNodesOfEachConductor(t *testing.T) {
	members := etcdtest.StartCluster(t, 1, nil)
	names := []string{"alpha", "beta", "gamma"}
	servers := map[string]*httptest.Server{}
	for _, name := range names {
		s := connect(t, etcd.Config{Endpoints: endpoints(members)})
		c, err := conductor.New(conductor.Config{
			Store: s, Membership: s.Membership(0), Name: name, LockedRetries: 200, LockedInterval: 50 * time.Millisecond,
			Hardware: map[string]conductor.Hardware{name: &conductor.Fake{}},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		t.Cleanup(func() { cancel(); require.ErrorIs(t, <-done, context.Canceled) })
		require.NoError(t, c.Ready(ctx))
		servers[name] = httptest.NewServer(api.New(c, api.Config{}))
		t.Cleanup(servers[name].Close)
	}
	for _, server := range servers {
		for known := 0; known != len(names); time.Sleep(10 * time.Millisecond) {
			_, answer := ask(t, server, "GET", "/v1/conductors", nil)
			known = len(answer.(map[string]any)["conductors"].([]any))
		}
	}

	for _, by := range names {
		for _, of := range names {
			do := func(method, path string, body any, want int) any {
				t.Helper()
				status, answer := ask(t, servers[by], method, path, body)
				require.Equal(t, want, status, "%s: %s %s: %v", by, method, path, answer)
				return answer
			}
			name := "node-of-" + of + "-by-" + by
			node := "/v1/nodes/" + name
			moves := func(target string, more map[string]any, after string) {
				t.Helper()
				body := map[string]any{"target": target}
				for key, value := range more {
					body[key] = value
				}
				do("PUT", node+"/states/provision", body, 202)
				for done := false; !done; time.Sleep(10 * time.Millisecond) {
					shown := do("GET", node, nil, 200).(map[string]any)
					done = shown["provision_state"] == after && shown["reservation"] == nil
				}
			}

			description := do("GET", "/v1/drivers/"+of, nil, 200).(map[string]any)
			require.Equal(t, "fake", description["default_deploy_interface"])
			require.Contains(t, do("GET", "/v1/drivers/"+of+"/properties", nil, 200), "B1")

			created := do("POST", "/v1/nodes", map[string]any{"name": name, "driver": of}, 201).(map[string]any)
			require.Equal(t, "fake", created["deploy_interface"])
			step := map[string]any{"interface": "bios", "step": "factory_reset"}
			moves("manage", nil, "manageable")
			moves("clean", map[string]any{"clean_steps": []any{step}}, "manageable")
			moves("provide", nil, "available")
			moves("active", nil, "active")
			moves("rescue", map[string]any{"rescue_password": "xyzzy"}, "rescue")
			moves("unrescue", nil, "active")
			do("PUT", node+"/states/provision", map[string]any{"target": "provide"}, 400)

			validation := do("GET", node+"/validate", nil, 200).(map[string]any)
			require.Equal(t, map[string]any{"result": true}, validation["power"])
			require.Equal(t, of, do("GET", node, nil, 200).(map[string]any)["conductor"])

			do("PUT", node+"/states/power", map[string]any{"target": "power on"}, 202)
			for on := false; !on; time.Sleep(10 * time.Millisecond) {
				shown := do("GET", node+"/states", nil, 200).(map[string]any)
				on = shown["power_state"] == "power on" && shown["target_power_state"] == nil
			}
			require.Equal(t, []any{"pxe"}, do("GET", node+"/management/boot_device/supported", nil, 200).(map[string]any)["supported_boot_devices"])
			require.Equal(t, "pxe", do("GET", node+"/management/boot_device", nil, 200).(map[string]any)["boot_device"])
			do("PUT", node+"/management/boot_device", map[string]any{"boot_device": "pxe"}, 204)
			do("PUT", node+"/management/boot_device", map[string]any{"boot_device": "moon"}, 400)
			require.Contains(t, do("GET", node+"/vendor_passthru/methods", nil, 200), "third_method_sync")
			require.Equal(t, true, do("POST", node+"/vendor_passthru/third_method_sync", map[string]any{"bar": "meow"}, 200))

			moves("deleted", nil, "available")
			do("PATCH", node, []map[string]any{{"op": "add", "path": "/deploy_interface", "value": "direct"}}, 200)
			do("PATCH", node, []map[string]any{{"op": "add", "path": "/deploy_interface", "value": "none"}}, 400)
			do("DELETE", node, nil, 204)
		}
	}
}
