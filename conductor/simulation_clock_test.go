// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
)

// simClocks are the conductors whose clocks are wrong: how far each is ahead, one jump after the other. Once the faults
// have ended, they are right.
type simClocks map[string][]time.Duration

// jumps is the time between two jumps of a clock.
const jumps = 7 * time.Minute

// most returns how far a time that a wrong clock has written may be in the future.
func (c simClocks) most() time.Duration {
	most := time.Duration(0)
	for _, offsets := range c {
		for _, offset := range offsets {
			most = max(most, offset.Abs())
		}
	}
	return most
}

// store returns the store as a conductor with its own clock sees it.
func (c simClocks) store(s *simStore) conductor.Store {
	if offsets := c[s.name]; len(offsets) > 0 {
		return &skewedStore{simStore: s, offsets: offsets, begun: time.Now()}
	}
	return s
}

// skewedStore makes a conductor's clock wrong. All conductors have the simulation's clock, so that the times in the records are
// shifted instead: back when a conductor whose clock is ahead reads them, and forward when it writes them.
type skewedStore struct {
	*simStore
	offsets []time.Duration
	begun   time.Time
}

// ahead returns how far the conductor's clock is ahead now.
func (s *skewedStore) ahead() time.Duration {
	if s.isCalm() {
		return 0
	}
	return s.offsets[int(time.Since(s.begun)/jumps)%len(s.offsets)]
}

var timeInRecord = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?"`)

// shift returns the record with all its times shifted.
func shift(r conductor.Record, by time.Duration) conductor.Record {
	r.Value = timeInRecord.ReplaceAllFunc(r.Value, func(text []byte) []byte {
		for _, layout := range []string{`"2006-01-02T15:04:05.999999999Z07:00"`, `"2006-01-02T15:04:05.000000"`} {
			if at, err := time.Parse(layout, string(text)); err == nil {
				return []byte(at.Add(by).Format(layout))
			}
		}
		return text
	})
	return r
}

func (s *skewedStore) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	r, err := s.simStore.Get(ctx, kind, key)
	return shift(r, -s.ahead()), err
}

func (s *skewedStore) List(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
	page, err := s.simStore.List(ctx, kind, after, limit)
	for i, r := range page {
		page[i] = shift(r, -s.ahead())
	}
	return page, err
}

func (s *skewedStore) Create(ctx context.Context, r conductor.Record) (int64, error) {
	return s.simStore.Create(ctx, shift(r, s.ahead()))
}

func (s *skewedStore) Update(ctx context.Context, r conductor.Record) (int64, error) {
	return s.simStore.Update(ctx, shift(r, s.ahead()))
}

func (s *skewedStore) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	return func(yield func(conductor.Change, error) bool) {
		for change, err := range s.simStore.Watch(ctx, kind) {
			change.Record = shift(change.Record, -s.ahead())
			if !yield(change, err) {
				return
			}
		}
	}
}

// TestSimulationWithAClockThatJumps runs the simulation with one conductor whose clock jumps by hours, ahead and back. The
// rules are those of TestSimulation; only waits may end early or late.
func TestSimulationWithAClockThatJumps(t *testing.T) {
	count := max(*simulations/3, 1)
	if testing.Short() {
		count = max(count/10, 1)
	}
	clocks := simClocks{"alpha": {0, 5 * time.Hour, -7 * time.Hour, 30 * time.Minute}}
	for i := range count {
		seed := *firstSeed + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { simulateClocks(t, seed, nil, clocks) })
		})
	}
}

func TestTheTimesOfARecordAreShifted(t *testing.T) {
	r := conductor.Record{Value: []byte(`{"a":"2026-11-22T20:00:00.5Z","b":"2026-11-22T20:00:00.000005","c":"2026"}`)}
	r = shift(r, 5*time.Hour)
	require.JSONEq(t, `{"a":"2026-11-23T01:00:00.5Z","b":"2026-11-23T01:00:00.000005","c":"2026"}`, string(r.Value))
}
