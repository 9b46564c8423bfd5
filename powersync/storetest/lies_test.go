// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/powersync/storetest"
	"github.com/ironstate/ironstate/states"
)

// liar is a store that lies: each second Update does nothing and says that it is done, or each second Load returns
// the record as it was put.
type liar struct {
	*powersync.Memory
	unwritten, past bool

	mu    sync.Mutex
	calls int
	first map[string]powersync.Record
}

func newLiar(unwritten, past bool, records []powersync.Record) *liar {
	l := &liar{Memory: memory(records), unwritten: unwritten, past: past, first: map[string]powersync.Record{}}
	for r := range l.Memory.Records(context.Background()) {
		l.first[r.ID] = r
	}
	return l
}

// second reports whether this is a second call.
func (l *liar) second() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	return l.calls%2 == 0
}

func (l *liar) Load(ctx context.Context, id string) (powersync.Record, error) {
	if r, ok := l.first[id]; ok && l.past && l.second() {
		return r, nil
	}
	return l.Memory.Load(ctx, id)
}

func (l *liar) Update(ctx context.Context, r powersync.Record) error {
	if l.unwritten && l.second() {
		return nil
	}
	return l.Memory.Update(ctx, r)
}

// lies are the two kinds of lies, and both together.
var lies = map[string][2]bool{"writes that are not done": {true, false}, "the past": {false, true}, "both": {true, true}}

func TestALyingStoreIsFound(t *testing.T) {
	for name, lie := range lies {
		require.Error(t, storetest.Check(func(records ...powersync.Record) (powersync.Store, error) {
			return newLiar(lie[0], lie[1], records), nil
		}), name)
	}
}

// machines are a driver that counts its requests.
type machines struct {
	mu       sync.Mutex
	power    map[string]states.Power
	requests map[string][]states.Power
}

func (m *machines) PowerState(_ context.Context, id string) (states.Power, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.power[id], nil
}

func (m *machines) SetPower(_ context.Context, id string, power states.Power) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.power[id] = power
	m.requests[id] = append(m.requests[id], power)
	return nil
}

// With a store that lies, rounds and requests end. No machine gets more than one request in a round, nor a power state
// that no record had.
func TestALyingStoreLeadsToNoRequestThatNoRecordAsksFor(t *testing.T) {
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			var records []powersync.Record
			m := &machines{power: map[string]states.Power{}, requests: map[string][]states.Power{}}
			for _, id := range []string{"on", "off", "differs"} {
				records = append(records, powersync.Record{ID: id, ProvisionState: states.Active, Power: states.PowerOn})
				m.power[id] = states.PowerOn
			}
			records[1].Power, m.power["off"] = states.PowerOff, states.PowerOff
			m.power["differs"] = states.PowerOff
			s, err := powersync.New(powersync.Config{Store: newLiar(lie[0], lie[1], records), Driver: m, Name: "here"})
			require.NoError(t, err)
			const rounds = 20
			for range rounds {
				_, err := s.Sync(context.Background())
				require.NoError(t, err)
			}
			for id, requests := range m.requests {
				require.Equal(t, "differs", id, "the other machines are as their records say")
				require.LessOrEqual(t, len(requests), rounds)
				require.Equal(t, []states.Power{states.PowerOn}, slices.Compact(requests))
			}
			clear(m.requests)
			failed := 0
			for range rounds {
				if err := s.Set(context.Background(), "on", states.PowerOff, 0); err != nil {
					failed++ // the store has shown its lie
				}
			}
			require.Subset(t, []string{"on"}, slices.Collect(maps.Keys(m.requests)))
			require.LessOrEqual(t, len(m.requests["on"]), rounds)
			t.Logf("%d of %d requests have failed", failed, rounds)
		})
	}
}
