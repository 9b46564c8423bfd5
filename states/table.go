// SPDX-License-Identifier: Apache-2.0

package states

import (
	"iter"
	"strconv"
	"sync"
)

// Transition is a row of a table: Event moves a node from From to To.
type Transition struct {
	From  State `json:"from"`
	Event Event `json:"event"`
	To    State `json:"to"`
}

// String returns the row as "enroll --manage--> verifying".
func (r Transition) String() string {
	return r.From.String() + " --" + r.Event.String() + "--> " + r.To.String()
}

// GoString returns String in quotes, which is how %#v, and with it testify and
// rapid, print a Transition.
func (r Transition) GoString() string { return strconv.Quote(r.String()) }

// Table is the state machine of one series: its states, the transitions between
// them, and its sets. [Series.Table] returns it. A Table never changes and may be
// shared freely. A nil or zero Table is a table without states.
type Table struct {
	series  Series
	next    [maxStates][maxEvents]State
	targets [maxStates]State
	phases  [maxStates]Phase
	rows    []Transition
	states  Set
	sets    [numSets]Set
}

// Sizes of the lookup arrays: powers of two, so that one comparison checks an index.
const (
	maxStates = 64
	maxEvents = 32
)

var tables [len(apiMaximum)]struct {
	once  sync.Once
	table Table
}

// Table returns the series' table, the same pointer on each call; nil for NoSeries and
// for a number that is no series.
func (s Series) Table() *Table {
	if s == NoSeries || int(s) >= len(tables) {
		return nil
	}
	t := &tables[s]
	t.once.Do(func() { t.table.build(s) })
	return &t.table
}

func (t *Table) build(s Series) {
	t.series = s
	for _, row := range stateRows {
		if row.covers(s) {
			t.states = t.states.Union(SetOf(row.state))
			t.targets[row.state], t.phases[row.state] = row.target, row.phase
		}
	}
	for _, row := range transitionRows {
		if row.covers(s) {
			t.next[row.from][row.event] = row.to
			t.rows = append(t.rows, Transition{row.from, row.event, row.to})
		}
	}
	t.buildSets()
}

// Series returns the series whose table this is.
func (t *Table) Series() Series {
	if t == nil {
		return NoSeries
	}
	return t.series
}

// Next returns the state that an event leads to from a state. If the table has no row
// for them, it returns NoState and false.
func (t *Table) Next(from State, event Event) (State, bool) {
	if t == nil || from >= maxStates || event >= maxEvents {
		return NoState, false
	}
	to := t.next[from][event]
	return to, to != NoState
}

// Target returns the default target of s, always a stable state: the target of a node
// in s that has no stored one. It is NoState for the stable states and for those that
// the series lacks.
func (t *Table) Target(s State) State {
	if t == nil || s >= maxStates {
		return NoState
	}
	return t.targets[s]
}

// Events ranges over the events that lead out of a state, in the order of
// [AllEvents].
func (t *Table) Events(from State) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for event := range AllEvents() {
			if _, ok := t.Next(from, event); ok && !yield(event) {
				return
			}
		}
	}
}

// Transitions ranges over every row, in the order of a node's life: enrolment,
// inspection, cleaning, deployment, adoption, rescue, service, tear-down.
func (t *Table) Transitions() iter.Seq[Transition] {
	return func(yield func(Transition) bool) {
		if t == nil {
			return
		}
		for _, row := range t.rows {
			if !yield(row) {
				return
			}
		}
	}
}

// States returns the states that the series has.
func (t *Table) States() Set {
	if t == nil {
		return Set{}
	}
	return t.states
}
