// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

const secret = "hunter2"

func TestAPanickingDriverCostsOneNodeOneFailure(t *testing.T) {
	h := newFixture(t, newHardware(isOn, isOn, isOff), nodes(node(isOn), node(isOn), node(isOn)))
	h.onRead = func(_ context.Context, id string) {
		if id == "a" {
			panic(secret)
		}
	}
	h.onSet = func(context.Context, string) { panic(errors.New(secret)) }
	report, err := h.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, report.Nodes[powersync.ReadFailed])
	require.Equal(t, 1, report.Nodes[powersync.Equal])
	require.Equal(t, 1, report.Nodes[powersync.ForceFailed])
	for _, e := range h.allEvents() {
		require.ErrorAs(t, e.Err, new(*machine.PanicError))
		require.NotContains(t, e.Err.Error(), secret)
	}
	r := h.record(t, "c")
	require.Contains(t, r.LastError, "panic")
	require.NotContains(t, r.LastError, secret)
	require.Empty(t, r.Reservation)

	for range 3 {
		_, err = h.Sync(t.Context())
		require.NoError(t, err)
	}
	require.True(t, h.record(t, "a").Maintenance)
	require.True(t, h.record(t, "c").Maintenance)
	require.False(t, h.record(t, "b").Maintenance)
}

// invalid is hardware whose Validate panics.
type invalid struct{ *hardware }

func (invalid) Validate(context.Context, string) error { panic(secret) }

func TestAbilitiesThatPanicCostOneFailure(t *testing.T) {
	h := newHardware(isOff, isOff)
	fixture := newFixture(t, h, nodes(node(isOn), node(unknown)), withDriver(invalid{h}), func(c *powersync.Config) {
		c.CanForce = func(string) bool { panic(secret) }
	})
	report, err := fixture.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, report.Nodes[powersync.ForceFailed])
	require.Equal(t, 1, report.Nodes[powersync.SkippedConfiguration])
	require.ErrorAs(t, fixture.Set(t.Context(), "a", isOn, 0), new(*machine.PanicError))
}

// flaky is a Store that fails or panics on demand.
type flaky struct {
	powersync.Store
	load    func(id string) error
	update  func(r powersync.Record) error
	after   bool // Update fails after the store has made the update
	records func(i int) error
}

func (f *flaky) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		i := 0
		for r, err := range f.Store.Records(ctx) {
			if f.records != nil && err == nil {
				err = f.records(i)
			}
			i++
			if !yield(r, err) {
				return
			}
		}
	}
}

func (f *flaky) Load(ctx context.Context, id string) (powersync.Record, error) {
	if f.load != nil {
		if err := f.load(id); err != nil {
			return powersync.Record{}, err
		}
	}
	return f.Store.Load(ctx, id)
}

func (f *flaky) Update(ctx context.Context, r powersync.Record) error {
	var err error
	if f.after {
		err = f.Store.Update(ctx, r)
	}
	if f.update != nil && err == nil {
		err = f.update(r)
	}
	if f.after || err != nil {
		return err
	}
	return f.Store.Update(ctx, r)
}

// newFlakyFixture is newFixture with a flaky store.
func newFlakyFixture(t *testing.T, h *hardware, records []powersync.Record, set ...func(*powersync.Config)) (*fixture, *flaky) {
	f := new(flaky)
	fixture := newFixture(t, h, records, append(set, func(c *powersync.Config) {
		f.Store, c.Store = c.Store, f
	})...)
	return fixture, f
}

var errStore = errors.New("disk full")

func TestAFailingStoreCostsOneNodeOneFailure(t *testing.T) {
	strike := map[string]func() error{
		"an error": func() error { return errStore },
		"a panic":  func() error { panic(secret) },
	}
	for name, err := range strike {
		t.Run(name, func(t *testing.T) {
			h, f := newFlakyFixture(t, newHardware(isOn, isOn, isOn), nodes(node(isOn), node(unknown), node(isOn)))
			f.load = func(id string) error {
				if id == "a" {
					return err()
				}
				return nil
			}
			f.update = func(powersync.Record) error { return err() }
			for range 6 {
				report, err := h.Sync(t.Context())
				require.NoError(t, err)
				require.Equal(t, 2, report.Nodes[powersync.StoreFailed])
				require.Equal(t, 1, report.Nodes[powersync.Equal])
			}
			require.Zero(t, h.Stats().Failing, "the nodes are not to blame")
			for _, e := range h.allEvents() {
				require.NotContains(t, e.Err.Error(), secret)
			}
		})
	}
}

func TestARecordThatCannotBeListedIsCountedAndTheOthersAreSeen(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOn, isOn), nodes(node(isOn), node(isOn)))
	f.records = func(i int) error { return []error{errStore, nil}[i] }
	report, err := h.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, report.Nodes[powersync.StoreFailed])
	require.Equal(t, 1, report.Nodes[powersync.Equal])

	f.records = func(i int) error { panic(secret) }
	report, err = h.Sync(t.Context())
	require.ErrorAs(t, err, new(*machine.PanicError), "a list that breaks off ends its round, and no other")
	require.Zero(t, report.Seen)
	f.records = nil
	require.Equal(t, powersync.Equal, h.round(t))
}

// A round handles a node that has failed before it lists the others.
func TestANodeThatFailedAndCannotBeListedHasOneOutcome(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOn, isOn), nodes(node(isOn), node(isOn)))
	h.kill("a", true)
	_, err := h.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, h.Stats().Failing)

	f.records = func(i int) error { return []error{errStore, nil}[i] }
	f.load = func(id string) error { return map[string]error{"a": errStore}[id] }
	report, err := h.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[powersync.Outcome]int{powersync.StoreFailed: 1, powersync.Equal: 1}, report.Nodes)
	require.Equal(t, 2, report.Seen)
	require.Equal(t, 1, report.Failed)
}

func TestAnOutcomeThatCouldNotBeStoredIsStoredLater(t *testing.T) {
	for _, strike := range []func() error{
		func() error { return errStore },
		func() error { panic(secret) },
		func() error { return powersync.ErrConflict },
	} {
		h, f := newFlakyFixture(t, newHardware(isOn), nodes(node(isOn)))
		f.update = func(r powersync.Record) error {
			if r.Reservation == "" {
				return strike()
			}
			return nil
		}
		err := h.Set(t.Context(), "a", isOff, 0)
		require.ErrorIs(t, err, powersync.ErrNotSaved)
		require.Equal(t, "this", h.record(t, "a").Reservation)
		require.Contains(t, []powersync.Outcome{powersync.StoreFailed, powersync.SkippedChanged}, h.round(t), "the store is still broken")
		require.Equal(t, isOff, h.power["a"], "nobody forces the node back on")

		f.update = nil
		require.Equal(t, powersync.Equal, h.round(t))
		require.Equal(t, node(isOff), without(h.record(t, "a")))
		require.Zero(t, h.Stats().Reserved)
	}
}

func TestAHoldThatTheStoreReportedAsFailedIsDropped(t *testing.T) {
	h, f := newFlakyFixture(t, newHardware(isOff), nodes(node(isOn)))
	f.after = true
	f.update = func(r powersync.Record) error {
		if r.Reservation != "" {
			return errStore
		}
		return nil
	}
	require.Equal(t, powersync.StoreFailed, h.round(t))
	require.Equal(t, node(isOn), without(h.record(t, "a")))
	require.Zero(t, h.Stats().Reserved)
}

func TestAReservationThatWasTakenAwayIsNotWrittenOver(t *testing.T) {
	h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
	h.onSet = func(_ context.Context, id string) {
		require.NoError(t, edit(h.store, id, func(r *powersync.Record) { r.Reservation = "somebody" }))
	}
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), powersync.ErrNotSaved)
	r := h.record(t, "a")
	require.Equal(t, "somebody", r.Reservation)
	require.Equal(t, isOn, r.Power)
	require.Zero(t, h.Stats().Reserved)
}

func TestAHangingDriverCostsOneTimeoutAndNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		h := newFixture(t, newHardware(isOn, isOn, isOn), nodes(node(isOn), node(isOn), node(isOn)),
			func(c *powersync.Config) { c.Workers = 1 })
		h.onRead = func(_ context.Context, id string) {
			if id == "a" {
				<-let
			}
		}
		start := time.Now()
		report, err := h.Sync(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, report.Nodes[powersync.ReadFailed])
		require.Equal(t, 2, report.Nodes[powersync.Equal])
		require.Equal(t, 62*time.Second, time.Since(start))
		require.ErrorIs(t, h.allEvents()[0].Err, context.DeadlineExceeded)
		require.Equal(t, 1, h.Stats().Abandoned)
		close(let)
		synctest.Wait()
	})
}

func TestPanicsOfCallbacksAreLogged(t *testing.T) {
	var log strings.Builder
	h := newFixture(t, newHardware(isOff, isOff), nodes(node(isOn), node(isOn)), func(c *powersync.Config) {
		c.Workers = 1
		c.OnEvent = func(powersync.Event) { panic(secret) }
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	require.Equal(t, powersync.Forced, h.round(t))
	require.Contains(t, log.String(), "callback=OnEvent")
	require.NotContains(t, log.String(), secret)
}

func TestAWrongDatabaseSwitchesNoFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 3
		h := newHardware()
		records := make([]powersync.Record, 20)
		for i := range records {
			records[i] = node(isOff)
			h.power[name(i)] = isOn
		}
		var times []time.Time
		h.onSet = func(context.Context, string) { times = append(times, time.Now()) }
		fixture := newFixture(t, h, records, func(c *powersync.Config) { c.ForceLimit, c.Workers = limit, 1 })
		held := 0
		for range 20 {
			report, err := fixture.Sync(t.Context())
			require.NoError(t, err)
			require.Zero(t, report.Nodes[powersync.IntoMaintenance], "what was held back does not count")
			held += report.Nodes[powersync.ForceLimited]
			bubble.Sleep(20 * time.Second)
		}
		require.Len(t, times, 20)
		require.Positive(t, held)
		for i, at := range times[limit:] {
			require.GreaterOrEqual(t, at.Sub(times[i]), time.Minute)
		}
	})
}

func TestTwoSyncersShareAStoreWithoutHarm(t *testing.T) {
	h := newHardware()
	records := make([]powersync.Record, 26)
	for i := range records {
		records[i] = node(isOn)
		h.power[name(i)] = []states.Power{isOn, isOff}[i%2]
	}
	one := newFixture(t, h, records)
	two, err := powersync.New(powersync.Config{Store: one.store, Driver: h, Name: "that"})
	require.NoError(t, err)
	done := make(chan error)
	go func() {
		_, err := two.Sync(t.Context())
		done <- err
	}()
	_, err = one.Sync(t.Context())
	require.NoError(t, errors.Join(err, <-done))
	for i := range records {
		require.Equal(t, node(isOn), without(one.record(t, name(i))))
	}
}
