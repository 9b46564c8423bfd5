// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// inventoryOf returns inspection data with one network interface and a BMC.
func inventoryOf(mac string, more map[string]any) map[string]any {
	inventory := map[string]any{}
	if mac != "" {
		inventory["interfaces"] = []any{map[string]any{"name": "eth0", "mac_address": mac, "client_id": "ff:00"}}
	}
	for key, value := range more {
		inventory[key] = value
	}
	return map[string]any{"inventory": inventory}
}

func TestInspectionDataNameTheirNode(t *testing.T) {
	const mac = "52:54:00:00:00:0a"
	for name, test := range map[string]struct {
		byUUID bool
		mac    string
		more   map[string]any
		want   error
	}{
		"by nothing":                        {false, "", nil, conductor.Invalid},
		"by the UUID alone":                 {true, "", nil, nil},
		"by an address":                     {false, mac, nil, nil},
		"by the BMC's address":              {false, "", map[string]any{"bmc_address": "192.0.2.1"}, nil},
		"by the BMC's address of version 6": {false, "", map[string]any{"bmc_v6address": "2001:db8::1"}, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, waitsForAgent)
			n := f.inspecting(map[string]any{"ipmi_address": "192.0.2.1", "redfish_address": "2001:db8::1"}, mac)
			uuid := ""
			if test.byUUID {
				uuid = n.UUID
			}
			_, _, err := f.ContinueInspection(f.ctx, agentAt, inventoryOf(test.mac, test.more), uuid, false)
			require.ErrorIs(t, err, test.want, name)
			require.Equal(t, test.want != nil, f.settle(n).ProvisionState == states.InspectWait, "%s: the data end the inspection", name)
		})
	}
}

func TestAnErrorOfTheRamdiskFailsTheInspection(t *testing.T) {
	for value, want := range map[any]states.State{nil: states.Manageable, "": states.Manageable, "no disk": states.InspectFail} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, waitsForAgent)
			n := f.inspecting(nil, "52:54:00:00:00:0a")
			data := inventoryOf("52:54:00:00:00:0a", nil)
			data["error"] = value
			_, _, err := f.ContinueInspection(f.ctx, agentAt, data, n.UUID, false)
			require.NoError(t, err)
			got := f.settle(n)
			require.Equal(t, want, got.ProvisionState, value)
			if want == states.InspectFail {
				require.Contains(t, got.LastError, "Ramdisk reported error: no disk")
				all, err := f.History(f.ctx, n.UUID)
				require.NoError(t, err)
				require.Len(t, all, 1)
				require.Equal(t, "introspection", all[0].EventType)
				require.Equal(t, got.LastError, all[0].Event)
				require.Equal(t, states.Inspecting, all[0].State)
			}
		})
	}
}

func TestAnAgentIsGivenItsTokenOnlyWithALookup(t *testing.T) {
	for _, lookup := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.FastTrack = true; waitsForAgent(c) })
			n := f.inspecting(nil, "52:54:00:00:00:0a")
			found, token, err := f.ContinueInspection(f.ctx, agentAt, inventoryOf("52:54:00:00:00:0a", nil), n.UUID, lookup)
			require.NoError(t, err)
			require.Equal(t, lookup, token != "")
			require.Equal(t, token, found.Agent.Token, "the node is returned as the lookup has left it")
			got := f.settle(n)
			require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
			require.Equal(t, token, got.Agent.Token, "by fast track the agent stays known, since its data are a sign of life")
		})
	}
	synctest.Test(t, func(t *testing.T) {
		store, broken := &interrupted{}, errors.New("the store does not answer")
		f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true; waitsForAgent(c) })
		n := f.inspecting(nil, "52:54:00:00:00:0a")
		store.beforeUpdate(conductor.KindNode, func() error { return broken })
		_, _, err := f.ContinueInspection(f.ctx, agentAt, inventoryOf("52:54:00:00:00:0a", nil), n.UUID, true)
		require.ErrorIs(t, err, broken)
		require.Equal(t, states.InspectWait, f.settle(n).ProvisionState)
		_, err = f.Object(f.ctx, conductor.KindInventory, n.UUID)
		require.ErrorIs(t, err, conductor.NotFound, "nothing is stored")
	})
}

func TestEachPortOfTheNodeIsComparedWithTheData(t *testing.T) {
	const first, second, last = "52:54:00:00:00:0a", "52:54:00:00:00:0b", "52:54:00:00:00:0c"
	synctest.Test(t, func(t *testing.T) {
		f := start(t, waitsForAgent)
		n := f.node(states.Manageable)
		for i, mac := range []string{first, second, last} {
			_, err := f.CreateObject(f.ctx, &conductor.Port{
				ObjectMeta: conductor.ObjectMeta{UUID: "00000000-0000-4000-8000-00000000000" + string(rune('1'+i)), NodeUUID: n.UUID},
				Address:    mac, PXEEnabled: new(bool), Extra: map[string]any{"rack": "7"},
			})
			require.NoError(t, err)
		}
		before := f.portsOf(n)
		f.request(n, "inspect")
		f.settle(n)
		_, _, ports := f.sends(n, `{"inventory": {"interfaces": [
			{"name": "eth0", "mac_address": "`+first+`"}, {"name": "eth1", "mac_address": "`+last+`", "client_id": "ff:00"},
			{"name": "bond0", "mac_address": "`+last+`"}, {"name": "team0", "mac_address": "`+last+`", "client_id": ""}
		]}}`)
		require.Equal(t, before[first], ports[first], "which is as the data say")
		require.Equal(t, before[second], ports[second])
		require.Equal(t, map[string]any{"rack": "7", "client-id": "ff:00"}, ports[last].Extra)
		require.Equal(t, map[string]any{"rack": "7"}, before[last].Extra, "an object that was read does not change")
	})
}

// An agent's data need not be decoded a second time: the stored ones are no JSON object here, which none would read.
func TestAnEarlierInventoryIsReplacedWithoutBeingDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &conductor.Memory{}
		f := start(t, func(c *conductor.Config) { c.Store = store; waitsForAgent(c) })
		n := f.inspecting(nil, "52:54:00:00:00:0a")
		_, first, _ := f.sends(n, `{"inventory": {"interfaces": [{"name": "a", "mac_address": "52:54:00:00:00:0a"}]}}`)
		r, err := store.Get(f.ctx, conductor.KindInventory, n.UUID)
		require.NoError(t, err)
		created, err := first.CreatedAt.MarshalText()
		require.NoError(t, err)
		r.Value = []byte(`{"created_at": "` + string(created) + `", "inventory": 5}`)
		_, err = store.Update(f.ctx, r)
		require.NoError(t, err)
		f.request(n, "inspect")
		f.settle(n)
		_, second, _ := f.sends(n, `{"inventory": {"interfaces": [{"name": "b", "mac_address": "52:54:00:00:00:0a"}]}}`)
		require.Contains(t, second.PluginData["all_interfaces"], "b")
		require.True(t, first.CreatedAt.Equal(second.CreatedAt))
		require.NotNil(t, second.UpdatedAt)
	})
}

func TestAnInspectionLeavesPXEEnabledAsItIsIfConfigured(t *testing.T) {
	const on, off = "52:54:00:00:00:0a", "52:54:00:00:00:0b"
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.KeepPXEEnabled = keep; waitsForAgent(c) })
			n := f.node(states.Manageable)
			yes := true
			for mac, enabled := range map[string]*bool{on: &yes, off: new(bool)} {
				_, err := f.CreateObject(f.ctx, &conductor.Port{
					ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: mac, PXEEnabled: enabled,
				})
				require.NoError(t, err)
			}
			f.request(n, "inspect")
			f.settle(n)
			_, _, ports := f.sends(n, `{"inventory": {"boot": {"pxe_interface": "`+off+`"}, "interfaces": [
				{"name": "eth0", "mac_address": "`+on+`", "client_id": "ff:00"}, {"name": "eth1", "mac_address": "`+off+`"}
			]}}`)
			require.Equal(t, keep, *ports[on].PXEEnabled)
			require.Equal(t, !keep, *ports[off].PXEEnabled)
			require.Equal(t, "ff:00", ports[on].Extra["client-id"])
		})
		synctest.Test(t, func(t *testing.T) { // The BMC does not know from which interface the machine has booted.
			byBMC := outOfBand(states.Latest(), func(ctx context.Context, task *conductor.Task) error {
				inventory := map[string]any{"interfaces": []any{map[string]any{"name": "eth0", "mac_address": on}}}
				return task.StoreInspection(ctx, inventory, map[string]any{}, nil, func(*conductor.Node) {})
			})
			f := start(t, func(c *conductor.Config) { c.KeepPXEEnabled = keep; byBMC(c) })
			n := f.node(states.Manageable)
			_, err := f.CreateObject(f.ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: on})
			require.NoError(t, err)
			f.request(n, "inspect")
			require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
			enabled := f.portsOf(n)[on].PXEEnabled
			require.Equal(t, keep, enabled == nil || *enabled)
		})
	}
}

func TestAnInspectionByTheBMCNeedsNoPluginData(t *testing.T) {
	for series := range states.AllSeries() {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, outOfBand(series, func(ctx context.Context, task *conductor.Task) error {
				inventory := map[string]any{"interfaces": []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:0a"}}}
				return task.StoreInspection(ctx, inventory, nil, nil, func(*conductor.Node) {})
			}))
			n := f.node(states.Manageable)
			f.request(n, "inspect")
			got := f.settle(n)
			require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
		})
	}
}
