// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// The rules of a round, one test each, in the order of the package comment.

func TestExcludedProvisionStatesAreSkippedEnrollFirstOfAll(t *testing.T) {
	excluded := map[states.State]powersync.Outcome{
		states.Enroll:     powersync.SkippedEnroll,
		states.DeployWait: powersync.SkippedDeployWait,
		states.CleanWait:  powersync.SkippedCleanWait,
		states.AdoptFail:  powersync.SkippedAdoptFail,
	}
	for s := range states.AllStates() {
		h := newFixture(t, newHardware(isOff), nodes(powersync.Record{ProvisionState: s, Power: isOn}))
		before := h.record(t, "a")
		outcome := h.round(t)
		reads, sets := h.calls()
		if want, ok := excluded[s]; ok {
			require.Equal(t, want, outcome, "%v", s)
			require.Empty(t, reads, "%v", s)
			require.Empty(t, sets, "%v", s)
			require.Equal(t, before, h.record(t, "a"))
			continue
		}
		require.Equal(t, powersync.Forced, outcome, "%v", s)
	}
}

func TestNodesInMaintenanceWithATargetOrAReservationAreSkipped(t *testing.T) {
	tests := map[powersync.Outcome]powersync.Record{
		powersync.SkippedMaintenance: {Maintenance: true},
		powersync.SkippedTarget:      {TargetPower: isOff},
		powersync.SkippedReservation: {Reservation: "another conductor"},
		powersync.SkippedEnroll:      {ProvisionState: states.Enroll, Maintenance: true, TargetPower: isOn, Reservation: "x"},
	}
	for want, r := range tests {
		if r.ProvisionState == states.NoState {
			r.ProvisionState = states.Active
		}
		r.Power = isOn
		h := newFixture(t, newHardware(isOff), nodes(r))
		before := h.record(t, "a")
		require.Equal(t, want, h.round(t))
		reads, sets := h.calls()
		require.Empty(t, reads)
		require.Empty(t, sets)
		require.Equal(t, before, h.record(t, "a"))
		require.Empty(t, h.allEvents())
	}
}

func TestNodesWithTheMostFailuresComeFirst(t *testing.T) {
	h := newFixture(t, newHardware(isOn, isOn, isOn, isOn, isOn, isOn),
		nodes(node(isOn), node(isOn), node(isOn), node(isOn), node(isOn), node(isOn)),
		func(c *powersync.Config) { c.Workers, c.MaxRetries = 1, 100 })
	reserve := func(id, by string) {
		require.NoError(t, edit(h.store, id, func(r *powersync.Record) { r.Reservation = by }))
	}
	sync := func() (reads []string) {
		h.calls()
		_, err := h.Sync(t.Context())
		require.NoError(t, err)
		reads, _ = h.calls()
		return reads
	}
	most := []string{"d", "b", "f", "c", "e"}
	for _, id := range most {
		h.kill(id, true)
	}
	sync()
	require.Equal(t, []string{"b", "c", "d", "e", "f", "a"}, sync(), "nodes with as many failures are in the order of their IDs")
	for i := len(most) - 1; i > 0; i-- { // "e" fails once, "c" twice, ...
		reserve(most[i], "another")
		sync()
	}
	for _, id := range most[1:] {
		reserve(id, "")
	}
	require.Equal(t, append(most, "a"), sync())

	h.kill("d", false)
	sync()
	require.Equal(t, []string{"b", "f", "c", "e", "a", "d"}, sync())
}

func TestANodeWithoutPowerStateAndConfigurationIsLeftAlone(t *testing.T) {
	h := newHardware(isOn)
	driver := &validating{hardware: h}
	fixture := newFixture(t, h, nodes(node(unknown)), withDriver(driver))
	fixture.kill("a", true)
	require.Equal(t, powersync.ReadFailed, fixture.round(t))
	fixture.kill("a", false)
	fixture.calls()
	driver.err = errDead
	for range 6 {
		require.Equal(t, powersync.SkippedConfiguration, fixture.round(t))
	}
	reads, _ := fixture.calls()
	require.Empty(t, reads)
	require.Zero(t, fixture.Stats().Failing, "the count starts over")

	driver.err = nil
	require.Equal(t, powersync.Recorded, fixture.round(t))
	driver.err = errDead
	require.Equal(t, powersync.Equal, fixture.round(t), "with a power state recorded nobody validates")
}

type validating struct {
	*hardware
	err error
}

func (v *validating) Validate(context.Context, string) error { return v.err }

func withDriver(d powersync.Driver) func(*powersync.Config) {
	return func(c *powersync.Config) { c.Driver = d }
}

func TestTheFirstReadingIsRecorded(t *testing.T) {
	h := newFixture(t, newHardware(isOff), nodes(node(unknown)))
	require.Equal(t, powersync.Recorded, h.round(t))
	require.Equal(t, isOff, h.record(t, "a").Power)
	require.Equal(t, isOff, h.allEvents()[0].Read)
	require.Equal(t, powersync.Equal, h.round(t))
}

func TestAFailingReadChangesNothingUntilTheRetriesAreOver(t *testing.T) {
	for _, reading := range []states.Power{states.PowerError, unknown, states.PowerRebooting} {
		h := newFixture(t, newHardware(reading), nodes(node(isOn)))
		before := h.record(t, "a")
		for attempt := 1; attempt <= powersync.DefaultMaxRetries; attempt++ {
			require.Equal(t, powersync.ReadFailed, h.round(t))
			require.Equal(t, before, h.record(t, "a"))
			require.Equal(t, attempt, h.allEvents()[attempt-1].Attempts)
		}
		require.Equal(t, powersync.IntoMaintenance, h.round(t))
		require.Equal(t, powersync.SkippedMaintenance, h.round(t))
	}
}

func TestPastTheRetriesAnUnreadNodeKeepsItsPowerStateInMaintenance(t *testing.T) {
	for forget, want := range map[bool]states.Power{false: isOn, true: unknown} {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) {
			c.MaxRetries = -1
			c.ForgetUnread = forget
		})
		h.kill("a", true)
		require.Equal(t, powersync.IntoMaintenance, h.round(t))
		r := h.record(t, "a")
		require.Equal(t, want, r.Power)
		require.True(t, r.Maintenance)
		require.Equal(t, powersync.FaultPowerFailure, r.Fault)
		require.Contains(t, r.MaintenanceReason, errDead.Error())
		require.Equal(t, r.MaintenanceReason, r.LastError)
	}
}

func TestASuccessStartsTheCountOver(t *testing.T) {
	h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
	for range 5 {
		h.kill("a", true)
		for range powersync.DefaultMaxRetries {
			require.Equal(t, powersync.ReadFailed, h.round(t))
		}
		h.kill("a", false)
		require.Equal(t, powersync.Equal, h.round(t))
	}
}

func TestHardwareIsForcedToWhatIsRecorded(t *testing.T) {
	h := newFixture(t, newHardware(isOff), nodes(node(isOn)))
	h.onSet = func(_ context.Context, id string) {
		r := h.record(t, id)
		require.Equal(t, "this", r.Reservation, "the node is held")
		require.Equal(t, isOn, r.TargetPower)
	}
	require.Equal(t, powersync.Forced, h.round(t))
	require.Equal(t, powersync.Record{ID: "a", ProvisionState: states.Available, Power: isOn}, h.record(t, "a"))
	_, sets := h.calls()
	require.Equal(t, []string{"a power on"}, sets)
	require.Equal(t, powersync.Equal, h.round(t))
}

func TestAFailureToForceIsReportedAndChangesNoPowerState(t *testing.T) {
	h := newFixture(t, newHardware(isOff), nodes(node(isOn)))
	h.refuse["a"] = errDead
	require.Equal(t, powersync.ForceFailed, h.round(t))
	r := h.record(t, "a")
	require.Equal(t, isOn, r.Power)
	require.Contains(t, r.LastError, errDead.Error())
	require.Equal(t, powersync.Record{ID: "a", ProvisionState: states.Available, Power: isOn, LastError: r.LastError}, r)
	require.ErrorIs(t, h.allEvents()[0].Err, errDead)

	h.set("a", isOn)
	require.Equal(t, powersync.Equal, h.round(t))
	require.Empty(t, h.record(t, "a").LastError)
}

func TestWithoutForcingTheReadingIsRecorded(t *testing.T) {
	h := newHardware(isOff)
	tests := map[string]struct {
		record powersync.Record
		set    func(*powersync.Config)
	}{
		"by configuration": {node(isOn), func(c *powersync.Config) { c.RecordOnly = true }},
		"not this node":    {node(isOn), func(c *powersync.Config) { c.CanForce = func(string) bool { return false } }},
		"the node has a say": {
			powersync.Record{ProvisionState: states.Active, Power: isOn, DisablePowerOff: true},
			func(*powersync.Config) {},
		},
		"in a failed state also": {
			powersync.Record{ProvisionState: states.DeployFail, Power: isOn, DisablePowerOff: true},
			func(*powersync.Config) {},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fixture := newFixture(t, h, nodes(test.record), test.set)
			require.Equal(t, powersync.Corrected, fixture.round(t))
			_, sets := fixture.calls()
			require.Empty(t, sets)
			require.Equal(t, isOff, fixture.record(t, "a").Power)
			e := fixture.allEvents()[0]
			require.Equal(t, isOn, e.Recorded)
			require.Equal(t, isOff, e.Read)
		})
	}
}

func TestPastTheRetriesTheReadingIsRecordedInMaintenance(t *testing.T) {
	h := newFixture(t, newHardware(isOff), nodes(node(isOn)))
	h.deaf["a"] = true
	for range powersync.DefaultMaxRetries {
		require.Equal(t, powersync.Forced, h.round(t), "the count is kept: the hardware lies")
	}
	require.Equal(t, powersync.IntoMaintenance, h.round(t))
	r := h.record(t, "a")
	require.Equal(t, isOff, r.Power)
	require.True(t, r.Maintenance)
	require.Equal(t, powersync.FaultPowerFailure, r.Fault)
	require.Equal(t, r.MaintenanceReason, r.LastError)
	_, sets := h.calls()
	require.Len(t, sets, powersync.DefaultMaxRetries)
}

func TestANodeThatIsCorrectedInEachRoundEndsInMaintenance(t *testing.T) {
	h := newFixture(t, newHardware(isOff), nodes(node(isOn)), func(c *powersync.Config) { c.RecordOnly = true })
	power := []states.Power{isOn, isOff}
	for i := range powersync.DefaultMaxRetries {
		require.Equal(t, powersync.Corrected, h.round(t))
		h.set("a", power[i%2])
	}
	require.Equal(t, powersync.IntoMaintenance, h.round(t))
}

// whileRead changes a record while the hardware is being read for the first
// time.
func whileRead(t *testing.T, h *fixture, change func(*powersync.Record)) {
	done := false
	h.onRead = func(_ context.Context, id string) {
		if !done {
			done = true
			require.NoError(t, edit(h.store, id, change))
		}
	}
}

func TestANodeIsReadAgainUnderItsReservation(t *testing.T) {
	tests := map[string]struct {
		change func(*powersync.Record)
		want   powersync.Outcome
		counts bool // the failures so far still count
		power  states.Power
	}{
		"it is equal by now":          {func(r *powersync.Record) { r.Power = isOff }, powersync.Equal, false, isOff},
		"it is excluded by now":       {func(r *powersync.Record) { r.ProvisionState = states.Enroll }, powersync.SkippedEnroll, false, isOn},
		"it is in maintenance by now": {func(r *powersync.Record) { r.Maintenance = true }, powersync.SkippedMaintenance, false, isOn},
		"it is locked by now":         {func(r *powersync.Record) { r.Reservation = "x" }, powersync.SkippedReservation, true, isOn},
		"its power changes by now":    {func(r *powersync.Record) { r.TargetPower = isOff }, powersync.SkippedTarget, true, isOn},
		"no state is recorded by now": {func(r *powersync.Record) { r.Power = unknown }, powersync.Recorded, false, isOff},
		"nothing that matters":        {func(r *powersync.Record) { r.LastError = "x" }, powersync.Forced, true, isOn},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) { c.MaxRetries = 2 })
			h.kill("a", true)
			require.Equal(t, powersync.ReadFailed, h.round(t))
			h.kill("a", false)
			h.set("a", isOff)
			whileRead(t, h, test.change)
			require.Equal(t, test.want, h.round(t))
			require.Equal(t, test.power, h.record(t, "a").Power)
			require.Equal(t, test.counts, h.Stats().Failing == 1)
			if test.want != powersync.Forced {
				_, sets := h.calls()
				require.Empty(t, sets)
			}
		})
	}
}

func TestANodeThatIsLockedWhileItIsReadWaitsForNoNewBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) { c.Backoff = time.Minute })
		h.kill("a", true)
		require.Equal(t, powersync.ReadFailed, h.round(t))
		require.Equal(t, powersync.SkippedBackoff, h.round(t))
		bubble.Sleep(time.Minute)
		h.kill("a", false)
		h.set("a", isOff)
		whileRead(t, h, func(r *powersync.Record) { r.Reservation = "x" })
		require.Equal(t, powersync.SkippedReservation, h.round(t))
		require.NoError(t, edit(h.store, "a", func(r *powersync.Record) { r.Reservation = "" }))
		require.Equal(t, powersync.Forced, h.round(t))
	})
}

func TestANodeSetToMaintenanceMeanwhileKeepsItsReasonAndFault(t *testing.T) {
	for _, power := range []states.Power{isOff, states.PowerError} {
		h := newFixture(t, newHardware(power), nodes(node(isOn)), func(c *powersync.Config) { c.MaxRetries = -1 })
		whileRead(t, h, func(r *powersync.Record) {
			r.Maintenance, r.MaintenanceReason, r.Fault = true, "new fans", "hot"
		})
		require.Equal(t, powersync.SkippedMaintenance, h.round(t))
		want := node(isOn)
		want.ID, want.Maintenance, want.MaintenanceReason, want.Fault = "a", true, "new fans", "hot"
		require.Equal(t, want, h.record(t, "a"))
	}
}

func TestAnOldReadingIsNotUsedAfterChangesThatCancelOut(t *testing.T) {
	h := newFixture(t, newHardware(isOff), nodes(node(isOn)), func(c *powersync.Config) { c.RecordOnly = true })
	reads := 0
	h.onRead = func(_ context.Context, id string) {
		reads++
		if reads == 2 {
			h.set("a", isOn)
		}
		require.NoError(t, edit(h.store, id, func(*powersync.Record) {}))
	}
	require.Equal(t, powersync.Equal, h.round(t), "a restart was in progress")
	require.Equal(t, 2, reads)
}

func TestANodeThatKeepsChangingIsSkipped(t *testing.T) {
	h := newFixture(t, newHardware(isOff), nodes(node(isOn)))
	h.onRead = func(_ context.Context, id string) { _ = edit(h.store, id, func(*powersync.Record) {}) }
	require.Equal(t, powersync.SkippedChanged, h.round(t))
}

func TestADeletedNodeIsSkippedAndForgotten(t *testing.T) {
	h := newFixture(t, newHardware(isOn, isOn), nodes(node(isOn), node(isOn)))
	h.kill("a", true)
	h.kill("b", true)
	require.Equal(t, powersync.ReadFailed, h.round(t))
	require.Equal(t, 2, h.Stats().Failing)
	h.store.Delete("a")
	h.onRead = func(context.Context, string) { h.store.Delete("b") }
	h.kill("b", false)
	h.set("b", isOff)
	require.Equal(t, powersync.SkippedDeleted, h.round(t))
	require.Zero(t, h.Stats().Failing)
}

func TestASmallRoundNeedsFewWorkers(t *testing.T) {
	h := newFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) {
		c.Workers = 1 << 30
	})
	require.Equal(t, powersync.Equal, h.round(t))
	h.store.Delete("a")
	require.Empty(t, h.round(t))
	require.True(t, slices.Equal([]string{"a"}, first(h.calls())))
}

func first[A, B any](a A, _ B) A { return a }

func TestHardwareWithoutAPowerStateEqualsARecordWithoutOne(t *testing.T) {
	h := newFixture(t, newHardware(states.NoPower), nodes(powersync.Record{ProvisionState: states.Active}))
	for range 10 {
		require.Equal(t, powersync.Equal, h.round(t))
	}
	require.False(t, h.record(t, "a").Maintenance)

	h = newFixture(t, newHardware(states.NoPower), nodes(powersync.Record{ProvisionState: states.Active, Power: isOn}))
	require.Equal(t, powersync.ReadFailed, h.round(t))
}
