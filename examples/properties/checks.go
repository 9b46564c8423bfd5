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

// adapter is a Machine as statestest knows machines: in this library's types.
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

// start starts machines in which these events end work.
func start(ends []string) statestest.Start {
	return func(state, _ states.State) (statestest.Machine, error) {
		m, err := newMachine(state.String(), ends)
		if err != nil {
			return nil, err
		}
		return adapter{m}, nil
	}
}

// restartsChangeNothing is a promise of the team's own, of which the table knows nothing:
// a process that ends after each event, and starts again with the state that it has
// stored, goes on as one that never ends.
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
