package main

import (
	"errors"

	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest"
	"github.com/ironstate/ironstate/states/statestest/rapidstates"
)

// table is the machine of the series that the team runs.
var table = states.Antelope.Table()

// adapter adapts a Machine to statestest.Machine, with this library's types.
type adapter struct{ *Machine }

// Current implements [statestest.Machine].
func (a adapter) Current() states.State {
	state, err := states.Parse(a.State())
	if err != nil {
		return states.NoState // a word that no series has
	}
	return state
}

// Fire implements [statestest.Machine].
func (a adapter) Fire(event states.Event) error { return a.Machine.Fire(event.String()) }

// start returns a Start for machines in which these events end work.
func start(ends []string) statestest.Start {
	return func(state, _ states.State) (statestest.Machine, error) {
		m, err := newMachine(state.String(), ends)
		if err != nil {
			return nil, err
		}
		return adapter{m}, nil
	}
}

// restartsChangeNothing is a property of the team's program that does not follow from
// the table: a process that restarts with its stored state after each event behaves like
// one that never restarts.
func restartsChangeNothing(ends []string) func(*rapid.T) {
	walks := rapidstates.Walk(table)
	return func(t *rapid.T) {
		walk := walks.Draw(t, "walk")
		steady, err := newMachine(walk[0].From.String(), ends)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range walk {
			restarted, err := newMachine(steady.State(), ends)
			if err != nil {
				t.Fatal(err)
			}
			event := step.Event.String()
			if err := errors.Join(steady.Fire(event), restarted.Fire(event)); err != nil {
				t.Fatal(err)
			}
			if steady.State() != restarted.State() {
				t.Fatalf("%s leads to %s, and after a restart to %s", event, steady.State(), restarted.State())
			}
		}
	}
}
