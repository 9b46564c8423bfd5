// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// waitsForAgent makes inspections wait for an agent.
var waitsForAgent = withReal(map[states.Work][]conductor.Step{states.WorkInspect: {
	{
		Interface: "inspect",
		Step:      "inspect_hardware",
		Priority:  100,
		Run:       func(context.Context, *conductor.Task) error { return conductor.ErrWait },
	},
}})

// sends continues the inspection of a node with an agent's data in JSON, and returns the node, its inventory and its
// ports by address.
func (f *fleet) sends(n *conductor.Node, data string) (*conductor.Node, *conductor.Inventory, map[string]*conductor.Port) {
	f.t.Helper()
	var given map[string]any
	require.NoError(f.t, json.Unmarshal([]byte(data), &given))
	kept := maps.Clone(given)
	_, _, err := f.ContinueInspection(f.ctx, agentAt, given, n.UUID, false)
	require.NoError(f.t, err)
	require.Equal(f.t, kept, given, "the caller's map")
	n = f.settle(n)
	require.Equal(f.t, states.Manageable, n.ProvisionState, n.LastError)
	return f.inspected(n)
}

func (f *fleet) inspected(n *conductor.Node) (*conductor.Node, *conductor.Inventory, map[string]*conductor.Port) {
	f.t.Helper()
	o, err := f.Object(f.ctx, conductor.KindInventory, n.UUID)
	require.NoError(f.t, err)
	return n, o.(*conductor.Inventory), f.portsOf(n)
}

// portsOf returns the ports of a node by their addresses.
func (f *fleet) portsOf(n *conductor.Node) map[string]*conductor.Port {
	f.t.Helper()
	objects, err := f.ObjectsOf(f.ctx, conductor.KindPort, n.UUID)
	require.NoError(f.t, err)
	ports := map[string]*conductor.Port{}
	for _, o := range objects {
		ports[o.(*conductor.Port).Address] = o.(*conductor.Port)
	}
	return ports
}

func TestTheDataOfAnAgentAreStoredAndGivePorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, waitsForAgent)
		n := f.inspecting(map[string]any{"ipmi_address": "192.0.2.1"}, "52:54:00:00:00:0a")
		got, inventory, ports := f.sends(n, `{
			"inventory": {
				"interfaces": [
					{"name": "", "mac_address": "52:54:00:00:00:01"}, {"name": "ib0", "mac_address": "52:54:00:00:00:00:00:02"},
					{"name": "eth0", "mac_address": "52:54:00:00:00:0A"}, {"name": "eth1", "mac_address": "52:54:00:00:00:0b"},
					{"name": "lo", "mac_address": "52:54:00:00:00:03"}, {"name": "lo6", "mac_address": "52:54:00:00:00:04", "ipv6_address": "::1"},
					{"name": "eth2", "mac_address": "52:54:00:00:00:0c", "ipv4_address": "192.0.2.7"}
				],
				"cpu": {"architecture": ""}
			},
			"logs": "bG9n", "root_disk": "/dev/sda"
		}`)
		require.NotContains(t, got.Properties, "cpu_arch", "the agent does not know it")
		require.Len(t, inventory.Inventory["interfaces"], 7)
		require.NotContains(t, inventory.Inventory["interfaces"].([]any)[2], "pxe_enabled", "the inventory is as the agent sent it")
		eth0 := map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:0A", "pxe_enabled": false}
		eth1 := map[string]any{"name": "eth1", "mac_address": "52:54:00:00:00:0b", "pxe_enabled": false}
		eth2 := map[string]any{"name": "eth2", "mac_address": "52:54:00:00:00:0c", "ipv4_address": "192.0.2.7", "pxe_enabled": false}
		require.Equal(t, map[string]any{
			"root_disk":        "/dev/sda",
			"valid_interfaces": map[string]any{"eth0": eth0, "eth1": eth1, "eth2": eth2},
			"all_interfaces": map[string]any{
				"eth0": eth0, "eth1": eth1, "eth2": eth2,
				"lo":  map[string]any{"name": "lo", "mac_address": "52:54:00:00:00:03", "pxe_enabled": false},
				"lo6": map[string]any{"name": "lo6", "mac_address": "52:54:00:00:00:04", "ipv6_address": "::1", "pxe_enabled": false},
			},
			"macs": []any{"52:54:00:00:00:0a", "52:54:00:00:00:0b", "52:54:00:00:00:0c"},
		}, inventory.PluginData)
		require.Len(t, ports, 3)
		for _, address := range []string{"52:54:00:00:00:0a", "52:54:00:00:00:0b", "52:54:00:00:00:0c"} {
			require.Equal(t, new(bool), ports[address].PXEEnabled, "no interface has booted the agent")
		}
		require.Equal(t, new(bool), ports["52:54:00:00:00:0c"].IsSmartNIC)
	})
}

func TestThePortThatHasBootedTheAgentIsMarked(t *testing.T) {
	for name, boot := range map[string]string{
		"as PXELINUX writes it": "01-52-54-00-00-00-0B", "as an address": "52:54:00:00:00:0B",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, waitsForAgent)
				n := f.inspecting(map[string]any{"ipmi_address": "192.0.2.1"}, "52:54:00:00:00:0a")
				data := `{"inventory": {
					"interfaces": [
						{"name": "eth0", "mac_address": "52:54:00:00:00:0A"}, {"name": "eth1", "mac_address": "52:54:00:00:00:0b", "client_id": "ff:00"},
						{"name": "eth2", "mac_address": "52:54:00:00:00:0c"}
					],
					"boot": {"pxe_interface": "` + boot + `"}, "cpu": {"architecture": "aarch64"}
				}}`
				yes, no := true, false
				got, inventory, ports := f.sends(n, data)
				require.Equal(t, "aarch64", got.Properties["cpu_arch"])
				require.Equal(t, []any{"52:54:00:00:00:0b"}, inventory.PluginData["macs"])
				require.Len(t, inventory.PluginData["all_interfaces"], 3)
				require.Len(t, inventory.PluginData["valid_interfaces"], 1)
				require.Len(t, ports, 2, "no port is created for another interface")
				require.Equal(t, &no, ports["52:54:00:00:00:0a"].PXEEnabled)
				require.Equal(t, &yes, ports["52:54:00:00:00:0b"].PXEEnabled)
				require.Equal(t, "ff:00", ports["52:54:00:00:00:0b"].Extra["client-id"])

				// The same data once more change no port.
				f.request(n, "inspect")
				f.settle(n)
				_, _, again := f.sends(n, data)
				require.Equal(t, ports, again)
			})
		})
	}
}

func TestAPortThatHasBootedTheAgentIsNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, waitsForAgent)
		n := f.inspecting(map[string]any{"ipmi_address": "192.0.2.1"}, "52:54:00:00:00:0a")
		_, _, ports := f.sends(n, `{"inventory": {
			"interfaces": [{"name": "eth0", "mac_address": "52:54:00:00:00:0a"}], "boot": {"pxe_interface": "52:54:00:00:00:0a"}
		}}`)
		require.Nil(t, ports["52:54:00:00:00:0a"].PXEEnabled, "which stands for true")
		require.Nil(t, ports["52:54:00:00:00:0a"].UpdatedAt)
	})
}

func TestAnInspectionEndsAlthoughAPortIsDeletedMeanwhile(t *testing.T) {
	broken := errors.New("the store does not answer")
	for name, want := range map[string]error{"deleted": nil, "not readable": broken} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &interrupted{}
				f := start(t, func(c *conductor.Config) { c.Store = store; waitsForAgent(c) })
				n := f.inspecting(map[string]any{"ipmi_address": "192.0.2.1"}, "52:54:00:00:00:0a")
				ports, err := f.ObjectsOf(f.ctx, conductor.KindPort, n.UUID)
				require.NoError(t, err)
				store.beforeGet(conductor.KindPort, func() error {
					if want == nil {
						return f.DeleteObject(f.ctx, conductor.KindPort, ports[0].Meta().UUID)
					}
					return want
				})
				data := map[string]any{"inventory": map[string]any{"interfaces": []any{map[string]any{
					"name":        "eth0",
					"mac_address": "52:54:00:00:00:0a",
				}}}}
				_, _, err = f.ContinueInspection(f.ctx, agentAt, data, n.UUID, false)
				require.ErrorIs(t, err, want)
				require.Equal(t, want == nil, f.settle(n).ProvisionState == states.Manageable)
			})
		})
	}
}

// outOfBand makes inspections store results, as inspections by a BMC do.
func outOfBand(series states.Series, store func(context.Context, *conductor.Task) error) func(*conductor.Config) {
	return func(c *conductor.Config) {
		c.Table = series.Table()
		step := conductor.Step{Interface: "inspect", Step: "inspect_hardware", Priority: 100, Run: store}
		withReal(map[states.Work][]conductor.Step{states.WorkInspect: {step}})(c)
	}
}

func TestAnInspectionOutOfBandReplacesTheInventoryAndAddsPorts(t *testing.T) {
	for series, test := range map[states.Series]struct {
		inventory, hooks bool
		ports            [2]int // of each inspection
	}{
		states.Antelope: {false, false, [2]int{1, 2}},
		states.Bobcat:   {true, false, [2]int{1, 2}},
		states.Epoxy:    {true, false, [2]int{1, 2}},
		states.Flamingo: {true, true, [2]int{1, 1}},
	} {
		t.Run(series.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				count := 0
				f := start(t, outOfBand(series, func(ctx context.Context, task *conductor.Task) error {
					inventory := map[string]any{
						"count":      json.Number([]string{"1", "2"}[count]),
						"interfaces": []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:0d"}},
					}
					macs := [][]string{{"52:54:00:00:00:0a", "52:54:00:00:00:0b"}, {"52:54:00:00:00:0b", "52:54:00:00:00:0c"}}[count]
					count++
					return task.StoreInspection(ctx, inventory, map[string]any{"run": inventory["count"]}, macs, func(*conductor.Node) {})
				}))
				other := f.node(states.Manageable)
				_, err := f.CreateObject(f.ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: other.UUID}, Address: "52:54:00:00:00:0a"})
				require.NoError(t, err)
				n := f.node(states.Manageable)
				for i, run := range []json.Number{"1", "2"} {
					f.request(n, "inspect")
					got := f.settle(n)
					require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
					ports, err := f.ObjectsOf(f.ctx, conductor.KindPort, n.UUID)
					require.NoError(t, err)
					require.Len(t, ports, test.ports[i], "a port of another node stays that node's")
					require.Equal(t, test.hooks, ports[0].(*conductor.Port).PXEEnabled != nil)
					o, err := f.Object(f.ctx, conductor.KindInventory, n.UUID)
					if !test.inventory {
						require.ErrorIs(t, err, conductor.NotFound)
						continue
					}
					require.NoError(t, err)
					require.Equal(t, run, o.(*conductor.Inventory).Inventory["count"])
					require.Equal(t, run, o.(*conductor.Inventory).PluginData["run"])
				}
			})
		})
	}
}

func TestAnInspectionThatCannotBeStoredFails(t *testing.T) {
	broken := errors.New("the store does not answer")
	for _, series := range []states.Series{states.Bobcat, states.Flamingo} {
		for _, kind := range []conductor.Kind{conductor.KindInventory, conductor.KindPort} {
			t.Run(series.String()+" "+string(kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := start(t, func(c *conductor.Config) {
						c.Store = &uncreatable{kind: kind, err: broken}
						outOfBand(series, func(ctx context.Context, task *conductor.Task) error {
							inventory := map[string]any{"interfaces": []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:0a"}}}
							return task.StoreInspection(ctx, inventory, map[string]any{}, []string{"52:54:00:00:00:0a"}, func(*conductor.Node) {})
						})(c)
					})
					n := f.node(states.Manageable)
					f.request(n, "inspect")
					got := f.settle(n)
					require.Equal(t, states.InspectFail, got.ProvisionState)
					require.Contains(t, got.LastError, "the store does not answer")
					ports, err := f.ObjectsOf(f.ctx, conductor.KindPort, n.UUID)
					require.NoError(t, err)
					hooksFirst := series >= states.Flamingo && kind == conductor.KindInventory // as in Ironic, hooks make the ports
					require.Equal(t, hooksFirst, len(ports) == 1)
				})
			})
		}
	}
}

// uncreatable is a store in which records of one kind cannot be created.
type uncreatable struct {
	conductor.Memory
	kind conductor.Kind
	err  error
}

func (s *uncreatable) Create(ctx context.Context, r conductor.Record) (int64, error) {
	if r.Kind == s.kind {
		return 0, s.err
	}
	return s.Memory.Create(ctx, r)
}
