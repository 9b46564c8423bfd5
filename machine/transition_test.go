// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestStatusMatchesIronicsNotification(t *testing.T) {
	tests := []struct {
		from  states.State
		event states.Event
		want  string
	}{
		{states.Enroll, states.EventManage, "start"},
		{states.Verifying, states.EventDone, "end"},
		{states.Verifying, states.EventFail, "error"},
		{states.Available, states.EventManage, "success"},
		{states.Deploying, states.EventWait, "success"},
		{states.DeployWait, states.EventAbort, "end"},
		{states.CleanWait, states.EventHold, "end"},
		{states.CleanHold, states.EventUnhold, "start"},
		{states.InspectFail, states.EventManage, "success"},
	}
	for _, test := range tests {
		m := newMachine(t, test.from, func(c *machine.Config) { c.History = 1 })
		require.NoError(t, m.Fire(t.Context(), test.event))
		require.Equal(t, test.want, m.History()[0].Status, "%v at %v", test.event, test.from)
	}
}

func TestLogFollowsIronicsLevels(t *testing.T) {
	tests := map[string]struct {
		from  states.State
		in    machine.Input
		level string
	}{
		"work begins":    {states.Enroll, machine.Input{Event: states.EventManage}, "INFO"},
		"back in enroll": {states.Verifying, machine.Input{Event: states.EventFail, LastError: "no power"}, "INFO"},
		"a failed state": {states.Cleaning, machine.Input{Event: states.EventFail, LastError: "no disk"}, "ERROR"},
		"error":          {states.Deleting, machine.Input{Event: states.EventFail}, "ERROR"},
		"a power state":  {states.Enroll, machine.Input{Event: states.EventManage, Power: states.PowerOn}, "INFO"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			m := newMachine(t, test.from, func(c *machine.Config) {
				c.Enter = []machine.Hook{machine.Log(slog.New(slog.NewJSONHandler(&out, nil)))}
				c.Now = func() time.Time { return time.Unix(0, 0).UTC() }
			})
			require.NoError(t, m.Apply(t.Context(), test.in))
			n := m.Node()
			want := map[string]any{
				"time": "1970-01-01T00:00:00Z", "level": test.level, "msg": "node moved", "node": "node-1",
				"event": test.in.Event.String(), "from": test.from.String(), "to": n.State.String(), "target": n.Target.String(),
			}
			var got map[string]any
			require.NoError(t, json.Unmarshal(out.Bytes(), &got))
			require.Contains(t, []any{"start", "error"}, got["status"])
			delete(got, "status")
			if n.LastError != "" {
				want["last_error"] = n.LastError
			}
			if test.in.Power != states.NoPower {
				want["power"] = test.in.Power.String()
			}
			require.Equal(t, want, got)
		})
	}
}

func TestLogOfAQuietLoggerIsNotMade(t *testing.T) {
	var out bytes.Buffer
	quiet := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError}))
	old := slog.Default()
	slog.SetDefault(quiet)
	defer slog.SetDefault(old)
	m := newMachine(t, states.Enroll, func(c *machine.Config) { c.Enter = []machine.Hook{machine.Log(quiet), machine.Log(nil)} })
	require.NoError(t, m.Fire(t.Context(), states.EventManage))
	require.Empty(t, out.String())
}
