// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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
	return states.NoPower, errors.New("\x1b[2J\u202e\xff" + strings.Repeat("x", 1<<16))
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

// Config.Logger promises the levels, Report.Failed and Stats.Failed the failures.
func TestEachOutcomeHasALevelAndCountsAsAFailureOrNot(t *testing.T) {
	levels := map[powersync.Outcome]string{
		"of a Handler's own": "INFO", powersync.Recorded: "INFO", powersync.Corrected: "INFO", powersync.Recovered: "INFO",
		powersync.Interrupted: "INFO", powersync.PowerRequested: "INFO", powersync.PowerSet: "INFO", powersync.SavedLate: "INFO",
		powersync.Forced: "WARN", powersync.ForceFailed: "WARN", powersync.ForceLimited: "WARN", powersync.ReadFailed: "WARN",
		powersync.StoreFailed: "WARN", powersync.PowerNotSet: "WARN", powersync.Reclaimed: "WARN",
		powersync.IntoMaintenance: "ERROR",
	}
	failures := []powersync.Outcome{
		powersync.ForceFailed, powersync.ReadFailed, powersync.StoreFailed, powersync.PowerNotSet, powersync.IntoMaintenance,
	}
	for _, o := range append(powersync.Outcomes, "of a Handler's own") {
		var log bytes.Buffer
		h := newFixture(t, newHardware(), nil, logTo(&log, slog.LevelDebug))
		h.Emit(t.Context(), powersync.Event{ID: "a", Outcome: o})
		want := ""
		if level := levels[o]; level != "" {
			want = "level=" + level
		}
		got, _, _ := strings.Cut(log.String(), " ")
		require.Equal(t, want, got, o)
		require.Equal(t, want != "", len(h.allEvents()) == 1, o)
		require.Equal(t, slices.Contains(failures, o), h.Stats().Failed == 1, o)
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
		{ID: "d", Outcome: powersync.Recorded, Read: isOff},
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
		ID: "a", Name: "n", ProvisionState: states.Active, Power: isOn, TargetPower: isOff, Maintenance: true, MaintenanceReason: "r",
		Fault: powersync.FaultPowerFailure, Reservation: "h", LastError: "e", DisablePowerOff: true,
	}
	for want, r := range map[string]powersync.Record{
		`{"uuid": "a", "name": "n", "provision_state": "active", "power_state": "power on", "target_power_state": "power off",
			"maintenance": true, "maintenance_reason": "r", "fault": "power failure", "reservation": "h", "last_error": "e",
			"disable_power_off": true}`: r,
		`{"uuid": "b", "name": "", "provision_state": null, "power_state": null, "target_power_state": null, "maintenance": false,
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

// logTo makes a Syncer log to a buffer from a level on, without the time.
func logTo(log *bytes.Buffer, level slog.Level) func(*powersync.Config) {
	return func(c *powersync.Config) {
		c.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{
			Level: level,
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			},
		}))
	}
}

func TestANodeThatGoesIntoMaintenanceIsAnErrorInTheLog(t *testing.T) {
	var log bytes.Buffer
	r := node(isOn)
	r.LastError = "from before"
	h := newFixture(t, newHardware(unknown), nodes(r), logTo(&log, slog.LevelInfo), func(c *powersync.Config) { c.MaxRetries = -1 })
	h.kill("a", true)
	require.Equal(t, powersync.IntoMaintenance, h.round(t))
	require.Contains(t, log.String(), `level=ERROR msg="node power" node=a outcome=into_maintenance recorded="power on" read=none `+
		`asked=none attempts=1 error="no route to host" `+
		`last_error="power sync failed 1 times in a row: the power state cannot be read: no route to host" cleared_error="from before"`)
}

func TestARoundThatIsMuchTooLongIsAWarning(t *testing.T) {
	for takes, want := range map[time.Duration]string{
		5 * time.Second:  "level=DEBUG msg=\"power sync round\" round=sync took=5s overran=false nodes=map[equal:1]\n",
		10 * time.Second: "level=DEBUG msg=\"power sync round\" round=sync took=10s overran=false nodes=map[equal:1]\n",
		20 * time.Second: "level=INFO msg=\"power sync round\" round=sync took=20s overran=true nodes=map[equal:1]\n",
		30 * time.Second: "level=INFO msg=\"power sync round\" round=sync took=30s overran=true nodes=map[equal:1]\n",
		31 * time.Second: "level=WARN msg=\"power sync round\" round=sync took=31s overran=true nodes=map[equal:1]\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			h := newFixture(t, newHardware(isOn), nodes(node(isOn)), logTo(&log, slog.LevelDebug), func(c *powersync.Config) {
				c.Interval = 10 * time.Second
			})
			h.onRead = func(context.Context, string) { time.Sleep(takes) }
			h.round(t)
			require.Equal(t, want, log.String())
		})
	}
}

// unlisted is a store that cannot list its records.
type unlisted struct{ *powersync.Memory }

func (unlisted) Records(context.Context) iter.Seq2[powersync.Record, error] {
	return func(func(powersync.Record, error) bool) { panic("no list") }
}

func TestARoundWithAnErrorIsAWarningUnlessItWasCancelled(t *testing.T) {
	var log bytes.Buffer
	h := newFixture(t, newHardware(isOn), nodes(node(isOn)), logTo(&log, slog.LevelDebug), func(c *powersync.Config) {
		c.Store = unlisted{new(powersync.Memory)}
	})
	_, err := h.Sync(t.Context())
	require.Error(t, err)
	require.Regexp(t, `^level=WARN msg="power sync round" .* error="panic with a value of type string"\n$`, log.String())

	log.Reset()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.Sync(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Regexp(t, `^level=DEBUG msg="power sync round" .* error="not called: context canceled"\n$`, log.String())
}

func TestALineForNoLoggerCostsNoCall(t *testing.T) {
	cost := func(logger *slog.Logger) float64 {
		h := newFixture(t, newHardware(), nil, func(c *powersync.Config) { c.Logger, c.OnEvent = logger, nil })
		return testing.AllocsPerRun(100, func() { h.Emit(context.Background(), powersync.Event{ID: "a", Outcome: powersync.Forced}) })
	}
	require.Less(t, cost(nil), cost(slog.New(nothing{})))
}

// nothing is a handler that wants no line.
type nothing struct{ slog.Handler }

func (nothing) Enabled(context.Context, slog.Level) bool { return false }
