// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// A kind is the kind of a transition that the conductor makes, or that an operator makes
// who resumes held work.
type kind uint8

const (
	success    kind = iota // the work continues or succeeds, or the operator resumes it
	failure                // the work fails, times out or is lost with its conductor
	forgetting             // a hold or wait step makes the conductor drop the target of a manual cleaning
	unexpected             // the work ends in another state than it leads to, or continues after it failed
)

type transition struct {
	kind
	to observation
}

// An observation is the part of a node that the API shows, without the text of the
// last error.
type observation struct {
	state, target states.State
	failed        bool // the node has a last error
}

func observe(n machine.Node) observation { return observation{n.State, n.Target, n.LastError != ""} }

func (s observation) node() machine.Node {
	n := machine.Node{State: s.state, Target: s.target}
	if s.failed {
		n.LastError = "it broke"
	}
	return n
}

// withoutError returns the observation without a last error.
func (s observation) withoutError() observation { return observation{state: s.state, target: s.target} }

// A conductor is a model of Ironic: all transitions that a node may make, with a
// request of the plan and without one.
type conductor struct {
	t       *testing.T
	table   *states.Table
	known   map[observation][]transition
	answers map[request]states.Event
}

func newConductor(t *testing.T, table *states.Table) *conductor {
	return &conductor{t: t, table: table, known: make(map[observation][]transition), answers: make(map[request]states.Event)}
}

func (c *conductor) transitions(s observation) []transition {
	transitions, ok := c.known[s]
	if !ok {
		transitions = c.find(s)
		c.known[s] = transitions
	}
	return transitions
}

func (c *conductor) find(s observation) []transition {
	n := s.node()
	var transitions []transition
	add := func(kind kind, to machine.Node) {
		transitions = append(transitions, transition{kind, observe(to)})
		if kind == success && isCleaning(to.State) && to.Target == states.Manageable {
			to.Target = c.table.Target(to.State)
			transitions = append(transitions, transition{forgetting, observe(to)})
		}
	}
	for event := range states.AllEvents() {
		text := ""
		if event == states.EventFail || event == states.EventError {
			text = "it broke"
		}
		if to, err := n.Report(c.table, event, text); err == nil {
			add(c.kindOf(s, event), to)
		}
	}
	if to, err := n.Request(c.table, "unhold", c.table.Series().MaxAPIVersion()); err == nil {
		add(success, to)
	}
	return transitions
}

func isCleaning(s states.State) bool {
	return states.SetOf(states.Cleaning, states.CleanWait, states.CleanHold).Has(s)
}

// kindOf returns the kind of a report.
func (c *conductor) kindOf(s observation, event states.Event) kind {
	phase := c.table.Phase(s.state)
	_, canBeManual := c.table.Next(states.Cleaning, states.EventManage)
	switch event {
	case states.EventFail, states.EventError:
		return failure
	case states.EventManage:
		if canBeManual && s.target == states.Manageable {
			return success
		}
		return unexpected
	case states.EventWait, states.EventHold, states.EventResume:
		if phase == states.PhaseStable || phase == states.PhaseFailed {
			return unexpected
		}
		return success
	case states.EventClean:
		if s.state != states.Deleting { // Kilo has a row that neither a request nor work causes
			return unexpected
		}
		return success
	default:
		return success
	}
}

// A request is a verb sent to a node in a state at an API version.
type request struct {
	from    states.State
	verb    string
	version states.APIVersion
}

// ask returns the event of a request, NoEvent if the API refuses it.
func (c *conductor) ask(r request) states.Event {
	event, ok := c.answers[r]
	if !ok {
		event, _ = c.table.Request(r.from, r.verb, r.version)
		c.answers[r] = event
	}
	return event
}

// send sends a request, and fails the test if the API refuses it.
func (c *conductor) send(s observation, verb string, v states.APIVersion) observation {
	if c.ask(request{s.state, verb, v}) == states.NoEvent {
		require.Fail(c.t, "the API refuses a request", "%v at %v: %q in %v", c.table.Series(), v, verb, s.state)
	}
	to, err := s.node().Request(c.table, verb, v)
	if err != nil {
		require.NoError(c.t, err)
	}
	return observe(to)
}

// starts returns every state, with every stored target and without one. Below the
// highest API version, and for a policy that permits only one of aborting and
// destroying, it leaves out the targets that the plan ignores: see
// TestTheStoredTargetCountsInCleaningAlone.
func (c *conductor) starts(desired plan.Desired) []observation {
	every := desired.Version == c.table.Series().MaxAPIVersion() && desired.Policy.MayAbort == desired.Policy.MayDestroy
	var all []observation
	for s := range c.table.States().All() {
		all = append(all, observation{state: s})
		if !every && !isCleaning(s) {
			continue
		}
		for target := range c.table.Stable().All() {
			all = append(all, observation{state: s, target: target})
		}
	}
	return all
}

// policies returns every policy with a number of retries.
func policies(retries uint8) []plan.Policy {
	var all []plan.Policy
	for n := range 4 {
		all = append(all, plan.Policy{MayAbort: n&1 != 0, MayDestroy: n&2 != 0, Retries: retries})
	}
	return all
}
