// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

func TestInspectionRulesChangeTheNodeItsPortsAndTheData(t *testing.T) {
	const mac = "52:54:00:00:00:0a"
	for name, last := range map[string]map[string]any{
		"passes": {"op": "log", "args": map[string]any{"msg": "the serial number is {inventory[serial]}", "level": "warning"}},
		"fails":  {"op": "fail", "args": map[string]any{"msg": "too small"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			f := start(t, func(c *conductor.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)); waitsForAgent(c) })
			n := f.inspecting(nil, mac)
			ports, err := f.ObjectsOf(f.ctx, conductor.KindPort, n.UUID)
			require.NoError(t, err)
			port := ports[0].Meta().UUID
			_, err = f.CreateObject(f.ctx, &conductor.InspectionRule{Phase: "main", Actions: []map[string]any{
				{"op": "set-attribute", "args": map[string]any{"path": "extra/arch", "value": "{node.properties[cpu_arch]}"}},
				{"op": "set-attribute", "args": map[string]any{"path": "description", "value": ""}},
				{"op": "set-attribute", "args": map[string]any{"path": "owner", "value": nil}},
				{"op": "set-attribute", "args": map[string]any{"path": "automated_clean", "value": false}},
				{"op": "set-attribute", "args": map[string]any{"path": "name", "value": "{inventory[serial]}"}},
				{"op": "add-trait", "args": map[string]any{"name": "CUSTOM_A"}},
				{"op": "set-plugin-data", "args": map[string]any{"path": "found", "value": "{inventory[serial]}"}},
				{"op": "set-port-attribute", "args": map[string]any{"port_id": port, "path": "extra/a", "value": 1}},
				last,
			}})
			require.NoError(t, err)
			data := inventoryOf(mac, map[string]any{"cpu": map[string]any{"architecture": "x86_64"}, "serial": "s1"})
			_, _, err = f.ContinueInspection(f.ctx, agentAt, data, n.UUID, false)
			require.NoError(t, err)
			got := f.settle(n)
			require.Equal(t, "x86_64", got.Extra["arch"])
			require.Equal(t, "x86_64", got.Properties["cpu_arch"])
			require.Equal(t, "s1", got.Name)
			require.Empty(t, got.Description)
			require.Contains(t, got.Empty, "description")
			require.False(t, *got.AutomatedClean)
			require.Equal(t, []string{"CUSTOM_A"}, got.Traits)
			ports, err = f.ObjectsOf(f.ctx, conductor.KindPort, n.UUID)
			require.NoError(t, err)
			require.Contains(t, ports[0].(*conductor.Port).Extra, "a")
			stored, err := f.Object(f.ctx, conductor.KindInventory, n.UUID)
			if name == "fails" {
				require.Equal(t, states.InspectFail, got.ProvisionState)
				require.Contains(t, got.LastError, "Failed to finish inspection: Failed to inspect hardware. Reason: too small")
				require.ErrorIs(t, err, conductor.NotFound)
				return
			}
			require.NoError(t, err)
			require.Equal(t, states.Manageable, got.ProvisionState)
			require.Equal(t, "s1", stored.(*conductor.Inventory).PluginData["found"])
			require.Contains(t, log.String(), `level=WARN msg="inspection rule" node=`+n.UUID+` message="the serial number is s1"`)
		})
	}
}

func TestARuleCannotGiveANodeTheNameOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, waitsForAgent)
		n := f.inspecting(nil, "52:54:00:00:00:0a")
		_, err := f.CreateNode(f.ctx, &conductor.Node{Driver: n.Driver, Name: "taken", ProvisionState: states.Enroll})
		require.NoError(t, err)
		_, err = f.CreateObject(f.ctx, &conductor.InspectionRule{Phase: "main", Actions: []map[string]any{
			{"op": "set-attribute", "args": []any{"name", "taken"}},
		}})
		require.NoError(t, err)
		_, _, err = f.ContinueInspection(f.ctx, agentAt, inventoryOf("52:54:00:00:00:0a", nil), n.UUID, false)
		require.NoError(t, err)
		got := f.settle(n)
		require.Equal(t, states.InspectFail, got.ProvisionState)
		require.Contains(t, got.LastError, "Failed to set attribute name with value taken")
		require.NotEqual(t, "taken", got.Name)
	})
}

func TestInspectionRulesApplySince2025_1(t *testing.T) {
	for series, want := range map[states.Series][]string{states.Dalmatian: nil, states.Epoxy: {"CUSTOM_A"}} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.Table = series.Table(); waitsForAgent(c) })
			n := f.inspecting(nil, "52:54:00:00:00:0a")
			for phase, trait := range map[string]string{"main": "CUSTOM_A", "": "CUSTOM_B"} { // a patch may remove the phase
				_, err := f.CreateObject(f.ctx, &conductor.InspectionRule{Phase: phase, Actions: []map[string]any{
					{"op": "add-trait", "args": []any{trait}},
				}})
				require.NoError(t, err)
			}
			_, _, err := f.ContinueInspection(f.ctx, agentAt, inventoryOf("52:54:00:00:00:0a", nil), n.UUID, false)
			require.NoError(t, err)
			got := f.settle(n)
			require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
			require.Equal(t, want, got.Traits, series)
		})
	}
}

func TestInspectionRulesApplyToAnInspectionOutOfBandSince2025_2(t *testing.T) {
	for series, want := range map[states.Series]any{states.Epoxy: nil, states.Flamingo: "large, 7 disks"} {
		for fails, end := range map[bool]states.State{false: states.Manageable, true: states.InspectFail} {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, outOfBand(series, func(ctx context.Context, task *conductor.Task) error {
					inventory := map[string]any{
						"disks":      json.Number("7"),
						"interfaces": []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:0a"}},
					}
					return task.StoreInspection(ctx, inventory, map[string]any{}, nil, func(n *conductor.Node) {
						n.Properties = map[string]any{"size": "large"}
					})
				}))
				rule := &conductor.InspectionRule{Phase: "main", Actions: []map[string]any{
					{"op": "set-attribute", "args": []any{"extra/found", "{node.properties[size]}, {inventory[disks]} disks"}},
				}}
				if fails {
					rule.Actions = append(rule.Actions, map[string]any{"op": "fail", "args": []any{"too large"}})
				}
				_, err := f.CreateObject(f.ctx, rule)
				require.NoError(t, err)
				n := f.node(states.Manageable)
				f.request(n, "inspect")
				got := f.settle(n)
				if series < states.Flamingo {
					end = states.Manageable
				}
				require.Equal(t, end, got.ProvisionState, got.LastError)
				require.Equal(t, "large", got.Properties["size"])
				require.Equal(t, want, got.Extra["found"], series)
				if end == states.InspectFail {
					require.Contains(t, got.LastError, "too large")
				}
			})
		}
	}
}

func TestInspectionRulesTellNullFromEmptyTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, waitsForAgent)
		yes := true
		n := f.inspecting(nil, "52:54:00:00:00:0a")
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error {
			n.Owner, n.AutomatedClean = "me", &yes
			n.SetEmpty("description", true)
			return nil
		})
		require.NoError(t, err)
		port, err := f.CreateObject(f.ctx, &conductor.Port{
			ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:00:00:0b", IsSmartNIC: &yes,
		})
		require.NoError(t, err)
		_, err = f.CreateObject(f.ctx, &conductor.InspectionRule{Phase: "main", Actions: []map[string]any{
			{"op": "set-attribute", "args": []any{"extra/was", "{node.owner}, <{node.description}>, <{node.lessee}>"}},
			{"op": "set-attribute", "args": []any{"owner", nil}},
			{"op": "set-attribute", "args": []any{"automated_clean", nil}},
			{"op": "set-port-attribute", "args": []any{port.Meta().UUID, "is_smartnic", nil}},
		}})
		require.NoError(t, err)
		_, _, err = f.ContinueInspection(f.ctx, agentAt, inventoryOf("52:54:00:00:00:0a", nil), n.UUID, false)
		require.NoError(t, err)
		got := f.settle(n)
		require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
		require.Equal(t, "me, <>, <None>", got.Extra["was"])
		require.Empty(t, got.Owner)
		require.Equal(t, []string{"description"}, got.Empty, "the owner is null")
		require.Nil(t, got.AutomatedClean)
		require.Nil(t, f.portsOf(n)["52:54:00:00:00:0b"].IsSmartNIC)
	})
}

func TestARuleChangesNoPortThatIsDeletedMeanwhile(t *testing.T) {
	broken := errors.New("the store does not answer")
	for name, want := range map[string]error{"deleted": nil, "not writable": broken} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &interrupted{}
				f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true; waitsForAgent(c) })
				n := f.inspecting(nil, "52:54:00:00:00:0a")
				port := f.portsOf(n)["52:54:00:00:00:0a"].UUID
				_, err := f.CreateObject(f.ctx, &conductor.InspectionRule{Phase: "main", Actions: []map[string]any{
					{"op": "set-port-attribute", "args": []any{port, "extra/a", 1}},
				}})
				require.NoError(t, err)
				store.beforeUpdate(conductor.KindPort, func() error { // the hooks change nothing
					if want == nil {
						return f.DeleteObject(f.ctx, conductor.KindPort, port)
					}
					return want
				})
				data := inventoryOf("", map[string]any{
					"interfaces": []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:0a"}},
					"boot":       map[string]any{"pxe_interface": "52:54:00:00:00:0a"},
				})
				_, _, err = f.ContinueInspection(f.ctx, agentAt, data, n.UUID, false)
				require.ErrorIs(t, err, want)
				_, pending := store.update.Load(conductor.KindPort)
				require.False(t, pending, "the rule has written the port")
				require.Equal(t, want == nil, f.settle(n).ProvisionState == states.Manageable)
				require.Equal(t, want == nil, len(f.portsOf(n)) == 0)
			})
		})
	}
}
