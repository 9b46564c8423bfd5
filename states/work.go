// SPDX-License-Identifier: Apache-2.0

package states

import (
	"iter"
	"strconv"
)

// Work is a kind of work that the conductor does on a node. Most states are states of a work: it runs in one, waits in
// another for a call from outside, is held by a hold step in a third, and has failed in a fourth. Each of these states
// belongs to one work, the same in every series. The zero value is [NoWork].
//
// As with [State], the numbers may change between releases; the words do not.
type Work uint8

const (
	// NoWork is the absence of work, "none" as text: the work of the stable states except Error.
	NoWork Work = iota
	// WorkVerify ("verify"): out of Enroll, in Verifying. When it fails, the node is in Enroll again.
	WorkVerify
	// WorkInspect ("inspect"): in Inspecting and InspectWait.
	WorkInspect
	// WorkClean ("clean"): in Cleaning, CleanWait and CleanHold, by request or automated, also after a tear-down.
	WorkClean
	// WorkDeploy ("deploy"): in Deploying, DeployWait and DeployHold, for a deployment and a rebuild.
	WorkDeploy
	// WorkAdopt ("adopt"): in Adopting.
	WorkAdopt
	// WorkRescue ("rescue"): in Rescuing and RescueWait.
	WorkRescue
	// WorkUnrescue ("unrescue"): in Unrescuing.
	WorkUnrescue
	// WorkService ("service"): in Servicing, ServiceWait and ServiceHold.
	WorkService
	// WorkDelete ("delete"): the tear-down, in Deleting. It ends when cleaning begins. When it fails, the node is in
	// Error.
	WorkDelete

	numWorks
)

var workWords = newVocabulary("work", []string{
	NoWork:       "none",
	WorkVerify:   "verify",
	WorkInspect:  "inspect",
	WorkClean:    "clean",
	WorkDeploy:   "deploy",
	WorkAdopt:    "adopt",
	WorkRescue:   "rescue",
	WorkUnrescue: "unrescue",
	WorkService:  "service",
	WorkDelete:   "delete",
})

// ParseWork returns the work of a word. "none" and the empty text are NoWork. Any other word is an [*UnknownError].
func ParseWork(word string) (Work, error) { return parse[Work](workWords, word) }

// AllWorks ranges over every work. NoWork is left out.
func AllWorks() iter.Seq[Work] { return all[Work](workWords) }

// workOf holds the work of each state, and workStates the states of each work.
var workOf, workStates = func() (of [numStates]Work, in [numWorks]statesOfWork) {
	for _, row := range stateRows {
		if row.work == NoWork {
			continue
		}
		of[row.state] = row.work
		w := &in[row.work]
		switch row.phase {
		case PhaseWorking:
			w.working = row.state
		case PhaseWaiting:
			w.waiting = row.state
		case PhaseHold:
			w.held = row.state
		case PhaseFailed:
			w.failed = row.state
			continue
		}
		w.inProgress = w.inProgress.Union(SetOf(row.state))
	}
	return of, in
}()

type statesOfWork struct {
	working, waiting, held, failed State
	inProgress                     Set
}

func (w Work) states() statesOfWork {
	if w >= numWorks {
		return statesOfWork{}
	}
	return workStates[w]
}

// Work returns the work of a state, in any series. It is NoWork for a stable state other than Error, and for a number
// that is no state.
func (s State) Work() Work {
	if s >= numStates {
		return NoWork
	}
	return workOf[s]
}

// Work returns the work of a state: [State.Work], and NoWork for a state that the series does not have.
func (t *Table) Work(s State) Work {
	if !t.States().Has(s) {
		return NoWork
	}
	return s.Work()
}

// Working returns the state in which the conductor does the work.
func (w Work) Working() State { return w.states().working }

// Waiting returns the state in which the work waits for a call from outside, NoState if it never waits. The state may
// be younger than the work: inspections wait since Rocky.
func (w Work) Waiting() State { return w.states().waiting }

// Held returns the state in which a hold step has stopped the work, NoState if it has no such steps. These states exist
// since 2023.2.
func (w Work) Held() State { return w.states().held }

// Failed returns the state in which the work has failed: Error for a tear-down, NoState for a verification, after which
// the node is in Enroll again.
func (w Work) Failed() State { return w.states().failed }

// InProgress reports whether work runs, waits or is held in the state: the phases [PhaseWorking], [PhaseWaiting] and
// [PhaseHold].
func (s State) InProgress() bool { return s.Work().InProgress().Has(s) }

// InProgress returns the states in which the work runs, waits or is held.
func (w Work) InProgress() Set { return w.states().inProgress }

// States returns all states of the work: InProgress and Failed.
func (w Work) States() Set {
	set := w.InProgress()
	if failed := w.Failed(); failed != NoState {
		set = set.Union(SetOf(failed))
	}
	return set
}

// String returns the word, or a form like "Work(99)" for a number that is none.
func (w Work) String() string { return workWords.word(uint8(w), "Work") }

// GoString returns the word in quotes, which is how %#v, and with it testify and rapid, print a Work.
func (w Work) GoString() string { return strconv.Quote(w.String()) }

// MarshalText returns String. A number that is no work is an [*UnknownError].
func (w Work) MarshalText() ([]byte, error) { return marshalText(workWords, uint8(w), w) }

// UnmarshalText is [ParseWork]; w keeps its value on error.
func (w *Work) UnmarshalText(text []byte) error { return setWord(w, workWords, string(text)) }
