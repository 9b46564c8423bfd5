// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"iter"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// powerFailure is a record of a node that a round put into maintenance.
func powerFailure(power states.Power) powersync.Record {
	r := node(power)
	r.Maintenance, r.MaintenanceReason, r.Fault = true, "power sync failed", powersync.FaultPowerFailure
	return r
}

func (h *fixture) recovery(t testing.TB) powersync.Outcome {
	t.Helper()
	report, err := h.Recover(t.Context())
	require.NoError(t, err)
	require.True(t, report.Recovery)
	return onlyOutcome(t, report)
}

func TestANodeThatCanBeReadAgainIsTakenOutOfMaintenance(t *testing.T) {
	for _, power := range []states.Power{isOn, isOff} {
		h := newFixture(t, newHardware(power), nodes(powerFailure(isOn)))
		h.kill("a", true)
		before := h.record(t, "a")
		require.Equal(t, powersync.ReadFailed, h.recovery(t))
		require.Equal(t, before, h.record(t, "a"))

		h.kill("a", false)
		require.Equal(t, powersync.Recovered, h.recovery(t))
		require.Equal(t, powersync.Record{ID: "a", ProvisionState: states.Available, Power: power}, h.record(t, "a"))
		_, sets := h.calls()
		require.Empty(t, sets, "recovery records and does not force")
		e := h.allEvents()[1]
		require.Equal(t, isOn, e.Recorded)
		require.Equal(t, power, e.Read)
	}
}

func TestRecoveryIsForNodesWithAPowerFailureAlone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*powersync.Record)
		counts map[powersync.Outcome]int // nodes without a power failure are none of it
	}{
		"set by an operator":   {func(r *powersync.Record) { r.Fault = "" }, map[powersync.Outcome]int{}},
		"with another fault":   {func(r *powersync.Record) { r.Fault = "clean failure" }, map[powersync.Outcome]int{}},
		"not in maintenance":   {func(r *powersync.Record) { r.Maintenance = false }, map[powersync.Outcome]int{}},
		"in enroll":            {func(r *powersync.Record) { r.ProvisionState = states.Enroll }, map[powersync.Outcome]int{}},
		"with a target":        {func(r *powersync.Record) { r.TargetPower = isOn }, map[powersync.Outcome]int{powersync.SkippedTarget: 1}},
		"with a reservation":   {func(r *powersync.Record) { r.Reservation = "x" }, map[powersync.Outcome]int{powersync.SkippedReservation: 1}},
		"changed while waited": {nil, map[powersync.Outcome]int{powersync.SkippedNoPowerFailure: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := powerFailure(isOff)
			if test.change != nil {
				test.change(&r)
			}
			h := newFixture(t, newHardware(isOn), nodes(r))
			before := h.record(t, "a")
			if test.change == nil {
				whileRead(t, h, func(r *powersync.Record) { r.MaintenanceReason, r.Fault = "by an operator", "" })
				before.MaintenanceReason, before.Fault = "by an operator", ""
			}
			report, err := h.Recover(t.Context())
			require.NoError(t, err)
			require.Equal(t, test.counts, report.Nodes)
			require.Equal(t, before, h.record(t, "a"))
			reads, _ := h.calls()
			require.Equal(t, test.change == nil, len(reads) > 0)
		})
	}
}

func TestRecoveryStartsItsCountOver(t *testing.T) {
	for name, between := range map[string]func(*fixture){
		"after a success": func(h *fixture) {
			h.kill("a", false)
			require.Equal(t, powersync.Recovered, h.recovery(t))
			h.kill("a", true)
		},
		"with the next power failure": func(h *fixture) {
			h.store.Put(powersync.Record{ID: "a", ProvisionState: states.Available, Power: isOn}) // as an operator does
			require.Equal(t, powersync.IntoMaintenance, h.round(t))
		},
		"when the node was deleted": func(h *fixture) {
			h.store.Delete("a")
			require.Equal(t, powersync.SkippedDeleted, h.round(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) { c.MaxRetries = -1 })
			h.kill("a", true)
			require.Equal(t, powersync.IntoMaintenance, h.round(t))
			failed := h.record(t, "a")
			for _, attempt := range []int{1, 2} {
				require.Equal(t, powersync.ReadFailed, h.recovery(t))
				require.Equal(t, attempt, h.lastEvent().Attempts)
			}
			between(h)
			h.store.Put(failed)
			require.Equal(t, powersync.ReadFailed, h.recovery(t))
			require.Equal(t, 1, h.lastEvent().Attempts)
		})
	}
}

// The process has started after the node went into maintenance, so that sync rounds know nothing of it.
func TestADeletedNodeLeavesNoBackoffOfRecovery(t *testing.T) {
	failing := node(isOn)
	failing.Maintenance, failing.Fault = true, powersync.FaultPowerFailure
	h := newFixture(t, newHardware(unknown), nodes(failing), func(c *powersync.Config) { c.Backoff = time.Hour })
	h.kill("a", true)
	before := h.record(t, "a")
	require.Equal(t, powersync.ReadFailed, h.recovery(t))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Recover(ended)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, powersync.SkippedBackoff, h.recovery(t), "it was not listed because the round had ended")

	h.store.Delete("a")
	_, err = h.Recover(t.Context())
	require.NoError(t, err)
	h.store.Put(before)
	require.Equal(t, powersync.ReadFailed, h.recovery(t))
	require.Equal(t, 1, h.lastEvent().Attempts)
}

func TestAnIncompleteListEndsNoBackoffOfRecovery(t *testing.T) {
	for name, records := range map[string]func(context.CancelFunc, func(powersync.Record, error) bool){
		"an error for all": func(_ context.CancelFunc, yield func(powersync.Record, error) bool) {
			yield(powersync.Record{}, errStore)
		},
		"an error for one": func(_ context.CancelFunc, yield func(powersync.Record, error) bool) {
			yield(powersync.Record{ID: "b"}, errStore)
		},
		"the round has ended": func(end context.CancelFunc, yield func(powersync.Record, error) bool) {
			end()
			yield(powerFailure(isOn), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := &listing{Memory: new(powersync.Memory)}
			h := newFixture(t, newHardware(isOn), nil, func(c *powersync.Config) { c.Store, c.Backoff = store, time.Hour })
			failing := powerFailure(isOn)
			failing.ID = "a"
			store.Put(failing)
			h.kill("a", true)
			require.Equal(t, powersync.ReadFailed, h.recovery(t))

			ctx, end := context.WithCancel(t.Context())
			store.records = func(yield func(powersync.Record, error) bool) { records(end, yield) }
			_, err := h.Recover(ctx)
			require.Equal(t, ctx.Err(), err)
			store.records = nil
			require.Equal(t, powersync.SkippedBackoff, h.recovery(t))
		})
	}
}

// listing is a store whose list the test may replace.
type listing struct {
	*powersync.Memory
	records iter.Seq2[powersync.Record, error]
}

func (l *listing) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	if l.records != nil {
		return l.records
	}
	return l.Memory.Records(ctx)
}

func TestARecoveredNodeHasNoFailuresOfSyncRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) {
			c.MaxRetries, c.Backoff, c.MaxBackoff = 1, time.Minute, time.Hour
		})
		fail := func(want powersync.Outcome, attempt int) {
			t.Helper()
			h.kill("a", true)
			require.Equal(t, want, h.round(t))
			require.Equal(t, attempt, h.lastEvent().Attempts)
			require.Equal(t, 1, h.Stats().Failing)
		}
		fail(powersync.ReadFailed, 1)
		bubble.Sleep(time.Minute)
		fail(powersync.IntoMaintenance, 2)
		text := h.record(t, "a").LastError
		h.kill("a", false)
		require.Equal(t, powersync.Recovered, h.recovery(t))
		require.Equal(t, text, h.lastEvent().ClearedError)
		require.Zero(t, h.Stats().Failing)

		fail(powersync.ReadFailed, 1) // at once: its backoff has ended, too
		require.False(t, h.record(t, "a").Maintenance)
		h.kill("a", false)
		bubble.Sleep(time.Minute)
		require.Equal(t, powersync.Equal, h.round(t))
		require.Empty(t, h.record(t, "a").LastError)
		require.Zero(t, h.Stats().Failing)
	})
}

func TestARecoveredNodeHasItsOldPlaceInTheRounds(t *testing.T) {
	h := newFixture(t, newHardware(isOn, isOn), nodes(node(isOn), node(isOn)), func(c *powersync.Config) { c.MaxRetries, c.Workers = -1, 1 })
	h.kill("b", true)
	for round, want := range [][]string{{"a", "b"}, {"b", "a"}, {"a", "b"}} {
		_, err := h.Sync(t.Context())
		require.NoError(t, err)
		reads, _ := h.calls()
		require.Equal(t, want, reads, "round %d", round)
		h.kill("b", false)
		_, err = h.Recover(t.Context())
		require.NoError(t, err)
		h.calls()
	}
}

func TestRecoveryValidatesFirst(t *testing.T) {
	h := newHardware(isOn)
	fixture := newFixture(t, h, nodes(powerFailure(isOn)), withDriver(&validating{hardware: h, err: errDead}))
	require.Equal(t, powersync.ReadFailed, fixture.recovery(t))
	reads, _ := fixture.calls()
	require.Empty(t, reads)
}

func TestBackoffDoublesUpToItsMost(t *testing.T) {
	const ever = time.Duration(math.MaxInt64)
	tests := []struct {
		first, most time.Duration
		failures    int
		want        time.Duration
	}{
		{time.Second, time.Hour, 1, time.Second},
		{time.Second, time.Hour, 2, 2 * time.Second},
		{time.Second, time.Hour, 12, 2048 * time.Second},
		{time.Second, time.Hour, 13, time.Hour},
		{time.Second, ever, 34, time.Second << 33},
		{time.Second, ever, 35, ever},
		{time.Second, ever, 64, ever},
		{time.Second, ever, 1000, ever},
		{2 * time.Hour, 2 * time.Hour, 1, 2 * time.Hour},
	}
	for _, test := range tests {
		require.Equal(t, test.want, powersync.Backoff(test.first, test.most, test.failures), "%+v", test)
	}
}

func TestBackoffIsAnHourAtMostOrWhatItBeginsWith(t *testing.T) {
	for first, want := range map[time.Duration]time.Duration{59 * time.Minute: time.Hour, 3 * time.Hour: 3 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t, newHardware(unknown), nodes(node(isOn)), func(c *powersync.Config) {
				c.Backoff, c.MaxRetries = first, 10
			})
			h.kill("a", true)
			require.Equal(t, powersync.ReadFailed, h.round(t))
			bubble.Sleep(first)
			require.Equal(t, powersync.ReadFailed, h.round(t))
			bubble.Sleep(want - time.Second)
			require.Equal(t, powersync.SkippedBackoff, h.round(t))
			bubble.Sleep(time.Second)
			require.Equal(t, powersync.ReadFailed, h.round(t))
		})
	}
}

func TestABackoffEndsWithTheFirstSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) { c.Backoff = time.Minute })
		for range 2 {
			h.kill("a", true)
			require.Equal(t, powersync.ReadFailed, h.round(t))
			require.Equal(t, powersync.SkippedBackoff, h.round(t))
			h.kill("a", false)
			bubble.Sleep(time.Minute)
			require.Equal(t, powersync.Equal, h.round(t))
			require.Equal(t, powersync.Equal, h.round(t))
		}
	})
}

func TestFailingNodesAreReadLessOftenWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backoff := func(c *powersync.Config) {
			c.Backoff, c.MaxBackoff, c.MaxRetries = 10*time.Minute, 15*time.Minute, 10
		}
		h := newFixture(t, newHardware(isOn, isOn), nodes(node(isOn), powerFailure(isOn)), backoff)
		h.kill("a", true)
		h.kill("b", true)
		var asked []time.Duration
		start := time.Now()
		h.onRead = func(context.Context, string) { asked = append(asked, time.Since(start)) }
		for range 61 {
			_, err := h.Sync(t.Context())
			require.NoError(t, err)
			bubble.Sleep(time.Minute)
		}
		minutes := []time.Duration{0, 10 * time.Minute, 25 * time.Minute, 40 * time.Minute, 55 * time.Minute}
		require.Equal(t, minutes, asked)
		require.Equal(t, 56, h.Stats().Nodes[powersync.SkippedBackoff])

		asked, start = nil, time.Now()
		for range 61 {
			_, err := h.Recover(t.Context())
			require.NoError(t, err)
			bubble.Sleep(time.Minute)
		}
		require.Equal(t, minutes, asked)
	})
}
