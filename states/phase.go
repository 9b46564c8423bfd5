// SPDX-License-Identifier: Apache-2.0

package states

// Phase says who moves a node on from a state. The zero value is the phase of a
// state that the series does not have.
type Phase string

const (
	// PhaseStable says that the node stays until a client requests another state. These are
	// the stable states except Error.
	PhaseStable Phase = "stable"
	// PhaseWorking says that the conductor is at work and reports the result.
	PhaseWorking Phase = "working"
	// PhaseWaiting says that the conductor waits, up to a timeout, for a call from outside.
	// These are DeployWait and the states named "... wait".
	PhaseWaiting Phase = "waiting"
	// PhaseHold says that a hold step stopped the work until a client requests unhold
	// or abort. These are the states named "... hold", which exist since 2023.2.
	PhaseHold Phase = "hold"
	// PhaseFailed says that work failed, and an operator has to examine the node before a
	// client requests another state. These are the states of [Table.Failed], and Error.
	PhaseFailed Phase = "failed"
)

// Phase returns who moves a node on from a state.
func (t *Table) Phase(s State) Phase {
	if t == nil || s >= maxStates {
		return ""
	}
	return t.phases[s]
}

// IsRequest reports whether a client's request, and not the conductor, causes a
// transition of the table. It is false for a transition that the table does not have.
//
// The conductor fires two events by itself that are also words of the API: clean
// out of Deleting, and manage at the end of a manual cleaning. The API accepts these
// words there, see [Table.Request], but the transitions count as the conductor's.
func (t *Table) IsRequest(row Transition) bool {
	to, ok := t.Next(row.From, row.Event)
	return ok && to == row.To && t.Phase(row.From) != PhaseWorking && t.takes(row.Event)
}

// takes reports whether the series' API has a verb for the event.
func (t *Table) takes(e Event) bool {
	for i := range verbRows {
		if verbRows[i].event == e {
			return verbRows[i].since <= t.Series()
		}
	}
	return false
}
