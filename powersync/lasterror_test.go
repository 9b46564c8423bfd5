// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// lastEvent returns the last event.
func (h *fixture) lastEvent() powersync.Event {
	events := h.timeless()
	return events[len(events)-1]
}

func TestARoundLeavesALastErrorThatItDidNotStore(t *testing.T) {
	for hardware, want := range map[states.Power]powersync.Outcome{isOn: powersync.Equal, isOff: powersync.Forced} {
		for s := range states.AllStates() {
			if excluded.Has(s) {
				continue
			}
			h := newFixture(t, newHardware(hardware), nodes(powersync.Record{ProvisionState: s, Power: isOn, LastError: "x"}))
			require.Equal(t, want, h.round(t))
			require.Equal(t, powersync.Equal, h.round(t))
			require.Equal(t, "x", h.record(t, "a").LastError, "%v", s)
		}
	}
}

func TestARoundClearsTheLastErrorOfRoundsOnceItNoLongerHolds(t *testing.T) {
	h := newFixture(t, newHardware(isOff), nodes(powersync.Record{ProvisionState: states.DeployFail, Power: isOn, LastError: "deploy failed"}))
	h.refuse["a"] = errDead
	require.Equal(t, powersync.ForceFailed, h.round(t))
	text := h.record(t, "a").LastError
	require.Contains(t, text, errDead.Error())
	require.Equal(t, powersync.Event{
		ID: "a", Outcome: powersync.ForceFailed, Recorded: isOn, Read: isOff, Asked: isOn, Attempts: 1, Err: errDead,
		LastError: text, ClearedError: "deploy failed",
	}, h.lastEvent())

	h.kill("a", true)
	require.Equal(t, powersync.ReadFailed, h.round(t))
	h.kill("a", false)
	h.set("a", isOn)
	require.Equal(t, powersync.Equal, h.round(t))
	require.Empty(t, h.record(t, "a").LastError)
	require.Equal(t, powersync.Event{
		ID: "a", Outcome: powersync.Equal, Recorded: isOn, Read: isOn, ClearedError: text,
	}, h.lastEvent())
}

func TestMaintenanceAndRecoveryLeaveATraceOfEachLastError(t *testing.T) {
	before := node(isOn)
	before.LastError = "from before"
	h := newFixture(t, newHardware(isOn), nodes(before), func(c *powersync.Config) { c.MaxRetries = -1 })
	h.kill("a", true)
	require.Equal(t, powersync.IntoMaintenance, h.round(t))
	text := h.record(t, "a").LastError
	require.Equal(t, text, h.lastEvent().LastError)
	require.Equal(t, "from before", h.lastEvent().ClearedError)
	require.Equal(t, powersync.SkippedMaintenance, h.round(t))

	h.kill("a", false)
	require.Equal(t, powersync.Recovered, h.recovery(t))
	require.Equal(t, text, h.lastEvent().ClearedError)
	require.Equal(t, node(isOn), without(h.record(t, "a")))
}

func TestTheNextRoundClearsTheLastErrorOfAPowerFailureWhoseReasonWasChanged(t *testing.T) {
	h := newFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) { c.MaxRetries = -1 })
	h.kill("a", true)
	require.Equal(t, powersync.IntoMaintenance, h.round(t))
	text := h.record(t, "a").LastError
	require.NoError(t, edit(h.store, "a", func(r *powersync.Record) { r.MaintenanceReason = "an operator's" }))
	h.kill("a", false)
	require.Equal(t, powersync.Recovered, h.recovery(t))
	require.Equal(t, text, h.record(t, "a").LastError)
	require.Equal(t, powersync.Equal, h.round(t))
	require.Equal(t, text, h.lastEvent().ClearedError)
	require.Empty(t, h.record(t, "a").LastError)
}

// Source: commit a4e7939b6 of Ironic, which clears what a power failure has left after the BMC answers again.
func TestTheLastErrorOfAPowerFailureIsClearedAlsoByAnotherProcess(t *testing.T) {
	h := newFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) { c.MaxRetries = -1 })
	h.kill("a", true)
	require.Equal(t, powersync.IntoMaintenance, h.round(t))
	failed := h.record(t, "a")
	for _, c := range []struct{ reason, lastError, want string }{
		{failed.MaintenanceReason, failed.LastError, ""},
		{failed.MaintenanceReason, "another's", "another's"},
		{"an operator's", failed.LastError, failed.LastError},
		{"", "", ""},
	} {
		r := without(failed)
		r.MaintenanceReason, r.LastError = c.reason, c.lastError
		next := newFixture(t, newHardware(isOn), nodes(r))
		require.Equal(t, powersync.Recovered, next.recovery(t))
		require.Equal(t, c.want, next.record(t, "a").LastError, "also if the process ends before the next round")
		if c.want == "" {
			require.Equal(t, c.lastError, next.lastEvent().ClearedError)
		}
		require.Equal(t, powersync.Equal, next.round(t))
		require.Equal(t, c.want, next.record(t, "a").LastError)
	}
}

func TestTheNextRoundKeepsLastErrorsOfRequestsAndOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
		h.deaf["a"] = true
		err := h.Set(t.Context(), "a", isOff, 0)
		require.ErrorIs(t, err, powersync.ErrNotReached)
		require.Equal(t, err.Error(), h.lastEvent().LastError)
		require.Equal(t, powersync.Equal, h.round(t))
		require.Equal(t, err.Error(), h.record(t, "a").LastError)
	})

	h := newFixture(t, newHardware(isOff), nodes(node(isOn)))
	h.refuse["a"] = errDead
	require.Equal(t, powersync.ForceFailed, h.round(t))
	require.NoError(t, edit(h.store, "a", func(r *powersync.Record) { r.LastError = "another's" }))
	h.set("a", isOn)
	require.Equal(t, powersync.Equal, h.round(t))
	require.Equal(t, "another's", h.record(t, "a").LastError)
}

func TestEachReclaimedReservationIsAnEvent(t *testing.T) {
	held, changing := node(isOn), node(isOff)
	held.Reservation = "this"
	changing.Reservation, changing.TargetPower, changing.LastError = "this", isOn, "from before"
	h := newFixture(t, newHardware(isOn, isOff), nodes(held, changing), func(c *powersync.Config) { c.Workers = 1 })
	n, err := h.Reclaim(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)
	text := h.record(t, "b").LastError
	require.Equal(t, `the request for "power on" was lost: the process that made it has died`, text)
	require.Equal(t, []powersync.Event{
		{ID: "a", Outcome: powersync.Reclaimed, Recorded: isOn},
		{ID: "b", Outcome: powersync.Reclaimed, Recorded: isOff, Asked: isOn, LastError: text, ClearedError: "from before"},
	}, h.timeless())
	require.Equal(t, powersync.Equal, h.round(t))
	require.Equal(t, text, h.record(t, "b").LastError)
}

func TestAnEventHasNoLastErrorThatCouldNotBeStored(t *testing.T) {
	before := node(isOn)
	before.LastError = "from before"
	h, f := newFlakyFixture(t, newHardware(isOn), nodes(before), func(c *powersync.Config) { c.MaxRetries = -1 })
	h.kill("a", true)
	f.update = func(powersync.Record) error { return errStore }
	require.Equal(t, powersync.StoreFailed, h.round(t))
	require.Equal(t, powersync.Event{
		ID: "a", Outcome: powersync.StoreFailed, Recorded: isOn, Err: errStore,
	}, h.lastEvent())
	require.Equal(t, before, without(h.record(t, "a")))
}

// noRelease is a store that does not store the release of a node.
func noRelease(r powersync.Record) error {
	if r.Reservation == "" {
		return errStore
	}
	return nil
}

func TestAnOutcomeThatIsStoredLateIsAnEvent(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOn), nodes(node(isOn)))
	h.refuse["a"] = errDead
	f.update = noRelease
	err := h.Set(t.Context(), "a", isOff, 0)
	require.ErrorIs(t, err, powersync.ErrNotSaved)
	require.Empty(t, h.lastEvent().LastError, "it is not stored")
	f.update = nil
	require.Equal(t, powersync.Equal, h.round(t))
	text := h.record(t, "a").LastError
	require.Contains(t, text, errDead.Error())
	require.Equal(t, powersync.Event{
		ID: "a", Outcome: powersync.SavedLate, Recorded: isOn, Asked: isOff, LastError: text,
	}, h.lastEvent())
}

func TestARequestThatCouldNotBeginLeavesTheLastError(t *testing.T) {
	before := node(isOn)
	before.LastError = "from before"
	h, f := newFlakyFixture(t, newHardware(isOn), nodes(before))
	f.after = true
	f.update = func(r powersync.Record) error {
		if r.Reservation != "" {
			return errStore
		}
		return nil
	}
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), errStore)
	require.Equal(t, before, without(h.record(t, "a")))
	require.Empty(t, h.allEvents())
}

func TestARequestThatCouldNotBeginLeavesAnErrorThatWasStoredMeanwhile(t *testing.T) {
	before := node(isOn)
	before.LastError = "from before"
	h, f := newFlakyFixture(t, newHardware(isOn), nodes(before))
	f.after = true
	f.update = func(r powersync.Record) error {
		if r.Reservation == "" {
			return nil
		}
		require.NoError(t, edit(h.store, "a", func(r *powersync.Record) { r.LastError = "of another writer" }))
		return errStore
	}
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), errStore)
	before.LastError = "of another writer"
	require.Equal(t, before, without(h.record(t, "a")))
}

func TestTheForceLimitIsSpentOnWhatWasForcedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := newFlakyFixture(t, newHardware(isOff, isOff), nodes(node(isOn), node(isOn)),
			func(c *powersync.Config) { c.ForceLimit, c.Workers = 2, 1 })
		conflicts := 0
		f.update = func(r powersync.Record) error {
			if conflicts++; conflicts <= 10 {
				return []error{powersync.ErrConflict, errStore}[conflicts%2]
			}
			return nil
		}
		for range 10 {
			report, err := h.Sync(t.Context())
			require.NoError(t, err)
			require.Zero(t, report.Nodes[powersync.ForceLimited])
		}
		_, sets := h.calls()
		require.Len(t, sets, 2)

		h.set("a", isOff)
		report, err := h.Sync(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, report.Nodes[powersync.ForceLimited])
		for _, e := range h.allEvents() {
			if e.Outcome == powersync.ForceLimited {
				require.Equal(t, states.NoPower, e.Asked, "nothing was requested from the hardware")
			}
		}
		bubble.Sleep(time.Minute)
		report, err = h.Sync(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, report.Nodes[powersync.Forced])
	})
}

func TestPowerOffIsRefusedWhereTheNodeForbidsIt(t *testing.T) {
	for power := states.PowerOn; power <= states.PowerError; power++ {
		if power.Target() == unknown {
			continue
		}
		h := newFixture(t, newHardware(isOn), nodes(powersync.Record{ProvisionState: states.Active, Power: isOn, DisablePowerOff: true}))
		before := h.record(t, "a")
		err := h.Set(t.Context(), "a", power, 0)
		reads, sets := h.calls()
		if power.Target() == isOn {
			require.NoError(t, err, "%v", power)
			continue
		}
		require.ErrorAs(t, err, new(*powersync.RefusedError))
		require.EqualError(t, err, `node a: request for "`+power.String()+`" refused: the node has power off disabled`)
		require.Empty(t, append(reads, sets...))
		require.Equal(t, before, h.record(t, "a"))
		require.Empty(t, h.allEvents())
	}
}

func TestARequestThatBeganIsFinishedByItsCaller(t *testing.T) {
	h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
	client, left := context.WithCancel(t.Context())
	finish, err := h.Begin(client, "a", isOff, 0)
	require.NoError(t, err)
	left()
	reads, sets := h.calls()
	require.Empty(t, append(reads, sets...), "nothing happens in between")
	held := node(isOn)
	held.Reservation, held.TargetPower = "this", isOff
	require.Equal(t, held, without(h.record(t, "a")))
	_, err = h.Begin(t.Context(), "a", isOn, 0)
	require.ErrorIs(t, err, powersync.ErrLocked)
	require.Equal(t, powersync.SkippedTarget, h.round(t))

	require.NoError(t, finish(t.Context()))
	require.Equal(t, node(isOff), without(h.record(t, "a")))
	_, sets = h.calls()
	require.Len(t, sets, 1)
	require.NoError(t, finish(t.Context()), "a second call does nothing")
	_, sets = h.calls()
	require.Empty(t, sets)

	finish, err = h.Begin(t.Context(), "a", isOn, 0)
	require.NoError(t, err)
	require.ErrorIs(t, finish(client), context.Canceled)
	require.Equal(t, powersync.PowerNotSet, h.lastEvent().Outcome)
	require.Equal(t, isOff, h.record(t, "a").Power)
	require.Empty(t, h.record(t, "a").Reservation)
	require.Zero(t, h.Stats().Reserved)
}

func TestARefusalIsKnownAtOnce(t *testing.T) {
	h := newFixture(t, newHardware(isOn), nodes(powersync.Record{ProvisionState: states.Cleaning, Power: isOn}))
	finish, err := h.Begin(t.Context(), "a", isOff, 0)
	require.ErrorAs(t, err, new(*powersync.RefusedError))
	require.Nil(t, finish)
}

func TestALastErrorOfARoundThatIsStoredLateIsClearedInTheEnd(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOff), nodes(node(isOn)))
	h.refuse["a"] = errDead
	f.update = noRelease
	require.Equal(t, powersync.ForceFailed, h.round(t))
	require.ErrorIs(t, h.lastEvent().Err, errDead)
	require.ErrorIs(t, h.lastEvent().Err, powersync.ErrNotSaved)
	f.update = nil
	require.Equal(t, powersync.ForceFailed, h.round(t))
	require.Equal(t, powersync.SavedLate, h.allEvents()[1].Outcome)
	h.set("a", isOn)
	require.Equal(t, powersync.Equal, h.round(t))
	require.Equal(t, node(isOn), without(h.record(t, "a")))

	h.set("a", isOff)
	f.update = noRelease
	require.Equal(t, powersync.ForceFailed, h.round(t))
	f.update = nil
	h.set("a", isOn)
	require.Equal(t, powersync.Equal, h.round(t))
	require.Empty(t, h.record(t, "a").LastError, "stored and cleared within one round")
	require.NotEmpty(t, h.lastEvent().ClearedError)
}

func TestTheForceLimitIsNotSpentOnARoundThatEnds(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOff), nodes(node(isOn)), func(c *powersync.Config) { c.ForceLimit = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	f.after = true
	f.update = func(powersync.Record) error {
		cancel()
		return nil
	}
	_, err := h.Sync(ctx)
	require.ErrorIs(t, err, context.Canceled)
	f.update = nil
	_, sets := h.calls()
	require.Empty(t, sets)
	require.Equal(t, powersync.Forced, h.round(t))
}

func TestALastErrorThatARoundStoredTwiceIsClearedInTheEnd(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOff), nodes(node(isOn)))
	h.refuse["a"] = errDead
	require.Equal(t, powersync.ForceFailed, h.round(t))
	text := h.record(t, "a").LastError
	f.update = noRelease
	require.Equal(t, powersync.ForceFailed, h.round(t))
	f.update = nil
	h.set("a", isOn)
	require.Equal(t, powersync.Equal, h.round(t))
	require.Equal(t, powersync.SavedLate, h.allEvents()[2].Outcome)
	require.Equal(t, text, h.lastEvent().ClearedError)
	require.Equal(t, node(isOn), without(h.record(t, "a")))
}

func TestALastErrorThatAnUpdateStoredInSpiteOfItsErrorIsClearedInTheEnd(t *testing.T) {
	for name, strike := range map[string]error{"a conflict": powersync.ErrConflict, "an error": errStore} {
		h, f := newFlakyFixture(t, newHardware(isOff), nodes(node(isOn)))
		h.refuse["a"] = errDead
		f.after = true
		f.update = func(r powersync.Record) error {
			if !released(r) {
				return nil
			}
			f.update = nil
			return strike
		}
		require.Equal(t, powersync.ForceFailed, h.round(t), name)
		text := h.record(t, "a").LastError
		require.Contains(t, text, errDead.Error(), name)
		h.set("a", isOn)
		require.Equal(t, powersync.Equal, h.round(t), name)
		require.Equal(t, text, h.lastEvent().ClearedError, name)
		require.Equal(t, node(isOn), without(h.record(t, "a")), name)
	}
}

func TestALastErrorThatIsStoredBeforeTheRoundHasEndedIsClearedInTheEnd(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOff), nodes(node(isOn)))
	h.AfterSync(func(id string) {
		f.update = nil
		h.RetryRelease(id) // as Run does
	})
	for _, refusal := range []error{errDead, errStore} { // the second text replaces the first
		h.refuse["a"] = refusal
		f.update = noRelease
		require.Equal(t, powersync.ForceFailed, h.round(t))
		require.Contains(t, h.record(t, "a").LastError, refusal.Error())
	}
	h.set("a", isOn)
	require.Equal(t, powersync.Equal, h.round(t))
	require.Equal(t, node(isOn), without(h.record(t, "a")))
}
