package plan

import (
	"iter"

	"github.com/ironstate/ironstate/internal/enum"
	"github.com/ironstate/ironstate/states"
)

// Goal is a state to bring a node to, or work to have done on it. Its text form, in
// JSON too, is the constant's name in lower case; the zero value, "none", is no goal
// and refused by [Next]. A Goal is a plain value and may be shared freely.
type Goal uint8

// These goals are a state: reached whenever the node is in it, and sought again
// once the node has left it.
const (
	noGoal Goal = iota
	// Enrolled: in enroll. Nothing but a failed verification leads there.
	Enrolled
	// Manageable: in manageable.
	Manageable
	// Available: in available, clean and free for use. Where a scheduler uses
	// available nodes, [Unprovisioned] is the goal that tears down only once.
	Available
	// Active: in active. A node without a workload is deployed; [Adopted] takes
	// over a node that was deployed by other means. A node in adopt failed is
	// adopted.
	Active
	// Adopted: in active, by adoption where the node is not active yet.
	Adopted
	// Rescued: in rescue.
	Rescued
	// Errored: in error. Nothing but a failed tear-down leads there.
	Errored
	// Deletable: in a state in which the node's record may be deleted, see
	// [states.Table.CanDelete].
	Deletable
)

// These goals are work that is to be done once after the wish was made. Work that
// was under way before does not count. Once reached, they stay reached wherever the
// node goes.
const (
	// Inspected: an inspection has ended in manageable.
	Inspected Goal = Deletable + 1 + iota
	// Cleaned: a manual cleaning has ended in manageable or, where the steps named
	// hold and wait made Ironic forget that the cleaning is manual, in available.
	// Source: ironic/conductor/steps.py.
	Cleaned
	// Rebuilt: a rebuild has ended in active. A node that is not deployed is
	// deployed instead.
	Rebuilt
	// Serviced: a service has ended in active.
	Serviced
	// Unprovisioned: torn down and available again. The node is torn down once: if
	// someone has deployed it since, it is left alone.
	Unprovisioned

	numGoals
)

var goalWords = &enum.Words{Type: "Goal", Kind: "goal", Words: []string{
	"none", "enrolled", "manageable", "available", "active", "adopted", "rescued", "errored", "deletable",
	"inspected", "cleaned", "rebuilt", "serviced", "unprovisioned",
}}

// AllGoals ranges over every goal, in the order of the constants.
func AllGoals() iter.Seq[Goal] {
	return func(yield func(Goal) bool) {
		for g := Enrolled; g < numGoals; g++ {
			if !yield(g) {
				return
			}
		}
	}
}

// ParseGoal returns the goal of a word, or of a stable state's word such as
// "rescue". Any other word is a [*states.UnknownError].
func ParseGoal(word string) (Goal, error) {
	for g := range AllGoals() {
		if g.String() == word {
			return g, nil
		}
	}
	if s, err := states.Parse(word); err == nil && s != states.NoState {
		for g := Enrolled; g <= Errored; g++ {
			if g != Adopted && goalRows[g].in.Has(s) {
				return g, nil
			}
		}
	}
	return noGoal, unknownGoal(word)
}

func unknownGoal(word string) error {
	e := &states.UnknownError{Kind: "goal", Word: word}
	for g := range AllGoals() {
		e.Known = append(e.Known, g.String())
	}
	e.Known = append(e.Known, "the stable states' words")
	return e
}

// String returns the goal's word, or a form like "Goal(99)" for a number that has
// none.
func (g Goal) String() string { return goalWords.String(uint8(g)) }

// MarshalText returns the goal's word. A number without one is a
// [*states.UnknownError].
func (g Goal) MarshalText() ([]byte, error) { return goalWords.Marshal(uint8(g)) }

// UnmarshalText is [ParseGoal], and takes "none"; g keeps its value on error.
func (g *Goal) UnmarshalText(text []byte) error {
	if string(text) == noGoal.String() {
		*g = noGoal
		return nil
	}
	parsed, err := ParseGoal(string(text))
	if err == nil {
		*g = parsed
	}
	return err
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

var goalRows = [numGoals]goalRow{
	Enrolled:   {in: states.SetOf(states.Enroll)},
	Manageable: {in: states.SetOf(states.Manageable)},
	Available:  {in: states.SetOf(states.Available)},
	Active:     {in: states.SetOf(states.Active)},
	Adopted:    {in: states.SetOf(states.Active)},
	Rescued:    {in: states.SetOf(states.Rescue)},
	Errored:    {in: states.SetOf(states.Error)},
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
