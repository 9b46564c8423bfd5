// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
)

// simClocks are the conductors whose clocks are wrong: how far each is ahead, one jump after the other. Once the faults
// have ended, they are right.
type simClocks map[string][]time.Duration

// jumps is the time between two jumps of a clock.
const jumps = 7 * time.Minute

// most returns how far in the future a conductor may see a time of another clock, or of its own before a jump. It may
// see it so until it reads the record again.
func (c simClocks) most() time.Duration {
	first, last := time.Duration(0), time.Duration(0)
	for _, offsets := range c {
		first, last = min(first, slices.Min(offsets)), max(last, slices.Max(offsets))
	}
	return last - first
}

// store returns the store as a conductor with its own clock sees it.
func (c simClocks) store(s *simStore) conductor.Store {
	if offsets := c[s.name]; len(offsets) > 0 {
		return &skewedStore{simStore: s, offsets: offsets, begun: time.Now(), read: map[string]string{}, held: map[string]time.Duration{}}
	}
	return s
}

// skewedStore makes a conductor's clock wrong. All conductors have the simulation's clock, so that the times in the
// records are shifted instead: back when a conductor whose clock is ahead reads them, and forward when it writes
// them. A time that it has read is written as it was, whatever the clock has done since. While it holds a node, it
// sees the node's times shifted alike, since a time also says which work of a node a result belongs to.
type skewedStore struct {
	*simStore
	offsets []time.Duration
	begun   time.Time

	mu   sync.Mutex
	read map[string]string        // the times that the conductor has seen, as they stand in the store
	held map[string]time.Duration // how far the clock was ahead when the conductor reserved a record, or saw it last
}

// ahead returns how far the conductor's clock is ahead now.
func (s *skewedStore) ahead() time.Duration {
	if s.isCalm() {
		return 0
	}
	return s.offsets[int(time.Since(s.begun)/jumps)%len(s.offsets)]
}

var timeInRecord = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?"`)

// shift returns a time in a record, with its quotation marks, that much later.
func shift(text string, by time.Duration) string {
	for _, layout := range []string{`"2006-01-02T15:04:05.999999999Z07:00"`, `"2006-01-02T15:04:05.000000"`} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Add(by).Format(layout)
		}
	}
	return text
}

// seen returns a record of the store as the conductor sees it.
func (s *skewedStore) seen(r conductor.Record) conductor.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	ahead := s.aheadFor(r)
	r.Value = timeInRecord.ReplaceAllFunc(r.Value, func(stored []byte) []byte {
		text := shift(string(stored), -ahead)
		s.read[text] = string(stored)
		return []byte(text)
	})
	return r
}

// written returns a record of the conductor as it is stored.
func (s *skewedStore) written(r conductor.Record) conductor.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	ahead := s.aheadFor(r)
	r.Value = timeInRecord.ReplaceAllFunc(r.Value, func(text []byte) []byte {
		if stored, ok := s.read[string(text)]; ok {
			return []byte(stored)
		}
		return []byte(shift(string(text), ahead))
	})
	return r
}

// aheadFor returns how far the clock is ahead for the times of a record. The caller holds the lock.
func (s *skewedStore) aheadFor(r conductor.Record) time.Duration {
	ahead, ok := s.held[r.ID]
	if !ok || !bytes.Contains(r.Value, []byte(`"reservation":"`+s.name+`"`)) {
		ahead = s.ahead()
		s.held[r.ID] = ahead
	}
	return ahead
}

func (s *skewedStore) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	r, err := s.simStore.Get(ctx, kind, key)
	return s.seen(r), err
}

func (s *skewedStore) List(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
	page, err := s.simStore.List(ctx, kind, after, limit)
	for i, r := range page {
		page[i] = s.seen(r)
	}
	return page, err
}

func (s *skewedStore) Create(ctx context.Context, r conductor.Record) (int64, error) {
	return s.simStore.Create(ctx, s.written(r))
}

func (s *skewedStore) Update(ctx context.Context, r conductor.Record) (int64, error) {
	return s.simStore.Update(ctx, s.written(r))
}

func (s *skewedStore) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	return func(yield func(conductor.Change, error) bool) {
		for change, err := range s.simStore.Watch(ctx, kind) {
			change.Record = s.seen(change.Record)
			if !yield(change, err) {
				return
			}
		}
	}
}

// TestSimulationWithAClockThatJumps runs the simulation with one conductor whose clock jumps by hours, ahead and
// back. The rules are the same as in TestSimulation; only waits may end early or late.
//
// SECURITY.md: A conductor whose clock jumps by hours breaks no rule, since its membership depends on the time that
// passes.
func TestSimulationWithAClockThatJumps(t *testing.T) {
	count := max(histories()/3, 1)
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
	for text, want := range map[string]string{
		`"2026-11-22T20:00:00.5Z"`:     `"2026-11-23T01:00:00.5Z"`,
		`"2026-11-22T20:00:00.000005"`: `"2026-11-23T01:00:00.000005"`,
		`"2026"`:                       `"2026"`,
	} {
		require.Equal(t, want, shift(text, 5*time.Hour))
	}
}

// TestAClockThatJumpsDoesNotChangeATimeThatWasRead reads a record before a jump of the clock and writes it
// afterwards, with a new time.
func TestAClockThatJumpsDoesNotChangeATimeThatWasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &skewedStore{
			simStore: &simStore{world: &world{}},
			offsets:  []time.Duration{0, 5 * time.Hour},
			begun:    time.Now(),
			read:     map[string]string{},
			held:     map[string]time.Duration{},
		}
		r := clock.seen(conductor.Record{Value: []byte(`{"created_at":"2026-11-22T20:00:00Z"}`)})
		bubble.Sleep(jumps)
		r.Value = []byte(strings.TrimSuffix(string(r.Value), "}") + `,"updated_at":"2026-11-22T20:07:00Z"}`)
		require.JSONEq(t, `{"created_at":"2026-11-22T20:00:00Z","updated_at":"2026-11-23T01:07:00Z"}`, string(clock.written(r).Value))
	})
}
