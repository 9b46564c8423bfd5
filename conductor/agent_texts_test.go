// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/states"
)

// writes is a store that keeps the values of all writes.
type writes struct {
	conductor.Memory
	mu     sync.Mutex
	values []string
}

func (w *writes) add(r conductor.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.values = append(w.values, string(r.Value))
}

func (w *writes) Create(ctx context.Context, r conductor.Record) (int64, error) {
	w.add(r)
	return w.Memory.Create(ctx, r)
}

func (w *writes) Update(ctx context.Context, r conductor.Record) (int64, error) {
	w.add(r)
	return w.Memory.Update(ctx, r)
}

// requireClean requires that no text in a decoded JSON value has a control character, and returns the number of texts
// that have a mark.
func requireClean(t *testing.T, v any, mark string) (marked int) {
	switch v := v.(type) {
	case string:
		require.Equal(t, errtext.Clean(v), v)
		marked = strings.Count(v, mark)
	case []any:
		for _, item := range v {
			marked += requireClean(t, item, mark)
		}
	case map[string]any:
		for key, value := range v {
			marked += requireClean(t, key, mark) + requireClean(t, value, mark)
		}
	}
	return marked
}

// TestNoWriteHasAControlCharacterOfAnAgent runs an agent that puts ESC and U+202E into every text that it may choose.
//
// SECURITY.md: Control characters leave every text of an agent before it is stored.
func TestNoWriteHasAControlCharacterOfAnAgent(t *testing.T) {
	const dirty = "MARK\x1b[2J\u202e\u009b"
	synctest.Test(t, func(t *testing.T) {
		store := &writes{}
		m := startMachine(t, states.Manageable, func(c *conductor.Config) {
			c.Store = store
			waitsForAgent(c)
			hasRAID("agent", true)(c)
		})
		create := step("create_configuration", 0)
		create["interface"] = "raid"
		create["argsinfo"] = map[string]any{dirty: map[string]any{"description": dirty}}
		create["args"] = map[string]any{dirty: dirty}
		m.set(func(a *agentProgram) {
			a.steps["clean"] = append(a.steps["clean"], create)
			a.accepted = func(_ *http.Request, _ string, command map[string]any) {
				command["id"] = dirty
				if result, ok := command["command_result"].(map[string]any); ok && result["hardware_manager_version"] != nil {
					result["hardware_manager_version"] = map[string]any{dirty: []any{dirty}}
				}
			}
		})
		m.clean("raid.create_configuration")
		m.boot()
		m.set(func(a *agentProgram) {
			a.commands[len(a.commands)-1]["command_result"].(map[string]any)["clean_result"] = map[string]any{
				"logical_disks": []any{map[string]any{"is_root_volume": true, "raid_level": dirty, "size_gb": dirty,
					"root_device_hint": map[string]any{dirty: dirty}}}, dirty: dirty,
			}
		})
		m.end("SUCCEEDED", "")
		for _, end := range [][2]string{{"FAILED", dirty}, {dirty, ""}} {
			m.clean("deploy.burnin_cpu")
			m.boot()
			require.Equal(t, states.CleanFail, m.end(end[0], end[1]).ProvisionState)
			_, err := m.UpdateNode(m.ctx, m.n.UUID, func(n *conductor.Node) error { n.Maintenance = false; return nil })
			require.NoError(t, err)
			m.request(m.n, "manage")
			m.settle(m.n)
		}

		m.request(m.n, "inspect")
		m.settle(m.n)
		_, token, err := m.Lookup(m.ctx, agentAt, []string{"52:54:00:00:00:0a"}, m.n.UUID)
		require.NoError(t, err)
		require.NoError(t, m.Heartbeat(m.ctx, m.n.UUID, conductor.Heartbeat{
			From: agentAt, CallbackURL: "http://10.0.0.7:9999", AgentVersion: dirty, AgentToken: token, AgentStatusMessage: dirty,
		}))
		_, _, err = m.ContinueInspection(m.ctx, agentAt, map[string]any{
			"inventory": map[string]any{
				"interfaces": []any{map[string]any{"name": dirty, "mac_address": "52:54:00:00:00:0a", "client_id": dirty}},
				"cpu":        map[string]any{"architecture": dirty}, dirty: dirty,
			},
			dirty: []any{map[string]any{dirty: dirty}},
		}, m.n.UUID, false)
		require.NoError(t, err)
		m.settle(m.n)

		marked := 0
		for _, value := range store.values {
			var record any
			require.NoError(t, json.Unmarshal([]byte(value), &record))
			marked += requireClean(t, record, "MARK")
		}
		require.Greater(t, marked, 20)
	})
}
