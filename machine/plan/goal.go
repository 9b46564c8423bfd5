package plan

import (
	"iter"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Goal is a state to bring a node to, or work to have done on it, as a word. Any other
// word, the empty one included, is refused by [Next].
type Goal string

// These goals are a state: reached whenever the node is in it, and sought again
// once the node has left it.
const (
	// Enrolled: in enroll. Nothing but a failed verification leads there.
	Enrolled Goal = "enrolled"
	// Manageable: in manageable.
	Manageable Goal = "manageable"
	// Available: in available, clean and free for use. Where a scheduler uses
	// available nodes, [Unprovisioned] is the goal that tears down only once.
	Available Goal = "available"
	// Active: in active. A node without a workload is deployed; [Adopted] takes
	// over a node that was deployed by other means. A node in adopt failed is
	// adopted.
	Active Goal = "active"
	// Adopted: in active, by adoption where the node is not active yet.
	Adopted Goal = "adopted"
	// Rescued: in rescue.
	Rescued Goal = "rescued"
	// Errored: in error. Nothing but a failed tear-down leads there.
	Errored Goal = "errored"
	// Deletable: in a state in which the node's record may be deleted, see
	// [states.Table.CanDelete].
	Deletable Goal = "deletable"
)

// These goals are work that is to be done once after the wish was made. Work that
// was under way before does not count. Once reached, they stay reached wherever the
// node goes.
const (
	// Inspected: an inspection has ended in manageable.
	Inspected Goal = "inspected"
	// Cleaned: a manual cleaning has ended in manageable or, where the steps named
	// hold and wait made Ironic forget that the cleaning is manual, in available.
	// Source: ironic/conductor/steps.py.
	Cleaned Goal = "cleaned"
	// Rebuilt: a rebuild has ended in active. A node that is not deployed is
	// deployed instead.
	Rebuilt Goal = "rebuilt"
	// Serviced: a service has ended in active.
	Serviced Goal = "serviced"
	// Unprovisioned: torn down and available again. The node is torn down once: if
	// someone has deployed it since, it is left alone.
	Unprovisioned Goal = "unprovisioned"
)

var goals = []Goal{
	Enrolled, Manageable, Available, Active, Adopted, Rescued, Errored, Deletable,
	Inspected, Cleaned, Rebuilt, Serviced, Unprovisioned,
}

// AllGoals ranges over every goal, in the order of the constants.
func AllGoals() iter.Seq[Goal] { return slices.Values(goals) }

// ParseGoal returns the goal of a word, or of a stable state's word such as
// "rescue". Any other word is a [*states.UnknownError].
func ParseGoal(word string) (Goal, error) {
	if slices.Contains(goals, Goal(word)) {
		return Goal(word), nil
	}
	s, _ := states.Parse(word)
	for _, g := range goals { // the goal that is the state comes first
		if goalRows[g].in.Has(s) {
			return g, nil
		}
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

// A goalRow says when a goal is reached.
type goalRow struct {
	// in has the states that reach the goal; those of Deletable are in the table.
	in states.Set
	// startedBy has the events that start the goal's work, the preferred first.
	startedBy []states.Event
	// After the request for the work, the node is in one of during while the work
	// goes on, in one of ends when it has succeeded, and in failed when it has
	// failed. In any other state, someone else has moved the node.
	during, ends states.Set
	failed       states.State
}

// once reports whether the goal is work to be done once.
func (g *goalRow) once() bool { return len(g.startedBy) > 0 }

var goalRows = map[Goal]*goalRow{
	Enrolled:   {in: states.SetOf(states.Enroll)},
	Manageable: {in: states.SetOf(states.Manageable)},
	Available:  {in: states.SetOf(states.Available)},
	Active:     {in: states.SetOf(states.Active)},
	Adopted:    {in: states.SetOf(states.Active)},
	Rescued:    {in: states.SetOf(states.Rescue)},
	Errored:    {in: states.SetOf(states.Error)},
	Deletable:  {},
	Inspected: {
		startedBy: []states.Event{states.EventInspect},
		during:    states.SetOf(states.Inspecting, states.InspectWait),
		ends:      states.SetOf(states.Manageable),
		failed:    states.InspectFail,
	},
	Cleaned: {
		startedBy: []states.Event{states.EventClean},
		during:    states.SetOf(states.Cleaning, states.CleanWait, states.CleanHold),
		ends:      states.SetOf(states.Manageable, states.Available),
		failed:    states.CleanFail,
	},
	Rebuilt: {
		startedBy: []states.Event{states.EventRebuild, states.EventDeploy},
		during:    states.SetOf(states.Deploying, states.DeployWait, states.DeployHold),
		ends:      states.SetOf(states.Active),
		failed:    states.DeployFail,
	},
	Serviced: {
		startedBy: []states.Event{states.EventService},
		during:    states.SetOf(states.Servicing, states.ServiceWait, states.ServiceHold),
		ends:      states.SetOf(states.Active),
		failed:    states.ServiceFail,
	},
	Unprovisioned: {
		in:        states.SetOf(states.Available),
		startedBy: []states.Event{states.EventDelete},
		during: states.SetOf(states.Deleting, states.Cleaning, states.CleanWait, states.CleanHold, states.CleanFail,
			states.Manageable),
		ends:   states.SetOf(states.Available),
		failed: states.Error,
	},
}
