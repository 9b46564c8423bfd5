// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"iter"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/powersync/storetest"
	"github.com/ironstate/ironstate/states"
)

// mixedUp is a store that loads one node's record for every node.
type mixedUp struct{ powersync.Store }

func (m mixedUp) Load(ctx context.Context, _ string) (powersync.Record, error) {
	return m.Store.Load(ctx, "a")
}

func TestARecordOfAnotherNodeIsAFailureOfTheStore(t *testing.T) {
	h := newFixture(t, newHardware(isOn, isOff), nodes(node(isOn), node(isOff)), func(c *powersync.Config) { c.Store = mixedUp{c.Store} })
	report, err := h.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[powersync.Outcome]int{powersync.Equal: 1, powersync.StoreFailed: 1}, report.Nodes)
	require.EqualError(t, h.lastEvent().Err, `asked for node "b", the store loaded "a"`)
	require.ErrorContains(t, h.Set(t.Context(), "b", isOn, 0), `asked for node "b", the store loaded "a"`)
	_, sets := h.calls()
	require.Empty(t, sets)
}

// endless is a store whose list continues once let is closed, even if its context has
// ended.
type endless struct {
	powersync.Store
	let <-chan struct{}
}

func (e endless) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		<-e.let
		e.Store.Records(ctx)(yield)
	}
}

func TestARoundThatHasEndedCountsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let, open := gate()
		defer open()
		h := newFixture(t, newHardware(isOn), nodes(powersync.Record{ProvisionState: states.Enroll}),
			func(c *powersync.Config) { c.Store = endless{c.Store, let} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		report, err := h.Sync(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		open()
		synctest.Wait()
		require.Zero(t, report.Seen)
		require.Zero(t, h.Stats().Seen)
	})
}

// releases is a store that records the time limit of an update that releases a node.
type releases struct {
	powersync.Store
	within *time.Duration
}

func (r releases) Update(ctx context.Context, record powersync.Record) error {
	if released(record) {
		deadline, _ := ctx.Deadline()
		*r.within = time.Until(deadline)
	}
	return r.Store.Update(ctx, record)
}

func TestOtherTimesAreDerivedFromTheTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]struct{ grace, release, callback time.Duration }{
		4 * time.Second:          {500 * time.Millisecond, time.Second, 500 * time.Millisecond},
		powersync.DefaultTimeout: {2 * time.Second, 10 * time.Second, 7500 * time.Millisecond},
		time.Hour:                {2 * time.Second, 10 * time.Second, 10 * time.Second},
	} {
		t.Run(timeout.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				let, open := gate()
				defer open()
				within := new(time.Duration)
				h := newFixture(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) {
					c.Timeout, c.Store, c.OnEvent = timeout, releases{c.Store, within}, nil
				})
				require.NoError(t, h.Set(t.Context(), "a", isOff, 0))
				require.Equal(t, want.release, *within)

				h.onRead = func(context.Context, string) { <-let }
				start := time.Now()
				require.Equal(t, powersync.ReadFailed, h.round(t))
				require.Equal(t, timeout+want.grace, time.Since(start))

				h = newFixture(t, newHardware(isOff), nodes(node(isOn)), func(c *powersync.Config) {
					c.Timeout, c.OnEvent = timeout, func(powersync.Event) { <-let }
				})
				start = time.Now()
				require.Equal(t, powersync.Forced, h.round(t))
				require.Equal(t, want.callback, time.Since(start))
				open()
				synctest.Wait()
			})
		})
	}
}

func TestMemoryIsAStore(t *testing.T) {
	require.NoError(t, storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
		m := new(powersync.Memory)
		for _, r := range records {
			m.Put(r)
		}
		return m, nil
	}))
}

func TestMemoryIsFilledAndEmptied(t *testing.T) {
	m := new(powersync.Memory)
	m.Delete("a")
	m.Put(powersync.Record{})
	require.Empty(t, ids(t, m))

	m.Put(powersync.Record{ID: "a"})
	m.Put(powersync.Record{ID: "b"})
	m.Put(powersync.Record{ID: "a", Maintenance: true})
	require.Equal(t, []string{"a", "b"}, ids(t, m))
	r, err := m.Load(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, powersync.Record{ID: "a", Maintenance: true, Revision: r.Revision}, r)

	m.Delete("a")
	require.ErrorIs(t, m.Update(t.Context(), r), powersync.ErrNotFound)
	m.Put(powersync.Record{ID: "a"})
	require.ErrorIs(t, m.Update(t.Context(), r), powersync.ErrConflict, "another node of this name")
	m.Put(powersync.Record{ID: "c"})
	require.Equal(t, []string{"a", "b", "c"}, ids(t, m))
}

// ids returns the nodes of a store, sorted.
func ids(t *testing.T, s powersync.Store) []string {
	t.Helper()
	var ids []string
	for r, err := range s.Records(t.Context()) {
		require.NoError(t, err)
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

// heapOfASmallRound bounds the live heap of a round, in bytes.
const heapOfASmallRound = 1 << 20

func TestARoundsMemoryDoesNotGrowWithTheFleet(t *testing.T) {
	const workers = 8
	many := unraced(100_000)
	grown := int64(math.MaxInt64)
	for range 3 { // the rest of the process may allocate meanwhile
		grown = min(grown, heapOfRound(t, many, workers)-heapOfRound(t, 1_000, workers))
	}
	require.Less(t, grown, int64(heapOfASmallRound), "more bytes with %d nodes than with 1,000", many)
}
