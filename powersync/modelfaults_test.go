// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"errors"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// faulty holds the faults of a world's store, and their effects.
type faulty struct {
	faults  []fault // of the next updates
	stales  []bool  // whether the next loads return the record before the last update
	before  map[string]powersync.Record
	stale   bool            // a load was stale
	applied bool            // an update was made and reported an error
	stored  map[string]bool // the nodes whose release was such an update

	unsaved map[string]states.Power // the power requests whose outcome could not be stored yet, by node
}

// A fault is the error that a store returns from an update, and whether it makes the
// update nevertheless.
type fault struct {
	err     error
	applied bool
}

var allFaults = []fault{
	{},
	{errStore, false},
	{errStore, true},
	{powersync.ErrConflict, false},
	{powersync.ErrConflict, true},
}

// drawFaults draws the faults of the store during the next action.
func (w *world) drawFaults(t *rapid.T) {
	w.faults, w.stales = nil, nil
	w.before, w.stored = map[string]powersync.Record{}, map[string]bool{}
	if !rapid.Bool().Draw(t, "store has faults") {
		return
	}
	w.faults = make([]fault, rapid.IntRange(0, 2).Draw(t, "updates before the first fault"))
	w.faults = append(w.faults, rapid.SliceOfN(rapid.SampledFrom(allFaults), 0, 6).Draw(t, "faults")...)
	w.stales = rapid.SliceOfN(rapid.Bool(), 0, 6).Draw(t, "stale loads")
}

func (w *world) nextFault() (f fault) {
	if len(w.faults) > 0 {
		f, w.faults = w.faults[0], w.faults[1:]
	}
	w.applied = w.applied || f.err != nil && f.applied
	return f
}

func (w *world) nextStale(id string) (powersync.Record, bool) {
	old, ok := w.before[id]
	if !ok || len(w.stales) == 0 {
		return old, false
	}
	stale := w.stales[0]
	w.stales = w.stales[1:]
	w.stale = w.stale || stale
	return old, stale
}

func (w *world) checkEvent(e powersync.Event) {
	switch {
	case errors.Is(e.Err, powersync.ErrNotSaved):
		w.unsaved[e.ID] = e.Asked.Target()
	case e.Outcome == powersync.SavedLate:
		delete(w.unsaved, e.ID)
	case e.Outcome == powersync.Reclaimed:
		require.True(w.t, w.applied, "a node that was worked on is reclaimed")
	}
}

// requestInVain begins a power request and finishes it with a context that has ended,
// while a round or another request is in flight.
func (w *world) requestInVain(id string) {
	finish, err := w.Begin(context.Background(), id, isOff, 0)
	if err != nil {
		return
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(w.t, finish(ended), context.Canceled)
}

// switchOver makes a machine answer, with another power state than is recorded.
func (w *world) switchOver(id string) {
	w.hardware.mu.Lock()
	defer w.hardware.mu.Unlock()
	w.dead[id] = false
	w.power[id] = isOff
	if w.record(w.t, id).Power == isOff {
		w.power[id] = isOn
	}
}

// heal does a round over a store without faults, after which the earlier faults have
// no effect any more.
func (w *world) heal(t *rapid.T) {
	w.faults, w.stales = nil, nil
	w.read, w.wasBad = map[string][]states.Power{}, map[string]bool{}
	w.asked, w.recovery = unknown, false
	w.count(w.Sync(context.Background()))
	for id := range w.stored {
		delete(w.unsaved, id)
	}
	require.Empty(t, w.unsaved, "an outcome that could not be stored is lost")
	w.stale, w.applied = false, false
}
