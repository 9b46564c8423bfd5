// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// inspecting returns a node with a port that waits for an agent's inspection.
func (f *fleet) inspecting(info map[string]any, mac string) *conductor.Node {
	f.t.Helper()
	n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Manageable, DriverInfo: info})
	require.NoError(f.t, err)
	_, err = f.CreateObject(f.ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: mac})
	require.NoError(f.t, err)
	f.request(n, "inspect")
	n = f.settle(n)
	require.Equal(f.t, states.InspectWait, n.ProvisionState, n.LastError)
	return n
}

func TestAnInspectionFindsTheNodeItsAddressesAgreeOn(t *testing.T) {
	nic := func(mac string) string { return `{"name": "eth0", "mac_address": "52:54:00:00:00:` + mac + `"}` }
	for name, test := range map[string]struct {
		uuid      string // "a" or "b" for the UUID of the node
		inventory string
		want      string // "a", "b" or "" for neither
	}{
		"by a port":                         {"", `"interfaces": [` + nic("0A") + `]`, "a"},
		"by the UUID":                       {"a", `"interfaces": [` + nic("0c") + `]`, "a"},
		"by the UUID and a port":            {"b", `"interfaces": [` + nic("0b") + `]`, "b"},
		"the UUID of another node":          {"b", `"interfaces": [` + nic("0a") + `]`, ""},
		"ports of two nodes":                {"", `"interfaces": [` + nic("0a") + `, ` + nic("0b") + `]`, ""},
		"by the BMC":                        {"", `"interfaces": [` + nic("0c") + `], "bmc_address": "192.0.2.1"`, "a"},
		"by the BMC's address of version 6": {"", `"interfaces": [` + nic("0c") + `], "bmc_address": null, "bmc_v6address": "2001:db8::2"`, "b"},
		"a port and the BMC":                {"", `"interfaces": [` + nic("0b") + `], "bmc_v6address": "2001:db8::2"`, "b"},
		"a port and another BMC":            {"", `"interfaces": [` + nic("0b") + `], "bmc_address": "192.0.2.1"`, ""},
		"a port and no BMC":                 {"", `"interfaces": [` + nic("0b") + `], "bmc_address": "192.0.2.9", "bmc_v6address": "::/0"`, "b"},
		"by the BMC's address with a port":  {"", `"interfaces": [` + nic("0c") + `], "bmc_address": "192.0.2.3"`, "c"},
		"an unspecified address":            {"", `"interfaces": [` + nic("0c") + `], "bmc_address": "0.0.0.0"`, ""},
		"nothing agrees":                    {"", `"interfaces": [` + nic("0c") + `], "bmc_address": "127.0.0.1"`, ""},
		"the BMC of two nodes":              {"", `"interfaces": [` + nic("0c") + `], "bmc_address": "192.0.2.5"`, ""},
		"the BMC of two nodes, and a port":  {"", `"interfaces": [` + nic("0f") + `], "bmc_address": "192.0.2.5"`, "f"},
		"by the BMC's address in brackets":  {"", `"interfaces": [` + nic("0c") + `], "bmc_v6address": "2001:db8::7"`, "g"},
		"by an address of the BMC's name":   {"", `"interfaces": [` + nic("0c") + `], "bmc_address": "192.0.2.8"`, "b"},
		"by the BMC, as an earlier release": {"", `"interfaces": [` + nic("0c") + `], "bmc_address": "::ffff:192.0.2.7"`, "h"},
		"no node":                           {"x", `"interfaces": [` + nic("0a") + `]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, withReal(map[states.Work][]conductor.Step{states.WorkInspect: {
					{
						Interface: "inspect",
						Step:      "inspect_hardware",
						Priority:  100,
						Run:       func(context.Context, *conductor.Task) error { return conductor.ErrWait },
					},
				}}))
				f.SetResolver(func(ctx context.Context, network, host string) ([]netip.Addr, error) {
					if host == "bmc.example" {
						return []netip.Addr{netip.MustParseAddr("::ffff:192.0.2.8")}, nil
					}
					return net.DefaultResolver.LookupNetIP(ctx, network, host) // of an address
				})
				others := map[string]any{"ipmi_address": "192.0.2.3:623", "local_address": "0.0.0.0"}
				for i := range 50 {
					others[fmt.Sprint("option", i)] = "192.0.2.9"
				}
				nodes := map[string]*conductor.Node{
					"a": f.inspecting(map[string]any{"redfish_address": "https://192.0.2.1:8443/redfish/v1", "local_address": "127.0.0.1"},
						"52:54:00:00:00:0a"),
					"b": f.inspecting(map[string]any{"ipmi_address": "2001:db8::2", "redfish_address": "https://bmc.example"}, "52:54:00:00:00:0b"),
					"c": f.inspecting(others, "52:54:00:00:00:0d"),
					"e": f.inspecting(map[string]any{"redfish_address": "https://192.0.2.5"}, "52:54:00:00:00:0e"),
					"f": f.inspecting(map[string]any{"redfish_address": "https://192.0.2.5"}, "52:54:00:00:00:0f"),
					"h": f.inspecting(map[string]any{"ipmi_address": "192.0.2.7"}, "52:54:00:00:00:11"),
					"g": f.inspecting(map[string]any{"redfish_address": "https://[2001:db8::7]:8443"}, "52:54:00:00:00:10"),
				}
				require.Equal(t, []any{"2001:db8::2", "192.0.2.8"}, nodes["b"].DriverInternalInfo["lookup_bmc_addresses"])
				_, err := f.UpdateNode(f.ctx, nodes["h"].UUID, func(n *conductor.Node) error {
					delete(n.DriverInternalInfo, "lookup_bmc_addresses") // which an earlier release does not note
					return nil
				})
				require.NoError(t, err)
				uuid := test.uuid
				if n := nodes[uuid]; n != nil {
					uuid = n.UUID
				}
				var data map[string]any
				require.NoError(t, json.Unmarshal([]byte(`{"inventory": {`+test.inventory+`}}`), &data))
				n, _, err := f.ContinueInspection(f.ctx, agentAt, data, uuid, false)
				if test.want == "" {
					require.ErrorIs(t, err, conductor.NotFound)
					for _, n := range nodes {
						require.Equal(t, states.InspectWait, f.settle(n).ProvisionState)
					}
					return
				}
				require.NoError(t, err)
				require.Equal(t, nodes[test.want].UUID, n.UUID)
				require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
			})
		})
	}
}

func TestAnAbortedInspectionForgetsTheAddressesOfTheBMC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, withReal(map[states.Work][]conductor.Step{states.WorkInspect: {{
			Interface: "inspect", Step: "inspect_hardware", Priority: 100, Abortable: true,
			Run: func(context.Context, *conductor.Task) error { return conductor.ErrWait },
		}}}))
		n := f.inspecting(map[string]any{"ipmi_address": "192.0.2.7"}, "52:54:00:00:00:0a")
		require.Contains(t, n.DriverInternalInfo, "lookup_bmc_addresses")
		f.request(n, "abort")
		n = f.settle(n)
		require.Equal(t, states.InspectFail, n.ProvisionState)
		require.NotContains(t, n.DriverInternalInfo, "lookup_bmc_addresses")
	})
}
