// SPDX-License-Identifier: Apache-2.0

package statestest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// The walks after the exhaustive comparison find differences that depend on a
// node's history, such as a machine that refuses everything after its first error.
const (
	walks     = 100
	walkSteps = 100
)

// Check compares an implementation of the state machine with a table: each state
// as a start, each event in each state, and random walks of legal and illegal
// events. With a machine that is [Targeted] it compares stored and named targets
// too. A panic of the implementation is a difference like any other.
//
// The error is nil if they agree. Otherwise it joins a [*Disagreement] for each
// difference, twenty at most, and the number of the others. Similar differences, such
// as one event that is refused in every state, are one Disagreement. Of the differences
// that depend on earlier events, Check reports one of each kind: run it again once that
// one is fixed.
//
// Check is deterministic and uses one goroutine. It makes about a thousand machines,
// for a [Targeted] implementation about forty thousand, and up to twenty thousand more
// for each difference that depends on earlier events.
func Check(t *states.Table, start Start) error {
	c, err := newChecker(t, start)
	if err != nil {
		return err
	}
	c.checkStarts()
	c.checkEvents()
	random := rand.New(rand.NewPCG(1, 2))
	for range walks {
		c.checkWalk(c.randomWalk(random))
	}
	return c.report()
}

// Replay compares an implementation with a table for one sequence of events, in the
// form of [Disagreement].Sequence. It turns a report of Check into a regression test.
// The error is nil if they agree, otherwise a [*Disagreement]. A sequence with a word
// that is no state or event is a [*states.UnknownError].
func Replay(t *states.Table, start Start, sequence string) error {
	s, err := parseSequence(sequence)
	if err != nil {
		return fmt.Errorf("statestest: replay %q: %w", sequence, err)
	}
	c, err := newChecker(t, start)
	if err != nil {
		return err
	}
	if d := c.run(s); d != nil {
		c.note(d, c.cause(d))
	}
	return c.report()
}

type checker struct {
	table    *states.Table
	start    Start
	targeted bool           // the implementation is Targeted
	states   []states.State // every state of all series, and a number that is no state
	events   []states.Event // every event of all series, and two numbers that are no event
	missing  states.Set     // the states in which no machine starts
	found    map[cause]*Disagreement
	noted    map[string]bool // the sequences in reports
	reports  []*Disagreement // the values of found, in the order in which they were found
}

func newChecker(t *states.Table, start Start) (*checker, error) {
	if t.States().Len() == 0 {
		return nil, fmt.Errorf("statestest: the table of series %v has no states to check", t.Series())
	}
	c := &checker{
		table: t, start: start, found: make(map[cause]*Disagreement), noted: make(map[string]bool),
		states: append(slices.Collect(states.AllStates()), states.State(255)),
		events: append(slices.Collect(states.AllEvents()), states.NoEvent, states.Event(255)),
	}
	for s := range t.States().All() {
		if m, _ := c.begin(node{state: s}); m != nil {
			_, c.targeted = m.(Targeted)
			break
		}
	}
	return c, nil
}

// started returns a start in a state, with the state's default target if the
// implementation has targets.
func (c *checker) started(s states.State) sequence {
	if c.targeted {
		return sequence{start: node{s, c.table.Target(s)}}
	}
	return sequence{start: node{state: s}}
}

// checkStarts compares the starts: those that must succeed, and those that must be
// refused or be followed by the refusal of every event.
func (c *checker) checkStarts() {
	for _, s := range append(c.states, states.NoState) {
		bare := node{state: s}
		agreed := c.checkStart(bare)
		if m, _ := c.begin(bare); m == nil {
			c.missing = c.missing.Union(states.SetOf(s))
		}
		if !agreed || !c.targeted || !c.table.States().Has(s) || c.table.Stable().Has(s) {
			continue
		}
		for _, target := range c.states {
			c.checkStart(node{s, target})
		}
	}
}

// checkStart reports whether the implementation agrees about a start.
func (c *checker) checkStart(start node) bool {
	s := sequence{start: start}
	if c.valid(start) {
		return c.check(s)
	}
	for _, event := range c.events {
		if !c.check(s.then(step{event: event})) {
			return false
		}
	}
	return true
}

// check runs a sequence, notes a difference and reports whether there was none.
func (c *checker) check(s sequence) bool {
	d := c.run(s)
	if d != nil {
		c.note(d, c.cause(d))
	}
	return d == nil
}

// checkEvents fires each event in each state, on a new machine each time, without a
// named target and with each possible one.
func (c *checker) checkEvents() {
	for from := range c.table.States().Minus(c.missing).All() {
		start := c.started(from)
		for _, event := range c.events {
			if !c.check(start.then(step{event: event})) || !c.targeted {
				continue
			}
			for _, target := range c.states {
				c.check(start.then(step{event, target}))
			}
		}
	}
}

// randomWalk returns a sequence of which half of the events are legal.
func (c *checker) randomWalk(random *rand.Rand) sequence {
	starts := slices.Collect(c.table.States().All())
	walk := c.started(starts[random.IntN(len(starts))])
	targets := append(slices.Collect(c.table.Stable().All()), states.State(255))
	at := c.model(walk.start.state, walk.start.target)
	for range walkSteps {
		events := c.events
		if random.IntN(2) == 0 {
			events = slices.Collect(c.table.Events(at.state))
		}
		next := step{event: events[random.IntN(len(events))]}
		if c.targeted && random.IntN(4) == 0 {
			next.target = targets[random.IntN(len(targets))]
		}
		walk.steps = append(walk.steps, next)
		at = c.apply(at, next).node
	}
	return walk
}

// checkWalk runs a walk. If it shows a difference that depends on earlier events,
// checkWalk shortens the sequence; any other difference needs a single event.
func (c *checker) checkWalk(walk sequence) {
	d := c.run(walk)
	switch {
	case d == nil || len(d.sequence.steps) == 0:
	case !c.needsHistory(d):
		if c.found[c.cause(d)] == nil {
			c.check(d.alone())
		}
	case c.found[c.laterCause(d)] == nil:
		c.note(c.shortest(d), c.laterCause(d))
	}
}
