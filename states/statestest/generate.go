package statestest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/states"
)

// maxSteps is the length of the longest walk.
const maxSteps = 32

// State draws any state of [states.AllStates]: no one series has all of them.
func State() *rapid.Generator[states.State] {
	return rapid.SampledFrom(slices.Collect(states.AllStates()))
}

// StateIn draws a state of a set, which must not be empty.
func StateIn(set states.Set) *rapid.Generator[states.State] {
	return rapid.SampledFrom(slices.Collect(set.All()))
}

// Event draws any event of [states.AllEvents].
func Event() *rapid.Generator[states.Event] {
	return rapid.SampledFrom(slices.Collect(states.AllEvents()))
}

// Series draws any series of [states.AllSeries].
func Series() *rapid.Generator[states.Series] {
	return rapid.SampledFrom(slices.Collect(states.AllSeries()))
}

// Walk draws a walk of one step or more that follows the table, from any of its
// states: every step is one of its rows and starts where the one before ended.
// The table must have states.
func Walk(t *states.Table) *rapid.Generator[[]states.Transition] {
	rows := make(map[states.State][]states.Transition)
	for row := range t.Transitions() {
		rows[row.From] = append(rows[row.From], row)
	}
	return walk(t, func(rt *rapid.T, from states.State) states.Transition {
		return rapid.SampledFrom(rows[from]).Draw(rt, "row")
	})
}

// Wander draws a walk that does not follow the table: events that are legal
// where the node is, mixed with events that are not. The To of a step is where
// the table says that the node is then; an illegal event leaves it where it was,
// so that To is From, which it is in no row.
func Wander(t *states.Table) *rapid.Generator[[]states.Transition] {
	legal := make(map[states.State][]states.Event)
	for from := range t.States().All() {
		legal[from] = slices.Collect(t.Events(from))
	}
	anyEvent := slices.Collect(states.AllEvents())
	return walk(t, func(rt *rapid.T, from states.State) states.Transition {
		events := anyEvent
		if rapid.Bool().Draw(rt, "legal") {
			events = legal[from]
		}
		event := rapid.SampledFrom(events).Draw(rt, "event")
		to, ok := t.Next(from, event)
		if !ok {
			to = from
		}
		return states.Transition{From: from, Event: event, To: to}
	})
}

// walk draws steps, each from where the one before ended.
func walk(t *states.Table, step func(*rapid.T, states.State) states.Transition) *rapid.Generator[[]states.Transition] {
	if t.States().Len() == 0 {
		panic(fmt.Sprintf("statestest: the table of series %v has no states to walk", t.Series()))
	}
	start := StateIn(t.States())
	return rapid.Custom(func(rt *rapid.T) []states.Transition {
		from := start.Draw(rt, "start")
		steps := make([]states.Transition, rapid.IntRange(1, maxSteps).Draw(rt, "steps"))
		for i := range steps {
			steps[i] = step(rt, from)
			from = steps[i].To
		}
		return steps
	})
}
