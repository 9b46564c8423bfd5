// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/ironstate/ironstate/internal/rapidseed"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// hookFault is the fault of one hook in one Fire.
type hookFault int

const (
	none hookFault = iota
	fails
	panics
	cancels
	numFaults
)

// faulty is a machine with fault-injecting hooks, and a model of it that uses only
// Apply and the faults that stop a move.
type faulty struct {
	m        *machine.Machine
	table    *states.Table
	now      map[string]hookFault // by the kind of hook
	cancel   context.CancelFunc
	model    machine.Node
	saved    machine.Node // the database
	notified int          // exit and enter hooks called since the last Fire
}

var errFault = errors.New("fault")

func (w *faulty) act(where string) error {
	switch w.now[where] {
	case fails:
		return errFault
	case panics:
		panic(errFault)
	case cancels:
		w.cancel()
	}
	return nil
}

func newFaulty(t *rapid.T) *faulty {
	table := rapid.SampledFrom(slices.Collect(states.AllSeries())).Draw(t, "series").Table()
	start := node(rapid.SampledFrom(slices.Collect(table.States().All())).Draw(t, "start"))
	w := &faulty{table: table, model: start, saved: start}
	config := machine.Config{Table: table, Node: start, History: 4}
	for where, put := range setHook {
		put(&config, func(context.Context) error {
			if !beforeTheMove[where] {
				w.notified++
			}
			return w.act(where)
		})
	}
	config.Save = append(config.Save, func(_ context.Context, tr machine.Transition) error {
		if tr.From != w.saved {
			t.Fatalf("a move from %v is saved over %v", tr.From, w.saved)
		}
		w.saved = tr.To
		return nil
	})
	var err error
	w.m, err = machine.New(config)
	require.NoError(t, err)
	return w
}

// fire fires an event with random faults and checks the result.
func (w *faulty) fire(t *rapid.T) {
	events := append(slices.Collect(states.AllEvents()), states.NoEvent, 99)
	if rapid.Bool().Draw(t, "legal") {
		events = slices.Collect(w.table.Events(w.model.State))
	}
	in := machine.Input{
		Event:     rapid.SampledFrom(events).Draw(t, "event"),
		Target:    rapid.SampledFrom([]states.State{states.NoState, states.NoState, states.Manageable, states.Cleaning}).Draw(t, "target"),
		LastError: rapid.SampledFrom([]string{"", "some error"}).Draw(t, "last error"),
		Work:      rapid.Bool().Draw(t, "work"),
	}
	w.now = map[string]hookFault{}
	for _, where := range []string{"guard", "save", "exit", "enter"} {
		if rapid.IntRange(0, 4).Draw(t, "is there a fault in "+where) == 0 {
			w.now[where] = hookFault(rapid.IntRange(0, int(numFaults)-1).Draw(t, where))
		}
	}
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	defer w.cancel()
	w.notified = 0

	err := w.m.Apply(ctx, in)

	next, refused := w.model.Apply(w.table, in)
	stopped := w.now["guard"] != none || w.now["save"] == fails || w.now["save"] == panics
	complains := func(where string) bool { return w.now[where] == fails || w.now[where] == panics }
	switch {
	case refused != nil:
		require.Equal(t, refused, err)
	case stopped:
		require.Error(t, err)
		require.Zero(t, w.notified)
	default:
		w.model = next
		require.Equal(t, 2, w.notified)
		require.Equal(t, complains("exit") || complains("enter"), err != nil)
		require.Equal(t, in.Event, w.m.History()[len(w.m.History())-1].Event)
	}
}

func TestNoFaultLeavesANodeBetweenStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newFaulty(t)
		t.Repeat(map[string]func(*rapid.T){
			"fire": w.fire,
			"fire with a context that has ended": func(t *rapid.T) {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				require.ErrorIs(t, w.m.Fire(ctx, states.EventManage), context.Canceled)
			},
			"": func(t *rapid.T) {
				require.Equal(t, w.model, w.m.Node())
				require.Equal(t, w.model, w.saved)
				require.Equal(t, slices.Collect(w.table.Events(w.model.State)), slices.Collect(w.m.Events()))
			},
		})
	})
}
