// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"iter"
	"slices"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// Goal is a state to bring a node to, or work to do on it: [In], [After] or
// [Deletable]. Its text is a word such as "available" or "inspected", which
// [ParseGoal] accepts. [Next] refuses any other text, including the empty one.
type Goal string

// Deletable is the goal of a state in which the node's record may be deleted, see
// [admission.Rules.DeleteAllowed].
const Deletable Goal = "deletable"

const (
	enrolled      Goal = "enrolled"
	manageable    Goal = "manageable"
	available     Goal = "available"
	active        Goal = "active"
	adopted       Goal = "adopted"
	rescued       Goal = "rescued"
	errored       Goal = "errored"
	inspected     Goal = "inspected"
	cleaned       Goal = "cleaned"
	rebuilt       Goal = "rebuilt"
	serviced      Goal = "serviced"
	unprovisioned Goal = "unprovisioned"
)

// In is the goal of a stable state. It is reached whenever the node is in that state,
// and no longer reached once the node has left it. For any other state In returns a
// goal that [Next] refuses.
//
// For Active a node without a workload is deployed, and one in adopt failed is
// adopted; After(EventAdopt) takes over a node that was deployed by other means.
// For Available a node is torn down each time that it was deployed; if a scheduler uses
// available nodes, After(EventDelete) tears down only once. Only a failed verification
// leads to Enroll, and only a failed tear-down to Error.
func In(s states.State) Goal {
	for _, g := range goals { // the goal that is the state comes first
		if goalRows[g].in.Has(s) {
			return g
		}
	}
	return Goal(s.String())
}

// After is the goal of work to do once after the goal was set. Work that began
// before does not count. Once reached, the goal stays reached, whatever state the
// node is in. The events are
//
//	EventInspect  "inspected": an inspection has ended in manageable
//	EventClean    "cleaned": a manual cleaning has ended in manageable, or in available
//	              if a hold or wait step made Ironic drop its target
//	EventRebuild  "rebuilt": a rebuild has ended in active; a node that is not deployed
//	              is deployed instead
//	EventService  "serviced": a service has ended in active
//	EventDelete   "unprovisioned": torn down and available again; if someone has
//	              deployed the node since, it is not touched
//	EventAdopt    "adopted": in active, by adoption if the node is not active yet; no
//	              longer reached once the node has left it, like the goals of [In]
//
// For any other event After returns a goal that [Next] refuses. Source of the rule for
// clean: ironic/conductor/steps.py.
func After(e states.Event) Goal {
	switch e {
	case states.EventInspect:
		return inspected
	case states.EventClean:
		return cleaned
	case states.EventRebuild:
		return rebuilt
	case states.EventService:
		return serviced
	case states.EventDelete:
		return unprovisioned
	case states.EventAdopt:
		return adopted
	default:
		return Goal("after " + e.String())
	}
}

var goals = []Goal{
	enrolled, manageable, available, active, adopted, rescued, errored, Deletable,
	inspected, cleaned, rebuilt, serviced, unprovisioned,
}

// AllGoals ranges over every goal, the states first.
func AllGoals() iter.Seq[Goal] { return slices.Values(goals) }

// ParseGoal returns the goal of a word, or of a stable state's word such as
// "rescue". Any other word is a [*states.UnknownError].
func ParseGoal(word string) (Goal, error) {
	if slices.Contains(goals, Goal(word)) {
		return Goal(word), nil
	}
	s, _ := states.Parse(word)
	if g := In(s); goalRows[g] != nil {
		return g, nil
	}
	return "", unknownGoal(word)
}

func unknownGoal(word string) error {
	e := &states.UnknownError{Kind: "goal", Word: word}
	for _, g := range goals {
		e.Known = append(e.Known, string(g))
	}
	e.Known = append(e.Known, "the stable states' words")
	return e
}

// A goalRow defines when a goal is reached.
type goalRow struct {
	// in has the states in which the goal is reached. deletes is set in its place if these are the states
	// in which the node's record may be deleted: they depend on the table, and whether the goal is reached
	// in one of them also on the node's fields.
	in      states.Set
	deletes bool
	// deployed says that a node has a workload in the goal.
	deployed bool
	// startedBy has the events that start the goal's work, the preferred first.
	startedBy []states.Event
	// After the request for the work, the node is in one of during until the work has
	// ended, in one of ends once it has succeeded, and in failed once it has
	// failed. In any other state, another client has moved the node.
	during, ends states.Set
	failed       states.State
}

// reachedIn returns the states of a table in which the goal is reached.
func (g *goalRow) reachedIn(t *states.Table) states.Set {
	if g.deletes {
		return admission.Rules{Table: t}.DeleteAllowed()
	}
	return g.in
}

// once reports whether the goal is work to do once.
func (g *goalRow) once() bool { return len(g.startedBy) > 0 }

var goalRows = map[Goal]*goalRow{
	enrolled:   {in: states.SetOf(states.Enroll)},
	manageable: {in: states.SetOf(states.Manageable)},
	available:  {in: states.SetOf(states.Available)},
	active:     {in: states.SetOf(states.Active), deployed: true},
	adopted:    {in: states.SetOf(states.Active)},
	rescued:    {in: states.SetOf(states.Rescue), deployed: true},
	errored:    {in: states.SetOf(states.Error)},
	Deletable:  {deletes: true},
	inspected: {
		startedBy: []states.Event{states.EventInspect},
		during:    states.WorkInspect.InProgress(),
		ends:      states.SetOf(states.Manageable),
		failed:    states.WorkInspect.Failed(),
	},
	cleaned: {
		startedBy: []states.Event{states.EventClean},
		during:    states.WorkClean.InProgress(),
		ends:      states.SetOf(states.Manageable, states.Available),
		failed:    states.WorkClean.Failed(),
	},
	rebuilt: {
		deployed:  true,
		startedBy: []states.Event{states.EventRebuild, states.EventDeploy},
		during:    states.WorkDeploy.InProgress(),
		ends:      states.SetOf(states.Active),
		failed:    states.WorkDeploy.Failed(),
	},
	serviced: {
		deployed:  true,
		startedBy: []states.Event{states.EventService},
		during:    states.WorkService.InProgress(),
		ends:      states.SetOf(states.Active),
		failed:    states.WorkService.Failed(),
	},
	unprovisioned: {
		in:        states.SetOf(states.Available),
		startedBy: []states.Event{states.EventDelete},
		during:    states.WorkDelete.InProgress().Union(states.WorkClean.States()).Union(states.SetOf(states.Manageable)),
		ends:      states.SetOf(states.Available),
		failed:    states.WorkDelete.Failed(),
	},
}
