// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/schedules"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// unraced returns n, or a tenth of it with the race detector, which makes the tests ten times slower.
func unraced(n int) int {
	if schedules.Raced {
		return n / 10
	}
	return n
}

var errDead = errors.New("no route to host")

// hardware is a Driver of simulated machines. A machine without an entry in its power
// states cannot be read.
type hardware struct {
	mu     sync.Mutex
	power  map[string]states.Power
	dead   map[string]bool // reads and sets fail
	deaf   map[string]bool // sets succeed without effect
	refuse map[string]error
	reads  []string
	sets   []string // "node power off"

	onRead func(ctx context.Context, id string) // called before a read
	onSet  func(ctx context.Context, id string) // called before a set
}

// newHardware returns machines "a", "b", ... in these power states.
func newHardware(power ...states.Power) *hardware {
	h := &hardware{
		power:  map[string]states.Power{},
		dead:   map[string]bool{},
		deaf:   map[string]bool{},
		refuse: map[string]error{},
	}
	for i, p := range power {
		h.power[name(i)] = p
	}
	return h
}

func name(i int) string { return string(rune('a' + i)) }

func (h *hardware) PowerState(ctx context.Context, id string) (states.Power, error) {
	if h.onRead != nil {
		h.onRead(ctx, id)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads = append(h.reads, id)
	if h.dead[id] {
		return states.NoPower, errDead
	}
	return h.power[id], nil
}

func (h *hardware) SetPower(ctx context.Context, id string, power states.Power) error {
	if h.onSet != nil {
		h.onSet(ctx, id)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sets = append(h.sets, id+" "+power.String())
	switch {
	case h.dead[id]:
		return errDead
	case h.refuse[id] != nil:
		return h.refuse[id]
	case !h.deaf[id]:
		h.power[id] = power.Target()
	}
	return nil
}

func (h *hardware) set(id string, power states.Power) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.power[id] = power
}

func (h *hardware) kill(id string, dead bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dead[id] = dead
}

// calls returns the reads and sets since the last call.
func (h *hardware) calls() (reads, sets []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	reads, sets = h.reads, h.sets
	h.reads, h.sets = nil, nil
	return reads, sets
}

// fixture is a Syncer over hardware and a store in memory, and its events.
type fixture struct {
	*powersync.Syncer
	*hardware
	store *powersync.Memory

	mu     sync.Mutex
	events []powersync.Event
}

// newFixture makes a fixture of machines "a", "b", ... with these records, whose IDs
// it sets.
func newFixture(t testing.TB, h *hardware, records []powersync.Record, set ...func(*powersync.Config)) *fixture {
	t.Helper()
	fixture := &fixture{hardware: h, store: new(powersync.Memory)}
	for i, r := range records {
		r.ID = name(i)
		fixture.store.Put(r)
	}
	config := powersync.Config{Store: fixture.store, Driver: h, Name: "this", OnEvent: fixture.note}
	for _, s := range set {
		s(&config)
	}
	var err error
	fixture.Syncer, err = powersync.New(config)
	require.NoError(t, err)
	return fixture
}

func (h *fixture) note(e powersync.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// allEvents returns the events so far.
func (h *fixture) allEvents() []powersync.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// timeless returns the events so far without their times.
func (h *fixture) timeless() []powersync.Event {
	events := h.allEvents()
	for i := range events {
		events[i].Time = time.Time{}
	}
	return events
}

// outcomes returns the outcomes of the events so far.
func (h *fixture) outcomes() (all []powersync.Outcome) {
	for _, e := range h.allEvents() {
		all = append(all, e.Outcome)
	}
	return all
}

// round does a sync round and returns the outcome that all its nodes have.
func (h *fixture) round(t testing.TB) powersync.Outcome {
	t.Helper()
	report, err := h.Sync(t.Context())
	require.NoError(t, err)
	return onlyOutcome(t, report)
}

func onlyOutcome(t testing.TB, report powersync.Report) powersync.Outcome {
	t.Helper()
	var only powersync.Outcome
	for o, n := range report.Nodes {
		require.Equal(t, report.Seen, n, "%v", report)
		only = o
	}
	return only
}

// edit changes a node's record as somebody other than the Syncer does.
func edit(s powersync.Store, id string, change func(*powersync.Record)) error {
	for {
		r, err := s.Load(context.Background(), id)
		if err != nil {
			return err
		}
		change(&r)
		if err := s.Update(context.Background(), r); !errors.Is(err, powersync.ErrConflict) {
			return err
		}
	}
}

// record returns a record without its revision.
func (h *fixture) record(t testing.TB, id string) powersync.Record {
	t.Helper()
	r, err := h.store.Load(context.Background(), id)
	require.NoError(t, err)
	r.Revision = 0
	return r
}

// node is a record of an available node.
func node(power states.Power) powersync.Record {
	return powersync.Record{ProvisionState: states.Available, Power: power}
}

func nodes(records ...powersync.Record) []powersync.Record { return records }

const (
	unknown = states.NoPower
	isOn    = states.PowerOn
	isOff   = states.PowerOff
)
