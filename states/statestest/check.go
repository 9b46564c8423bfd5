package statestest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// maxReported is the number of disagreements that Check reports one by one.
const maxReported = 20

// Walks after the exhaustive comparison find what depends on a node's history:
// a machine that is stuck once it has refused an event, say.
const (
	walks     = 100
	walkSteps = 100
)

// Check compares an implementation of the state machine with a table: each state
// as a start, each event in each state, and walks of legal and illegal events.
// With a machine that is [Targeted] it compares stored and named targets too.
//
// The error is nil where they agree. Otherwise it joins a [*Disagreement] for
// each difference, and counts those beyond the first twenty. A panic of the
// implementation is a difference like any other. Check does the same on each
// call, on one goroutine; it makes some thousand machines.
func Check(t *states.Table, start Start) error {
	if t.States().Len() == 0 {
		return fmt.Errorf("statestest: the table of series %v has no states to check", t.Series())
	}
	c := &checker{table: t, start: start, seen: make(map[string]bool)}
	c.checkStarts()
	c.checkEvents()
	random := rand.New(rand.NewPCG(1, 2))
	for range walks {
		c.checkWalk(random)
	}
	return c.report()
}

// A Disagreement is a difference between an implementation and the table.
type Disagreement struct {
	Series states.Series
	Start  bool // the start itself is at fault, not an event
	From   states.State
	Event  states.Event
	Target states.State   // the target that was named or, at the start, stored
	After  []states.Event // the events since the start, legal and not; most often none
	Want   string
	Got    string
}

// Error tells what was done, what the table says and what happened.
func (d *Disagreement) Error() string {
	var text strings.Builder
	if d.Start {
		fmt.Fprintf(&text, "%v: start in %v", d.Series, d.From)
	} else {
		fmt.Fprintf(&text, "%v: %v in %v", d.Series, d.Event, d.From)
	}
	if d.Target != states.NoState {
		fmt.Fprintf(&text, " with target %v", d.Target)
	}
	if len(d.After) > 0 {
		fmt.Fprintf(&text, " after %s", history(d.After))
	}
	fmt.Fprintf(&text, ": want %s; got %s", d.Want, d.Got)
	return text.String()
}

// history lists the last of the events.
func history(events []states.Event) string {
	const most = 8
	var words []string
	if cut := len(events) - most; cut > 0 {
		words = append(words, fmt.Sprintf("%d events and", cut))
		events = events[cut:]
	}
	for _, event := range events {
		words = append(words, event.String())
	}
	return strings.Join(words, " ")
}

type checker struct {
	table *states.Table
	start Start
	found []error
	seen  map[string]bool
	more  int
}

// disagree notes a difference, once: a walk meets the same one again and again.
func (c *checker) disagree(d Disagreement, want, got outcome) {
	key := fmt.Sprint(d.Start, d.From, d.Event, d.Target, want.node, got.node, got.err == nil, got.panicked)
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	if len(c.found) == maxReported {
		c.more++
		return
	}
	d.Series, d.Want, d.Got = c.table.Series(), want.String(), got.String()
	d.After = slices.Clone(d.After)
	c.found = append(c.found, &d)
}

func (c *checker) report() error {
	if c.more > 0 {
		return errors.Join(append(c.found, fmt.Errorf("and %d more", c.more))...)
	}
	return errors.Join(c.found...)
}

// everyState has the states of all series, and two numbers that are none.
func everyState() []states.State {
	return append(slices.Collect(states.AllStates()), states.NoState, states.State(255))
}

// everyEvent has the events of all series, and two numbers that are none.
func everyEvent() []states.Event {
	return append(slices.Collect(states.AllEvents()), states.NoEvent, states.Event(255))
}

func (c *checker) checkStarts() {
	for _, state := range everyState() {
		if !c.table.States().Has(state) {
			c.checkRefused(state, states.NoState)
			continue
		}
		c.checkStart(state, states.NoState)
		if c.table.Stable().Has(state) || !c.targeted(state) {
			continue
		}
		for _, target := range everyState() {
			switch {
			case target == states.NoState:
			case c.table.Stable().Has(target):
				c.checkStart(state, target)
			default:
				c.checkRefused(state, target)
			}
		}
	}
}

func (c *checker) targeted(state states.State) bool {
	m, _ := c.begin(state, states.NoState)
	_, ok := m.(Targeted)
	return ok
}

func (c *checker) checkStart(state, target states.State) {
	m, got := c.begin(state, target)
	want := outcome{node: c.model(state, target)}.seenOn(m)
	if target == states.NoState && got.node.target == states.NoState {
		want.node.target = states.NoState
	}
	if !got.agrees(want) {
		c.disagree(Disagreement{Start: true, From: state, Target: target}, want, got)
	}
}

// checkRefused wants a start to be refused or, where it is not, every event.
func (c *checker) checkRefused(state, target states.State) {
	want := outcome{node: node{state: state}, err: errRefused}
	for _, event := range everyEvent() {
		m, got := c.begin(state, target)
		if got.err != nil {
			return
		}
		if m != nil {
			got = fire(m, event, states.NoState)
		}
		if got.err == nil {
			c.disagree(Disagreement{Start: true, From: state, Target: target}, want, got)
			return
		}
	}
}

// checkEvents fires each event in each state, on a machine of its own.
func (c *checker) checkEvents() {
	for from := range c.table.States().All() {
		targets := []states.State{states.NoState}
		if c.targeted(from) {
			targets = everyState()
		}
		for _, event := range everyEvent() {
			for _, target := range targets {
				if m, _ := c.begin(from, c.table.Target(from)); m != nil {
					c.try(m, c.model(from, states.NoState), event, target, nil)
				}
			}
		}
	}
}

// checkWalk follows one machine for as long as it agrees.
func (c *checker) checkWalk(random *rand.Rand) {
	starts := slices.Collect(c.table.States().All())
	at := c.model(starts[random.IntN(len(starts))], states.NoState)
	m, _ := c.begin(at.state, at.target)
	if m == nil {
		return
	}
	_, targeted := m.(Targeted)
	stable := append(slices.Collect(c.table.Stable().All()), states.State(255))

	var after []states.Event
	for range walkSteps {
		events := everyEvent()
		if random.IntN(2) == 0 {
			events = slices.Collect(c.table.Events(at.state))
		}
		event, target := events[random.IntN(len(events))], states.NoState
		if targeted && random.IntN(4) == 0 {
			target = stable[random.IntN(len(stable))]
		}
		next, ok := c.try(m, at, event, target, after)
		if !ok {
			return
		}
		at, after = next, append(after, event)
	}
}

// try fires an event on a machine and on the model. It returns where the model's
// node is then, and whether they agree.
func (c *checker) try(m Machine, at node, event states.Event, target states.State, after []states.Event) (node, bool) {
	want := c.apply(at, event, target)
	wantSeen, got := want.seenOn(m), fire(m, event, target)
	if got.agrees(wantSeen) {
		return want.node, true
	}
	c.disagree(Disagreement{From: at.state, Event: event, Target: target, After: after}, wantSeen, got)
	return want.node, false
}
