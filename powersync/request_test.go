// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

func TestAPowerStateIsSetWaitedForAndRecorded(t *testing.T) {
	for _, now := range []states.Power{isOn, isOff} {
		for asked := states.PowerOn; asked <= states.PowerError; asked++ {
			if asked.Target() == unknown {
				continue
			}
			t.Run(now.String()+", then "+asked.String(), func(t *testing.T) {
				r := node(now)
				r.LastError = "from before"
				h := newFixture(t, newHardware(now), nodes(r))
				h.onSet = func(_ context.Context, id string) {
					r := h.record(t, id)
					require.Equal(t, "this", r.Reservation)
					require.Equal(t, asked.Target(), r.TargetPower)
					require.Empty(t, r.LastError)
					require.Equal(t, now, r.Power)
				}
				require.NoError(t, h.Set(t.Context(), "a", asked, 0))
				require.Equal(t, powersync.Record{ID: "a", ProvisionState: states.Available, Power: asked.Target()}, h.record(t, "a"))
				_, sets := h.calls()
				require.Equal(t, requests(now, asked), sets)
				require.Equal(t, []powersync.Event{
					{ID: "a", Outcome: powersync.PowerRequested, Recorded: now, Asked: asked, ClearedError: "from before"},
					{ID: "a", Outcome: powersync.PowerSet, Recorded: now, Asked: asked},
				}, h.timeless())
			})
		}
	}
}

// requests returns the requests that the hardware gets.
func requests(now, asked states.Power) []string {
	switch {
	case asked == isOn && now == isOn, asked.Target() == isOff && now == isOff:
		return nil
	case now == isOff:
		return []string{"a power on"}
	default:
		return []string{"a " + asked.String()}
	}
}

func TestPowerRequestsAreRefusedInCleaningAndCleanWait(t *testing.T) {
	for s := range states.AllStates() {
		h := newFixture(t, newHardware(isOff), nodes(powersync.Record{ProvisionState: s, Power: isOff}))
		before := h.record(t, "a")
		err := h.Set(t.Context(), "a", isOn, 0)
		if s != states.Cleaning && s != states.CleanWait {
			require.NoError(t, err, "%v", s)
			continue
		}
		var refused *powersync.RefusedError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, s, refused.State)
		require.Equal(t, before, h.record(t, "a"))
		reads, sets := h.calls()
		require.Empty(t, append(reads, sets...))
	}
}

func TestInvalidPowerRequestsAreRefused(t *testing.T) {
	h := newHardware(isOff, isOff, isOff)
	held, changing := node(isOff), node(isOff)
	held.Reservation, changing.TargetPower = "another", isOn
	fixture := newFixture(t, h, nodes(node(isOff), held, changing), withDriver(&validating{hardware: h, err: errDead}))
	for _, power := range []states.Power{unknown, states.PowerError, 99} {
		require.ErrorAs(t, fixture.Set(t.Context(), "a", power, 0), new(*powersync.RefusedError))
	}
	require.ErrorIs(t, fixture.Set(t.Context(), "z", isOn, 0), powersync.ErrNotFound)
	require.ErrorIs(t, fixture.Set(t.Context(), "b", isOn, 0), powersync.ErrLocked)
	require.ErrorIs(t, fixture.Set(t.Context(), "c", isOn, 0), powersync.ErrLocked)
	require.ErrorIs(t, fixture.Set(t.Context(), "a", isOn, 0), errDead, "the configuration is invalid")
	require.Equal(t, unknown, fixture.record(t, "a").TargetPower)
	require.Empty(t, fixture.allEvents())
}

// requireNotSet checks the record and the events after a failed request.
func requireNotSet(t *testing.T, h *fixture, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, powersync.Record{
		ID: "a", ProvisionState: states.Available, Power: isOn, LastError: err.Error(),
	}, h.record(t, "a"))
	events := h.allEvents()
	require.Equal(t, powersync.PowerNotSet, events[len(events)-1].Outcome)
}

func TestAFailedRequestLeavesTheRecordedStateAndSetsNoMaintenance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
		h.refuse["a"] = errDead
		for range 5 {
			err := h.Set(t.Context(), "a", isOff, 0)
			require.ErrorIs(t, err, errDead)
			requireNotSet(t, h, err)
		}
		delete(h.refuse, "a")
		h.deaf["a"] = true
		start := time.Now()
		err := h.Set(t.Context(), "a", isOff, 0)
		require.ErrorIs(t, err, powersync.ErrNotReached)
		require.EqualError(t, err,
			`node a: request for "power off" failed: power state not reached: "power off" within 1m0s: it is in "power on"`)
		requireNotSet(t, h, err)
		require.Equal(t, powersync.DefaultTimeout, time.Since(start))

		h.kill("a", true)
		err = h.Set(t.Context(), "a", isOff, 0)
		require.ErrorIs(t, err, errDead)
		requireNotSet(t, h, err)
	})
}

// SECURITY.md: A request for a power state is done when the BMC reports that state, and fails if it does not.
func TestTheWaitEndsWhenThePowerStateIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
		h.deaf["a"] = true
		h.onSet = func(context.Context, string) {
			h.kill("a", false)
			time.AfterFunc(4*time.Second, func() { h.kill("a", true) })
			time.AfterFunc(9500*time.Millisecond, func() {
				h.set("a", isOff)
				h.kill("a", false)
			})
		}
		start := time.Now()
		require.NoError(t, h.Set(t.Context(), "a", isOff, 0), "a BMC that is busy meanwhile is waited for")
		require.Equal(t, 10*time.Second, time.Since(start))
	})
}

func TestAMachineThatDiesWhenItIsSetIsReportedWithItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
		h.deaf["a"] = true
		h.onSet = func(context.Context, string) { time.AfterFunc(time.Millisecond, func() { h.kill("a", true) }) }
		err := h.Set(t.Context(), "a", isOff, 0)
		require.ErrorIs(t, err, powersync.ErrNotReached)
		require.ErrorIs(t, err, errDead)
		requireNotSet(t, h, err)
	})
}

func TestSoftRequestsHaveATimeOfTheirOwnAndDoNotBecomeHardOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for within, want := range map[time.Duration]time.Duration{
			0: powersync.DefaultSoftTimeout, -1: powersync.DefaultSoftTimeout, 5 * time.Second: 5 * time.Second,
		} {
			h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
			h.deaf["a"] = true
			start := time.Now()
			err := h.Set(t.Context(), "a", states.PowerSoftOff, within)
			require.ErrorIs(t, err, powersync.ErrNotReached)
			requireNotSet(t, h, err)
			require.Equal(t, want, time.Since(start))
			_, sets := h.calls()
			require.Equal(t, []string{"a soft power off"}, sets)
		}
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
		h.refuse["a"] = errors.ErrUnsupported
		require.ErrorIs(t, h.Set(t.Context(), "a", states.PowerSoftRebooting, 0), errors.ErrUnsupported)
	})
}

func TestARequestToleratesADriverThatHangsDuringTheWait(t *testing.T) {
	for readsBefore, want := range map[int]string{
		0: "the call does not return: context deadline exceeded",
		1: `it is in "power on"`,
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
			h.deaf["a"] = true
			let := make(chan struct{})
			h.onSet = func(context.Context, string) {
				reads := 0
				h.onRead = func(context.Context, string) {
					if reads++; reads > readsBefore {
						<-let
					}
				}
			}
			start := time.Now()
			err := h.Set(t.Context(), "a", isOff, 5*time.Second)
			require.ErrorIs(t, err, powersync.ErrNotReached)
			require.EqualError(t, err, `node a: request for "power off" failed: power state not reached: "power off" within 5s: `+want)
			require.Equal(t, 7*time.Second, time.Since(start))
			requireNotSet(t, h, err)
			close(let)
			synctest.Wait()
		})
	}
}

func TestARequestEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
		h.deaf["a"] = true
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := h.Set(ctx, "a", states.PowerSoftOff, 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		requireNotSet(t, h, err)
		_, sets := h.calls()
		require.Equal(t, []string{"a soft power off"}, sets)
	})
}

func TestRoundsAndRequestsDoNotMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
		h.deaf["a"] = true
		h.onSet = func(context.Context, string) { time.AfterFunc(10*time.Second, func() { h.set("a", isOff) }) }
		done := make(chan error)
		go func() { done <- h.Set(t.Context(), "a", isOff, 0) }()
		synctest.Wait()
		require.Equal(t, powersync.SkippedTarget, h.round(t))
		require.ErrorIs(t, h.Set(t.Context(), "a", isOn, 0), powersync.ErrLocked)
		require.Equal(t, 1, h.Stats().Reserved)
		require.NoError(t, <-done)
		require.Equal(t, powersync.Equal, h.round(t))
		require.Zero(t, h.Stats().Reserved)
	})
}

func TestHardwareThatReportsNoPowerStateIsSet(t *testing.T) {
	for _, read := range []states.Power{states.NoPower, states.PowerError} {
		h := newFixture(t, newHardware(read), nodes(powersync.Record{ProvisionState: states.Active}))
		require.NoError(t, h.Set(context.Background(), "a", isOn, 0))
		require.Equal(t, isOn, h.record(t, "a").Power)
	}
}
