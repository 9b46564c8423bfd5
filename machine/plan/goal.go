package plan

import (
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// Goal is what a node shall come to. Its text form, in JSON too, is the word of
// the constant in lower case. A Goal is a plain value and may be shared freely.
type Goal uint8

// Goals that are a state: reached whenever the node is in it, and wanted again
// once it has left.
const (
	// NoGoal is the zero Goal; [Next] refuses it.
	NoGoal Goal = iota
	// Enrolled: in enroll. Nothing but a failed verification leads there.
	Enrolled
	// Manageable: in manageable.
	Manageable
	// Available: in available, clean and free for use. Where a scheduler uses
	// what is available, [Unprovisioned] is the goal that tears down only once.
	Available
	// Active: in active. A node without a workload is deployed; [Adopted] takes
	// over one that was deployed by other means. One in adopt failed is adopted.
	Active
	// Adopted: in active, by adoption where the node is not active yet.
	Adopted
	// Rescued: in rescue.
	Rescued
	// Errored: in error. Nothing but a failed tear-down leads there.
	Errored
	// Deletable: where the node's record may be deleted, [states.Table.CanDelete].
	Deletable
)

// Goals that are work to be done once since the wish was made. Work that was
// under way before does not count. Once done they stay done, wherever the node
// goes.
const (
	// Inspected: an inspection has ended in manageable.
	Inspected Goal = Deletable + 1 + iota
	// Cleaned: a manual cleaning has ended. That is in manageable or, as the steps
	// named hold and wait make Ironic forget that the cleaning is manual, in
	// available. Source: ironic/conductor/steps.py.
	Cleaned
	// Rebuilt: a rebuild has ended in active. A node that is not deployed is
	// deployed instead.
	Rebuilt
	// Serviced: a service has ended in active.
	Serviced
	// Unprovisioned: torn down and available again. It tears down once: a node
	// that someone has deployed since is not touched.
	Unprovisioned

	numGoals
)

// A goalRow says when a goal is reached.
type goalRow struct {
	word string
	// in has the states that reach the goal; Deletable's are the table's.
	in states.Set
	// asks has the events that start the goal's work, the preferred first.
	asks []states.Event
	// Once the work was asked for, the node is in one of during while it lasts,
	// in one of ends once it is through, and in failed when it failed. Anywhere
	// else, someone else has moved it.
	during, ends states.Set
	failed       states.State
}

// once reports whether the goal is work to be done once.
func (g *goalRow) once() bool { return len(g.asks) > 0 }

var goalRows = [numGoals]goalRow{
	NoGoal:     {word: "none"},
	Enrolled:   {word: "enrolled", in: states.SetOf(states.Enroll)},
	Manageable: {word: "manageable", in: states.SetOf(states.Manageable)},
	Available:  {word: "available", in: states.SetOf(states.Available)},
	Active:     {word: "active", in: states.SetOf(states.Active)},
	Adopted:    {word: "adopted", in: states.SetOf(states.Active)},
	Rescued:    {word: "rescued", in: states.SetOf(states.Rescue)},
	Errored:    {word: "errored", in: states.SetOf(states.Error)},
	Deletable:  {word: "deletable"},
	Inspected: {
		word:   "inspected",
		asks:   []states.Event{states.EventInspect},
		during: states.SetOf(states.Inspecting, states.InspectWait),
		ends:   states.SetOf(states.Manageable),
		failed: states.InspectFail,
	},
	Cleaned: {
		word:   "cleaned",
		asks:   []states.Event{states.EventClean},
		during: states.SetOf(states.Cleaning, states.CleanWait, states.CleanHold),
		ends:   states.SetOf(states.Manageable, states.Available),
		failed: states.CleanFail,
	},
	Rebuilt: {
		word:   "rebuilt",
		asks:   []states.Event{states.EventRebuild, states.EventDeploy},
		during: states.SetOf(states.Deploying, states.DeployWait, states.DeployHold),
		ends:   states.SetOf(states.Active),
		failed: states.DeployFail,
	},
	Serviced: {
		word:   "serviced",
		asks:   []states.Event{states.EventService},
		during: states.SetOf(states.Servicing, states.ServiceWait, states.ServiceHold),
		ends:   states.SetOf(states.Active),
		failed: states.ServiceFail,
	},
	Unprovisioned: {
		word: "unprovisioned",
		in:   states.SetOf(states.Available),
		asks: []states.Event{states.EventDelete},
		during: states.SetOf(states.Deleting, states.Cleaning, states.CleanWait, states.CleanHold, states.CleanFail,
			states.Manageable),
		ends:   states.SetOf(states.Available),
		failed: states.Error,
	},
}

// ParseGoal returns the goal of a word, or of a stable state's word such as
// "rescue". Any other word is a [*states.UnknownError].
func ParseGoal(word string) (Goal, error) {
	for g := Enrolled; g < numGoals; g++ {
		if goalRows[g].word == word {
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
	return NoGoal, unknownGoal(word)
}

func unknownGoal(word string) error {
	e := &states.UnknownError{Kind: "goal", Word: word}
	for _, g := range AllGoals() {
		e.Known = append(e.Known, g.String())
	}
	e.Known = append(e.Known, "the stable states' words")
	return e
}

// AllGoals returns every goal but NoGoal, in the order of the constants. The
// slice is the caller's own.
func AllGoals() []Goal {
	goals := make([]Goal, 0, numGoals-1)
	for g := Enrolled; g < numGoals; g++ {
		goals = append(goals, g)
	}
	return goals
}

// String returns the goal's word, or a form like "Goal(99)" for a number that is
// none.
func (g Goal) String() string {
	if g >= numGoals {
		return fmt.Sprintf("Goal(%d)", uint8(g))
	}
	return goalRows[g].word
}

// MarshalText returns the goal's word. A number that is no goal is a
// [*states.UnknownError].
func (g Goal) MarshalText() ([]byte, error) {
	if g >= numGoals {
		return nil, unknownGoal(g.String())
	}
	return []byte(g.String()), nil
}

// UnmarshalText is [ParseGoal], and takes "none"; g keeps its value on error.
func (g *Goal) UnmarshalText(text []byte) error {
	if string(text) == NoGoal.String() {
		*g = NoGoal
		return nil
	}
	parsed, err := ParseGoal(string(text))
	if err == nil {
		*g = parsed
	}
	return err
}
