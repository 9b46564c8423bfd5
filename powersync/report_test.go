// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// mixed is a fixture with a node of many kinds, after one round.
func mixed(t *testing.T, set ...func(*powersync.Config)) (*fixture, powersync.Report) {
	t.Helper()
	h := newHardware(isOn, isOff, isOn, isOff, isOn)
	h.dead["c"] = true
	fixture := newFixture(t, h, nodes(node(isOn), node(isOn), node(isOn), node(unknown),
		powersync.Record{ProvisionState: states.Enroll}), set...)
	report, err := fixture.Sync(t.Context())
	require.NoError(t, err)
	return fixture, report
}

func TestAReportHasEveryNodeOnce(t *testing.T) {
	_, r := mixed(t)
	require.Equal(t, 5, r.Seen)
	require.Equal(t, 1, r.Skipped)
	require.Equal(t, 1, r.Failed)
	for _, o := range []powersync.Outcome{
		powersync.Equal, powersync.Forced, powersync.ReadFailed, powersync.Recorded, powersync.SkippedEnroll,
	} {
		require.Equal(t, 1, r.Nodes[o], "%v", o)
	}
	require.False(t, r.Start.IsZero())

	r.Took = 1200 * time.Millisecond
	require.Equal(t, "sync round: 5 nodes in 1.2s: 1 skipped_enroll, 1 equal, 1 recorded, 1 forced, 1 read_failed", r.String())
	r.Overran = true
	require.Contains(t, r.String(), "in 1.2s (longer than its interval): ")
	require.Equal(t, "recovery round: 0 nodes in 0s", powersync.Report{Recovery: true}.String())

	r.Start = time.Unix(0, 0).UTC()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, `{"recovery": false, "start": "1970-01-01T00:00:00Z", "took_ns": 1200000000, "overran": true,
		"seen": 5, "skipped": 1, "failed": 1, "nodes":
		{"skipped_enroll": 1, "equal": 1, "recorded": 1, "forced": 1, "read_failed": 1}}`, string(text))
	var back powersync.Report
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, r, back)
}

// hostile is a Driver whose errors are long and contain terminal control sequences.
type hostile struct{}

func (hostile) PowerState(context.Context, string) (states.Power, error) {
	return states.NoPower, errors.New("\x1b[2J\u202e\xff" + strings.Repeat("x", 1<<20))
}

func (h hostile) SetPower(ctx context.Context, id string, _ states.Power) error {
	_, err := h.PowerState(ctx, id)
	return err
}

func TestTextsAreMadeFitToBeStored(t *testing.T) {
	store := new(powersync.Memory)
	store.Put(powersync.Record{ID: "a", ProvisionState: states.Manageable, Power: states.PowerOn})
	var texts []string
	syncer, err := powersync.New(powersync.Config{Store: store, Driver: hostile{}, OnEvent: func(e powersync.Event) {
		texts = append(texts, e.Err.Error())
	}})
	require.NoError(t, err)
	for range 5 {
		_, err := syncer.Sync(t.Context())
		require.NoError(t, err)
	}
	r, err := store.Load(t.Context(), "a")
	require.NoError(t, err)
	require.True(t, r.Maintenance)
	require.NotEmpty(t, texts)
	for _, text := range append(texts, r.LastError, r.MaintenanceReason) {
		require.NotEmpty(t, text)
		require.LessOrEqual(t, len(text), 2048)
		require.True(t, utf8.ValidString(text))
		require.NotContains(t, text, "\x1b")
		require.NotContains(t, text, "\u202e")
	}
}

func TestOutcomesAreWordsOfTheirOwn(t *testing.T) {
	seen := make(map[powersync.Outcome]bool)
	for _, o := range powersync.Outcomes {
		require.Regexp(t, `^[a-z][a-z_]*$`, string(o), "no log or metric has to quote it")
		require.False(t, seen[o], "%v", o)
		seen[o] = true
	}
}

func TestEachUnhealthyNodeIsAnEventAndALine(t *testing.T) {
	var log bytes.Buffer
	h, _ := mixed(t, func(c *powersync.Config) { c.Workers = 1 }, logTo(&log, slog.LevelWarn))
	for _, e := range h.allEvents() {
		require.False(t, e.Time.IsZero())
	}
	require.Equal(t, []powersync.Event{
		{ID: "b", Outcome: powersync.Forced, Recorded: isOn, Read: isOff, Asked: isOn, Attempts: 1},
		{ID: "c", Outcome: powersync.ReadFailed, Recorded: isOn, Attempts: 1, Err: errDead},
		{ID: "d", Outcome: powersync.Recorded, Read: isOff, Attempts: 1},
	}, h.timeless())
	require.Equal(t, `level=WARN msg="node power" node=b outcome=forced recorded="power on" read="power off" asked="power on" attempts=1
level=WARN msg="node power" node=c outcome=read_failed recorded="power on" read=none asked=none attempts=1 error="no route to host"
`, log.String())
}

func TestCountersCanBeExported(t *testing.T) {
	h, _ := mixed(t)
	require.NoError(t, h.Set(t.Context(), "a", isOff, 0))
	s := h.Stats()
	require.Equal(t, 1, s.Rounds)
	require.Equal(t, 2, s.Failing)
	require.Equal(t, 6, s.Reads, "four nodes in the round, and two for the request")
	require.Equal(t, 2, s.Sets)
	require.Positive(t, s.LastRound)

	var exported map[string]any
	require.NoError(t, json.Unmarshal([]byte(expvar.Func(func() any { return h.Stats() }).String()), &exported))
	require.Equal(t, 1.0, exported["rounds"])
	require.Equal(t, 1.0, exported["nodes"].(map[string]any)["power_set"])
}

func TestARecordHasIronicsKeys(t *testing.T) {
	r := powersync.Record{
		ID: "a", ProvisionState: states.Active, Power: isOn, TargetPower: isOff, Maintenance: true, MaintenanceReason: "r",
		Fault: powersync.FaultPowerFailure, Reservation: "h", LastError: "e", DisablePowerOff: true,
	}
	for want, r := range map[string]powersync.Record{
		`{"uuid": "a", "provision_state": "active", "power_state": "power on", "target_power_state": "power off",
			"maintenance": true, "maintenance_reason": "r", "fault": "power failure", "reservation": "h", "last_error": "e",
			"disable_power_off": true}`: r,
		`{"uuid": "b", "provision_state": null, "power_state": null, "target_power_state": null, "maintenance": false,
			"maintenance_reason": "", "fault": "", "reservation": "", "last_error": "", "disable_power_off": false}`: {ID: "b"},
	} {
		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.JSONEq(t, want, string(text))
		var back powersync.Record
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, r, back)
	}
}
