// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/powersync"
)

// released reports whether a record releases its node.
func released(r powersync.Record) bool { return r.Reservation == "" }

func TestARoundAmidAReadLeavesWhatARequestCouldNotStore(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOff), nodes(node(isOn)))
	whileReading := true
	h.onRead = func(context.Context, string) {
		if !whileReading {
			return
		}
		whileReading = false
		finish, err := h.Begin(t.Context(), "a", isOff, 0)
		require.NoError(t, err)
		f.update = func(powersync.Record) error { return errStore }
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, finish(ended), powersync.ErrNotSaved)
	}
	require.Equal(t, powersync.SkippedReservation, h.round(t))
	require.Equal(t, "this", h.record(t, "a").Reservation)

	f.update = nil
	require.Equal(t, powersync.Forced, h.round(t))
	r := h.record(t, "a")
	require.Empty(t, r.Reservation)
	require.Contains(t, r.LastError, "context canceled", "what came of the request is stored")
	require.Zero(t, h.Stats().Reserved)
}

func TestAReservationThatTheStoreDeniedIsDroppedByTheNextRound(t *testing.T) {
	for name, strike := range map[string]error{"a conflict": powersync.ErrConflict, "an error": errStore} {
		t.Run(name, func(t *testing.T) {
			h, f := newFlakyFixture(t, newHardware(isOff), nodes(node(isOn)))
			f.after = true
			f.load = func(string) error {
				if h.record(t, "a").Reservation != "" {
					return errStore // the update is made nevertheless
				}
				return nil
			}
			f.update = func(r powersync.Record) error {
				if !released(r) {
					return strike
				}
				return nil
			}
			require.NotEqual(t, powersync.Forced, h.round(t))
			require.Equal(t, "this", h.record(t, "a").Reservation)

			f.load, f.update = nil, nil
			require.Equal(t, powersync.Forced, h.round(t))
			require.Empty(t, h.record(t, "a").Reservation)
			require.Zero(t, h.Stats().Reserved)
		})
	}
}

func TestAReleaseThatTheStoreDeniedCounts(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOn), nodes(node(isOn)))
	f.after = true
	f.update = func(r powersync.Record) error {
		if released(r) {
			return powersync.ErrConflict
		}
		return nil
	}
	require.NoError(t, h.Set(t.Context(), "a", isOff, 0))
	require.Equal(t, node(isOff), without(h.record(t, "a")))
	require.Zero(t, h.Stats().Reserved)
}

// lagging is a store whose next loads return the record from before the last update.
type lagging struct {
	powersync.Store
	lag    int
	before powersync.Record
}

func (l *lagging) Load(ctx context.Context, id string) (powersync.Record, error) {
	if l.lag > 0 && l.before.ID == id {
		l.lag--
		return l.before, nil
	}
	return l.Store.Load(ctx, id)
}

func (l *lagging) Update(ctx context.Context, r powersync.Record) error {
	before, err := l.Store.Load(ctx, r.ID)
	if err == nil {
		err = l.Store.Update(ctx, r)
	}
	if err == nil {
		l.before, l.lag = before, 3
	}
	return err
}

func TestAnOldRecordDoesNotHideAReservation(t *testing.T) {
	store := new(lagging)
	h := newFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) { store.Store, c.Store = c.Store, store })
	require.NoError(t, h.Set(t.Context(), "a", isOff, 0))
	require.Equal(t, node(isOff), without(h.record(t, "a")))
	for _, e := range h.allEvents() {
		require.NotEqual(t, powersync.Reclaimed, e.Outcome)
	}
}

func TestARequestReclaimsALostReservation(t *testing.T) {
	left := node(isOn)
	left.Reservation, left.TargetPower = "this", isOn
	h := newFixture(t, newHardware(isOn), nodes(left))
	require.NoError(t, h.Set(t.Context(), "a", isOff, 0))
	require.Equal(t, isOff, h.record(t, "a").Power)
	require.Equal(t, powersync.Reclaimed, h.allEvents()[0].Outcome)
}

func TestAReservationInAStateThatRoundsLeaveAloneIsDroppedToo(t *testing.T) {
	for s := range excluded.All() {
		h := newFixture(t, newHardware(isOn), nodes(powersync.Record{ProvisionState: s, Maintenance: true, Reservation: "this"}))
		h.round(t)
		require.Empty(t, h.record(t, "a").Reservation, "%v", s)
	}
}

func TestARoundDoesNotWaitForAStoreThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 20
		h := newHardware()
		var records []powersync.Record
		for i := range n {
			h.power[name(i)] = isOn
			records = append(records, node(isOn))
		}
		fixture, f := newFlakyFixture(t, h, records)
		f.update = func(r powersync.Record) error {
			if released(r) {
				return errStore
			}
			return nil
		}
		for i := range n {
			require.ErrorIs(t, fixture.Set(t.Context(), name(i), isOff, 0), powersync.ErrNotSaved)
		}
		f.load = func(string) error { time.Sleep(time.Minute); return errStore }
		start := time.Now()
		_, err := fixture.Sync(t.Context())
		require.NoError(t, err)
		rounds := time.Duration(1 + n/powersync.DefaultWorkers)
		require.Less(t, time.Since(start), (rounds+1)*(powersync.DefaultTimeout+2*time.Second))

		bubble.Sleep(time.Minute) // until the last of the loads has returned
		f.load, f.update = nil, nil
		require.Equal(t, powersync.Equal, fixture.round(t))
		require.Zero(t, fixture.Stats().Reserved)
	})
}

func TestARequestStoresWhatTheOneBeforeCouldNot(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOn), nodes(node(isOn)))
	f.update = noRelease
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), powersync.ErrNotSaved)
	require.ErrorIs(t, h.Set(t.Context(), "a", isOn, 0), powersync.ErrNotSaved, "the store is still down")
	f.update = nil
	require.NoError(t, h.Set(t.Context(), "a", isOn, 0))
	require.Equal(t, node(isOn), without(h.record(t, "a")))
	require.Equal(t, []powersync.Outcome{
		powersync.PowerRequested, powersync.PowerSet, powersync.SavedLate, powersync.PowerRequested, powersync.PowerSet,
	}, h.outcomes())
}

func TestANodeThatIsDeletedWhileItIsHeldIsForgotten(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOn), nodes(node(isOn)))
	f.update = noRelease
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), powersync.ErrNotSaved)
	require.Equal(t, 1, h.Stats().Reserved)
	h.store.Delete("a")
	h.round(t)
	require.Zero(t, h.Stats().Reserved)
}

// A round makes one load for each node, and a start makes one for each reservation in
// the Syncer's name.
func TestNodesThatNeedNothingAreLoadedOnceByARoundAndNotAtAllByReclaim(t *testing.T) {
	own, foreign := node(isOn), node(isOn)
	own.Reservation, foreign.Reservation = "this", "another"
	h, f := newFlakyFixture(t, newHardware(isOn, isOn, isOn), nodes(node(isOn), own, foreign), func(c *powersync.Config) { c.Workers = 1 })
	var loads []string
	f.load = func(id string) error {
		loads = append(loads, id)
		return nil
	}
	_, err := h.Reclaim(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, loads)
	loads = nil
	_, err = h.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, loads, "somebody else works on the third")
}

func TestReclaimReturnsTheErrorsOfRecordsThatCannotBeListed(t *testing.T) {
	left := node(isOn)
	left.Reservation = "this"
	h, f := newFlakyFixture(t, newHardware(isOn, isOn), nodes(left, left))
	f.records = func(i int) error { return []error{errStore, nil}[i] }
	n, err := h.Reclaim(t.Context())
	require.ErrorIs(t, err, errStore)
	require.Equal(t, 1, n)
	require.Equal(t, left, without(h.record(t, "a")))
	require.Equal(t, node(isOn), without(h.record(t, "b")))
}

func TestAReservationIsReclaimedAlsoWhereTheRecordChangesMeanwhile(t *testing.T) {
	left := node(isOn)
	left.Reservation = "this"
	h, f := newFlakyFixture(t, newHardware(isOn), nodes(left))
	conflicts := 2
	f.update = func(powersync.Record) error {
		if conflicts--; conflicts >= 0 {
			return powersync.ErrConflict
		}
		return nil
	}
	n, err := h.Reclaim(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, node(isOn), without(h.record(t, "a")))
}

func TestAReservationThatTheStoreDidAndNeverAnsweredIsDroppedOnceItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let, open := gate()
		defer open()
		h, f := newFlakyFixture(t, newHardware(isOff), nodes(node(isOn)))
		f.after = true
		f.update = func(powersync.Record) error {
			<-let
			return nil
		}
		for range 3 {
			require.Equal(t, powersync.StoreFailed, h.round(t))
			require.Equal(t, "this", h.record(t, "a").Reservation)
			require.ErrorIs(t, h.lastEvent().Err, powersync.ErrAbandoned)
		}
		open()
		synctest.Wait()
		require.Equal(t, powersync.Forced, h.round(t))
		require.Equal(t, node(isOn), without(h.record(t, "a")))
		require.Zero(t, h.Stats().Reserved)
	})
}

// A node may be both unsaved and failed; it is handled once.
func TestUnreleasedAndFailedNodesComeFirst(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOn, isOff, isOn), nodes(node(isOn), node(isOn), node(isOn)),
		func(c *powersync.Config) { c.Workers = 1 })
	h.refuse["b"] = errDead
	h.kill("c", true)
	f.update = noRelease
	_, err := h.Sync(t.Context())
	require.NoError(t, err)
	f.update = nil
	h.calls()
	report, err := h.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, report.Seen)
	reads, _ := h.calls()
	require.Equal(t, []string{"b", "b", "c", "a"}, reads, "also after the refusal")
}

func TestANodeThatFailedAndIsSkippedByNowIsCountedOnce(t *testing.T) {
	h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
	h.kill("a", true)
	require.Equal(t, powersync.ReadFailed, h.round(t))
	require.NoError(t, edit(h.store, "a", func(r *powersync.Record) { r.Maintenance = true }))
	report, err := h.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[powersync.Outcome]int{powersync.SkippedMaintenance: 1}, report.Nodes)
}

func TestAReleaseThatConflictsIsTriedFortyTimes(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOn), nodes(node(isOn)))
	releases := 0
	f.update = func(r powersync.Record) error {
		if !released(r) {
			return nil
		}
		releases++
		return powersync.ErrConflict
	}
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), powersync.ErrNotSaved)
	require.Equal(t, 40, releases)
	require.Equal(t, 1, h.Stats().Reserved)
}

func TestAnOutcomeThatTheStoreMadeIsNotLostWhenAnotherHoldsTheNodeByNow(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOn), nodes(node(isOn)))
	f.update, f.after = noRelease, true
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), powersync.ErrNotSaved)
	f.update = nil
	require.NoError(t, edit(h.store, "a", func(r *powersync.Record) { r.Reservation, r.TargetPower = "another", isOn }))
	require.Equal(t, powersync.SkippedTarget, h.round(t))
	require.Contains(t, h.outcomes(), powersync.SavedLate)
	require.Equal(t, "another", h.record(t, "a").Reservation)
}

func TestALostOutcomeIsAWarning(t *testing.T) {
	var log bytes.Buffer
	h, f := newFlakyFixture(t, newHardware(isOn), nodes(node(isOn)), logTo(&log, slog.LevelWarn))
	f.update = noRelease
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), powersync.ErrNotSaved)
	f.update = nil
	h.store.Delete("a")
	log.Reset()
	h.round(t)
	require.Contains(t, log.String(), `level=WARN msg="power outcome lost" node=a error=`)
}

func TestRunReleasesANodeSoonAfterTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := newFlakyFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) { c.Interval = time.Hour })
		var down atomic.Bool
		f.update = func(r powersync.Record) error {
			if down.Load() {
				return noRelease(r)
			}
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Run(ctx) }()
		bubble.Sleep(time.Minute)
		down.Store(true)
		require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), powersync.ErrNotSaved)
		bubble.Sleep(time.Minute)
		require.Equal(t, "this", h.record(t, "a").Reservation)

		down.Store(false)
		bubble.Sleep(6 * time.Second)
		require.Equal(t, node(isOff), without(h.record(t, "a")))
		require.Zero(t, h.Stats().Reserved)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

// fromZero is a store whose first revision is 0.
type fromZero struct{ *powersync.Memory }

func (s fromZero) Load(ctx context.Context, id string) (powersync.Record, error) {
	r, err := s.Memory.Load(ctx, id)
	r.Revision--
	return r, err
}

func (s fromZero) Update(ctx context.Context, r powersync.Record) error {
	r.Revision++
	return s.Memory.Update(ctx, r)
}

func TestARecordOfRevision0IsNotTakenForAStaleOne(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) {
		c.Store = fromZero{c.Store.(*powersync.Memory)}
	})
	f.update = func(powersync.Record) error { return errStore }
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), errStore)
	require.Zero(t, h.Stats().Reserved)
}

func TestReclaimEndsWithItsContext(t *testing.T) {
	left := node(isOn)
	left.Reservation = "this"
	h, f := newFlakyFixture(t, newHardware(), nodes(left, left, left))
	ctx, cancel := context.WithCancel(t.Context())
	f.after = true
	f.update = func(powersync.Record) error { cancel(); return nil }
	n, err := h.Reclaim(ctx)
	require.Equal(t, 1, n)
	require.EqualError(t, err, "context canceled", "once, and not for each node")
	require.Equal(t, "this", h.record(t, "b").Reservation)
}
