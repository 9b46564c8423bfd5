// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"iter"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// manyRounds is two weeks of rounds at the default interval.
var manyRounds = unraced(10_000)

func TestADriverThatNeverReturnsCostsOneGoroutineANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let, open := gate()
		defer open()
		h := newFixture(t, newHardware(isOn, isOn, isOn), nodes(node(isOn), node(isOn), powerFailure(isOn)),
			func(c *powersync.Config) { c.MaxRetries = 4 * manyRounds })
		h.onRead = func(_ context.Context, id string) {
			if id != "b" {
				<-let
			}
		}
		both := func() {
			_, err := h.Sync(t.Context())
			require.NoError(t, err)
			_, err = h.Recover(t.Context())
			require.NoError(t, err)
		}
		both()
		require.Equal(t, 2, h.Stats().Abandoned)
		synctest.Wait()
		before, start := runtime.NumGoroutine(), time.Now()
		for range manyRounds {
			both()
		}
		synctest.Wait()
		require.Less(t, runtime.NumGoroutine(), before+manyRounds/2, "others may have started some, but not for each round")
		require.Zero(t, time.Since(start), "nobody waits for the old calls")
		require.Equal(t, 2, h.Stats().Abandoned)
		require.Equal(t, 1+manyRounds, h.Stats().Nodes[powersync.Equal], "the other node is fine")
		require.ErrorIs(t, h.lastEvent().Err, powersync.ErrAbandoned)
		require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), powersync.ErrAbandoned)

		open()
		synctest.Wait()
		both()
		require.Equal(t, 3+manyRounds, h.Stats().Nodes[powersync.Equal], "the calls have returned")
		require.Equal(t, powersync.Recovered, h.lastEvent().Outcome)
	})
}

func TestADriverHasOneCallAtATimeForANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
		var busy, most atomic.Int32
		h.onRead = func(context.Context, string) {
			most.Store(max(most.Load(), busy.Add(1)))
			time.Sleep(powersync.DefaultTimeout - time.Second)
			busy.Add(-1)
		}
		var all sync.WaitGroup
		all.Go(func() { h.round(t) })
		synctest.Wait()
		all.Go(func() {
			require.NoError(t, h.Set(t.Context(), "a", isOff, 0), "the wait is not part of the call's time")
		})
		all.Wait()
		require.Equal(t, int32(1), most.Load())
		require.Equal(t, isOff, h.record(t, "a").Power)
	})
}

func TestACallHasADeadlineAndTheValuesOfItsRound(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
		h.onRead = func(ctx context.Context, _ string) {
			deadline, _ := ctx.Deadline()
			require.Equal(t, powersync.DefaultTimeout, time.Until(deadline))
			require.Equal(t, "round", ctx.Value(key{}))
			<-ctx.Done()
			time.Sleep(time.Second)
		}
		_, err := h.Sync(context.WithValue(t.Context(), key{}, "round"))
		require.NoError(t, err)
		require.Equal(t, 1, h.Stats().Nodes[powersync.Equal], "an answer within the grace counts")
		require.Zero(t, h.Stats().Abandoned)
	})
}

// A BMC that refuses a power on for a minute is asked again meanwhile.
func TestARequestForAPowerStateMayTakeLongerThanARead(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: 5 * time.Minute, time.Second: 5 * time.Minute, time.Hour: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t, newHardware(isOff, isOff), nodes(node(isOff), node(isOn)), func(c *powersync.Config) { c.Timeout = timeout })
			sets := 0
			h.onSet = func(ctx context.Context, _ string) {
				deadline, _ := ctx.Deadline()
				require.Equal(t, want, time.Until(deadline))
				sets++
			}
			require.NoError(t, h.Set(t.Context(), "a", isOn, 0))
			_, err := h.Sync(t.Context())
			require.NoError(t, err)
			require.Equal(t, 2, sets, "one in the round")
		})
	}
}

func TestAnAbandonedCallHasTheCauseOfItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let, open := gate()
		defer open()
		h := newFixture(t, newHardware(isOn, isOn), nodes(node(isOn), node(isOn)))
		h.onRead = func(context.Context, string) { <-let }
		require.ErrorContains(t, h.Set(t.Context(), "a", isOff, 0), "no answer in 1m0s: the call does not return")

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := h.Set(ctx, "b", isOff, 0)
		require.ErrorIs(t, err, powersync.ErrAbandoned)
		require.NotContains(t, err.Error(), "no answer in")
	})
}

// gate returns a channel and a function that closes it, once.
func gate() (<-chan struct{}, func()) {
	c := make(chan struct{})
	return c, sync.OnceFunc(func() { close(c) })
}

// eachMisbehaviour runs a test for each way in which the caller's code may fail to
// return. A call that hangs does so until open is called.
func eachMisbehaviour(t *testing.T, test func(t *testing.T, do, open func())) {
	for name, do := range map[string]func(){
		"panic":  func() { panic(secret) },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, do, func() {}) })
		})
	}
	t.Run("hang", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			let, open := gate()
			defer open()
			test(t, func() { <-let }, open)
		})
	})
}

func TestADriverThatMisbehavesCostsOneNodeOneFailure(t *testing.T) {
	eachMisbehaviour(t, func(t *testing.T, do, open func()) {
		h := newFixture(t, newHardware(isOn, isOn, isOff), nodes(node(isOn), node(isOn), node(isOn)),
			func(c *powersync.Config) { c.Workers = 1 })
		h.onRead = func(_ context.Context, id string) {
			if id == "a" {
				do()
			}
		}
		h.onSet = func(context.Context, string) { do() }
		report, err := h.Sync(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, report.Nodes[powersync.ReadFailed])
		require.Equal(t, 1, report.Nodes[powersync.Equal])
		require.Equal(t, 1, report.Nodes[powersync.ForceFailed])
		require.Empty(t, h.record(t, "c").Reservation)
		open()
		synctest.Wait()
	})
}

// misbehaving is a store of which some calls misbehave.
type misbehaving struct {
	powersync.Store
	do   func()
	what atomic.Int32 // the calls that misbehave: 0 for none, or one of these
}

const (
	nodesMisbehave = iota + 1
	theListMisbehaves
)

func (m *misbehaving) instead(what int32) {
	if m.what.Load() == what {
		m.do()
	}
}

func (m *misbehaving) Load(ctx context.Context, id string) (powersync.Record, error) {
	if id == "a" {
		m.instead(nodesMisbehave)
	}
	return m.Store.Load(ctx, id)
}

func (m *misbehaving) Update(ctx context.Context, r powersync.Record) error {
	if r.ID == "b" {
		m.instead(nodesMisbehave)
	}
	return m.Store.Update(ctx, r)
}

func (m *misbehaving) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		i := 0
		for r, err := range m.Store.Records(ctx) {
			if i++; i == 2 {
				m.instead(theListMisbehaves)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func TestAStoreThatMisbehavesCostsItsNodesOneFailure(t *testing.T) {
	eachMisbehaviour(t, func(t *testing.T, do, open func()) {
		store := &misbehaving{do: do}
		h := newFixture(t, newHardware(isOn, isOn, isOn), nodes(node(isOn), node(unknown), node(isOn)), func(c *powersync.Config) {
			store.Store, c.Store = c.Store, store
		})
		store.what.Store(nodesMisbehave)
		for range 3 {
			report, err := h.Sync(t.Context())
			require.NoError(t, err)
			require.Equal(t, 2, report.Nodes[powersync.StoreFailed])
			require.Equal(t, 1, report.Nodes[powersync.Equal])
		}
		store.what.Store(theListMisbehaves)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := h.Sync(ctx)
		require.Error(t, err, "not all nodes were listed")

		open()
		synctest.Wait()
		store.what.Store(0)
		report, err := h.Sync(t.Context())
		require.NoError(t, err)
		require.Zero(t, report.Failed)
	})
}

// mislogger is a handler that misbehaves instead of logging.
type mislogger struct {
	slog.Handler
	do func()
}

func (m mislogger) Handle(context.Context, slog.Record) error {
	m.do()
	return nil
}

func TestCallbacksThatMisbehaveNeitherEndNorHangARound(t *testing.T) {
	eachMisbehaviour(t, func(t *testing.T, do, open func()) {
		const n = 26
		h := newHardware()
		records := make([]powersync.Record, n)
		for i := range n {
			h.dead[name(i)] = true
			records[i] = node(isOn)
		}
		fixture := newFixture(t, h, records, func(c *powersync.Config) {
			c.MaxRetries = 1000
			c.OnEvent = func(powersync.Event) { do() }
			c.OnReport = func(powersync.Report, error) { do() }
			c.Logger = slog.New(mislogger{slog.NewTextHandler(&strings.Builder{}, nil), do})
		})
		ctx, cancel := context.WithTimeout(t.Context(), 59*time.Minute)
		defer cancel()
		require.ErrorIs(t, fixture.Run(ctx), context.DeadlineExceeded)
		stats := fixture.Stats()
		require.GreaterOrEqual(t, stats.Rounds, 28)
		require.Equal(t, n*stats.Rounds, stats.Nodes[powersync.ReadFailed])
		require.GreaterOrEqual(t, stats.Dropped, 2*n*stats.Rounds)
		open()
		synctest.Wait()
	})
}

func TestACallbackIsCalledAgainOnceItHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let, open := gate()
		defer open()
		var calls atomic.Int32
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) {
			c.MaxRetries = 1000
			c.OnEvent = func(powersync.Event) {
				calls.Add(1)
				<-let
			}
		})
		h.kill("a", true)
		for range 5 {
			h.round(t)
		}
		require.Equal(t, int32(1), calls.Load())
		require.Equal(t, 5, h.Stats().Dropped)
		open()
		synctest.Wait()
		h.round(t)
		require.Equal(t, int32(2), calls.Load())
	})
}

func TestAStoreOrADriverThatIsANilPointerIsReported(t *testing.T) {
	store := new(powersync.Memory)
	store.Put(powersync.Record{ID: "a", ProvisionState: states.Active, Power: isOn})
	s, err := powersync.New(powersync.Config{Store: store, Driver: (*hardware)(nil)})
	require.NoError(t, err)
	report, err := s.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, report.Nodes[powersync.ReadFailed])

	s, err = powersync.New(powersync.Config{Store: (*powersync.Memory)(nil), Driver: newHardware()})
	require.NoError(t, err)
	_, err = s.Sync(t.Context())
	require.ErrorAs(t, err, new(*machine.PanicError))
	require.ErrorAs(t, s.Set(t.Context(), "a", isOn, 0), new(*machine.PanicError))
}
