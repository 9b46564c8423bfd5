// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

func TestOptionalHooksHandleTheDataOfAnAgent(t *testing.T) {
	const first, second = "52:54:00:00:00:0a", "52:54:00:00:00:0b"
	const data = `{"pci_devices": [{"vendor_id": "10de", "product_id": "1eb8", "bus": "0000:3b:00.0"}], "inventory": {
		"cpu": {"count": 8, "architecture": "x86_64"}, "interfaces": [
			{"name": "eth0", "mac_address": "` + first + `", "lldp": [[1, "04885a92ec5459"], [2, "0545746865726e6574312f3138"]]},
			{"name": "eth1", "mac_address": "` + second + `", "lldp": [[2, "0545746865726e6574312f3139"], [5, "ff"]]}]}}`
	for _, hooks := range [][]string{nil, {"cpus", "accelerators", "local-link-connection", "parse-lldp"}} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			f := start(t, func(c *conductor.Config) {
				c.InspectionHooks, c.Log = hooks, slog.New(slog.NewTextHandler(&log, nil))
				waitsForAgent(c)
			})
			n := f.node(states.Manageable)
			_, err := f.CreateObject(f.ctx, &conductor.Port{
				ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: first, LocalLinkConnection: map[string]any{"port_id": "mine"},
			})
			require.NoError(t, err)
			f.request(n, "inspect")
			f.settle(n)
			n, inventory, ports := f.sends(n, data)
			if hooks == nil {
				require.NotContains(t, n.Properties, "cpus")
				require.NotContains(t, inventory.PluginData, "parsed_lldp")
				require.Equal(t, map[string]any{"port_id": "mine"}, ports[first].LocalLinkConnection)
				require.NotContains(t, log.String(), "inspection hook")
				return
			}
			text, err := json.Marshal(n.Properties)
			require.NoError(t, err)
			require.JSONEq(t, `{"cpu_arch": "x86_64", "cpus": 8, "accelerators": [{"vendor_id": "10de", "device_id": "1eb8", "type": "GPU",
				"device_info": "NVIDIA Corporation Tesla T4", "pci_address": "0000:3b:00.0"}]}`, string(text))
			require.Equal(t, map[string]any{
				"eth0": map[string]any{"switch_chassis_id": "88:5a:92:ec:54:59", "switch_port_id": "Ethernet1/18"},
				"eth1": map[string]any{"switch_port_id": "Ethernet1/19"},
			}, inventory.PluginData["parsed_lldp"])
			require.Equal(t, map[string]any{"port_id": "mine", "switch_id": "88:5a:92:ec:54:59"}, ports[first].LocalLinkConnection)
			require.Empty(t, ports[second].LocalLinkConnection)
			require.Contains(t, log.String(), "LLDP data of the interface eth1, type 5: the text is not UTF-8")
		})
	}
}

func TestOptionalHooksHandleTheDataOfABMC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		byBMC := outOfBand(states.Latest(), func(ctx context.Context, task *conductor.Task) error {
			return task.StoreInspection(ctx, map[string]any{
				"cpu": map[string]any{"count": json.Number("16")},
				"interfaces": []any{map[string]any{
					"name": "NIC1", "mac_address": "52:54:00:00:00:0a", "lldp": []any{[]any{json.Number("5"), "61"}},
				}},
			}, map[string]any{}, nil, func(n *conductor.Node) { n.Properties = map[string]any{"cpu_arch": "x86_64"} })
		})
		f := start(t, func(c *conductor.Config) { byBMC(c); c.InspectionHooks = []string{"cpus", "parse-lldp"} })
		n := f.node(states.Manageable)
		f.request(n, "inspect")
		n, inventory, _ := f.inspected(f.settle(n))
		require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
		require.Equal(t, map[string]any{"cpu_arch": "x86_64", "cpus": json.Number("16")}, n.Properties)
		require.Equal(t, map[string]any{"NIC1": map[string]any{"switch_system_name": "a"}}, inventory.PluginData["parsed_lldp"])
	})
}
