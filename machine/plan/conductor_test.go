package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// A turn says what kind of move it is that a conductor, or the person whom a hold
// waits for, makes.
type turn uint8

const (
	goes    turn = iota // the work goes on or ends well, a person says unhold
	fails               // the work fails, times out or dies with its conductor
	forgets             // a step of its own makes the conductor forget that cleaning is manual
	strange             // the work ends elsewhere, or goes on after it failed
)

type move struct {
	turn
	to spot
}

// A spot is where a node is; the text of an error does not matter.
type spot struct {
	state, target states.State
	failed        bool // the node has a last error
}

func spotOf(n machine.Node) spot { return spot{n.State, n.Target, n.LastError != ""} }

func (s spot) node() machine.Node {
	n := machine.Node{State: s.state, Target: s.target}
	if s.failed {
		n.LastError = "it broke"
	}
	return n
}

// sound returns the spot without a last error.
func (s spot) sound() spot { return spot{state: s.state, target: s.target} }

// A conductor knows all that may happen to a node without a request of ours.
type conductor struct {
	t       *testing.T
	table   *states.Table
	known   map[spot][]move
	answers map[request]states.Event
}

func newConductor(t *testing.T, table *states.Table) *conductor {
	return &conductor{t: t, table: table, known: make(map[spot][]move), answers: make(map[request]states.Event)}
}

func (c *conductor) moves(s spot) []move {
	moves, ok := c.known[s]
	if !ok {
		moves = c.find(s)
		c.known[s] = moves
	}
	return moves
}

func (c *conductor) find(s spot) []move {
	n := s.node()
	var moves []move
	add := func(turn turn, to machine.Node) {
		moves = append(moves, move{turn, spotOf(to)})
		if turn == goes && isCleaning(to.State) && to.Target == states.Manageable {
			to.Target = c.table.Target(to.State)
			moves = append(moves, move{forgets, spotOf(to)})
		}
	}
	for event := range states.AllEvents() {
		text := ""
		if event == states.EventFail || event == states.EventError {
			text = "it broke"
		}
		if to, err := n.Report(c.table, event, text); err == nil {
			add(c.turnOf(s, event), to)
		}
	}
	if to, err := n.Request(c.table, "unhold", c.table.Series().MaxAPIVersion()); err == nil {
		add(goes, to)
	}
	return moves
}

func isCleaning(s states.State) bool {
	return states.SetOf(states.Cleaning, states.CleanWait, states.CleanHold).Has(s)
}

// turnOf says which kind of move a report is.
func (c *conductor) turnOf(s spot, event states.Event) turn {
	phase := c.table.Phase(s.state)
	_, canBeManual := c.table.Next(states.Cleaning, states.EventManage)
	switch event {
	case states.EventFail, states.EventError:
		return fails
	case states.EventManage:
		if canBeManual && s.target == states.Manageable {
			return goes
		}
		return strange
	case states.EventWait, states.EventHold, states.EventResume:
		if phase == states.PhaseResting || phase == states.PhaseFailed {
			return strange
		}
		return goes
	case states.EventClean:
		if s.state != states.Deleting { // a row of Kilo's that nobody's request or work uses
			return strange
		}
		return goes
	default:
		return goes
	}
}

// A request is what may be sent to a node in a state at an API version.
type request struct {
	from    states.State
	verb    string
	version states.APIVersion
}

// ask returns the event that the API answers a request with, NoEvent for a
// refusal.
func (c *conductor) ask(r request) states.Event {
	event, ok := c.answers[r]
	if !ok {
		event, _ = c.table.Request(r.from, r.verb, r.version)
		c.answers[r] = event
	}
	return event
}

// send has the API take a request, and fails the test where it refuses.
func (c *conductor) send(s spot, verb string, v states.APIVersion) spot {
	if c.ask(request{s.state, verb, v}) == states.NoEvent {
		require.Fail(c.t, "the API refuses a request", "%v at %v: %q in %v", c.table.Series(), v, verb, s.state)
	}
	to, err := s.node().Request(c.table, verb, v)
	if err != nil {
		require.NoError(c.t, err)
	}
	return spotOf(to)
}

// starts returns every state with every stored target and none. Below the highest
// API version, and where the policy permits one thing and not the other, it leaves
// out targets that the plan does not look at: see
// TestTheStoredTargetCountsInCleaningAlone.
func (c *conductor) starts(wish plan.Wish) []spot {
	every := wish.Version == c.table.Series().MaxAPIVersion() && wish.Policy.MayAbort == wish.Policy.MayDestroy
	var all []spot
	for s := range c.table.States().All() {
		all = append(all, spot{state: s})
		if !every && !isCleaning(s) {
			continue
		}
		for target := range c.table.Stable().All() {
			all = append(all, spot{state: s, target: target})
		}
	}
	return all
}

// policies returns every policy that has a number of retries for all work.
func policies(retries uint8) []plan.Policy {
	var all []plan.Policy
	for n := range 4 {
		p := plan.Policy{MayAbort: n&1 != 0, MayDestroy: n&2 != 0}
		for w := range p.Retries {
			p.Retries[w] = retries
		}
		all = append(all, p)
	}
	return all
}
