// SPDX-License-Identifier: Apache-2.0

// Package promises checks whether the stored versions of a node keep the promises of conductors. The tests of package
// conductor check each write of a simulation and of a search of all schedules with it. The program e2e/force checks
// each version that real processes store while it kills them. The tests of another store can check its log.
//
// SPEC.md of package conductor has all promises and the argument for each. This package has the promises that a write
// can break:
//
//   - A state follows from the state before by a row of the table, or by two rows when a service is aborted, and the
//     record keeps these transitions with their time, target and error.
//   - Work that fails leaves its reason in last_error.
//   - A reservation ends with its work, and no other conductor takes it before.
//   - The token of an agent ends with the agent's work.
//
// After the last write, [Rules.Waits] says whether the node waits for something. A program that follows the versions of
// a node in the log of a store checks each write with the version before:
//
//	rules := promises.Rules{Table: states.Latest().Table(), MaxTransitions: 20}
//	before, err := promises.Decode(stored.Value)
//	// ... the same for the version that replaces it, as after
//	added, broken := rules.Write(before, after, true)
//	for _, text := range broken {
//		log.Printf("node %s: %s", after.UUID, text)
//	}
package promises

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/oslobool"
	"github.com/ironstate/ironstate/states"
)

// Rules checks versions. It is a value, and may be shared.
type Rules struct {
	// Table is the table of the conductors' series.
	Table *states.Table
	// MaxTransitions is how many transitions a record keeps, as in the conductors' [conductor.Config]; 0 stands for
	// [conductor.DefaultMaxTransitions].
	MaxTransitions int
	// FastTrack says that agents may stay after their work, as in the conductors' [conductor.Config]. The key fast_track
	// of a node's driver_info overrides it.
	FastTrack bool
}

// Version is the part of a node's record that is checked.
type Version struct {
	UUID        string                       `json:"uuid"`
	Name        string                       `json:"name"`
	State       states.State                 `json:"provision_state"`
	Target      states.State                 `json:"target_provision_state"`
	LastError   string                       `json:"last_error"`
	Transitions []conductor.TransitionRecord `json:"transitions"`
	TargetPower states.Power                 `json:"target_power_state"`
	Maintenance bool                         `json:"maintenance"`
	Reservation string                       `json:"reservation"`
	Claim       string                       `json:"claim"`
	CleanUp     *conductor.CleanUp           `json:"clean_up"`
	Agent       conductor.AgentInfo          `json:"agent"`
	CleanSteps  conductor.Steps              `json:"clean_steps"`
	DeploySteps conductor.Steps              `json:"deploy_steps"`
	DriverInfo  struct {
		FastTrack any `json:"fast_track"` // a boolean, or a word for one
	} `json:"driver_info"`
}

// Decode returns a version, from the Value of a [conductor.Record]. The error is of encoding/json.
func Decode(value []byte) (*Version, error) {
	v := &Version{}
	if err := json.Unmarshal(value, v); err != nil {
		return nil, err
	}
	return v, nil
}

// trusted are the states that say that work was done.
var trusted = states.SetOf(states.Active, states.Available, states.Manageable)

// Write checks a write that replaces a version of a node by another. It returns the transitions that the write has
// added, and a text for each promise that the write breaks. alive says whether the process that held the claim of the
// version before was still a member.
func (r Rules) Write(before, after *Version, alive bool) (added []conductor.TransitionRecord, broken []string) {
	breaks := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	if before.State != after.State && !r.follows(before.State, after.State) {
		breaks("%q was stored after %q", after.State, before.State)
	}
	added, problem := r.added(before, after)
	if problem != "" {
		breaks("%s: %v, then %v", problem, before.Transitions, after.Transitions)
	}
	if len(added) > 0 && added[len(added)-1].Event == states.EventFail && after.LastError == "" {
		breaks("a failure in %q was stored without its reason", before.State)
	}
	if trusted.Has(after.State) && before.State != after.State && !r.fastTracks(after) && after.Agent.Token != "" {
		breaks("the token of its agent is valid in %q", after.State)
	}
	switch {
	case before.Claim == "" || before.Claim == after.Claim:
	case after.Claim != "":
		breaks("the reservation of %s (%s) passed to %s (%s) without being dropped",
			before.Reservation, before.Claim, after.Reservation, after.Claim)
	case before.State != after.State, before.TargetPower != states.NoPower, !r.Table.Stuck().Has(before.State):
	case before.State == states.Verifying && !alive: // another conductor verifies the node again
	default:
		breaks("the reservation of %s was dropped in %q without an end of the work", before.Reservation, before.State)
	}
	return added, broken
}

// fastTracks reports whether an agent may stay after its work.
func (r Rules) fastTracks(v *Version) bool {
	if v.DriverInfo.FastTrack == nil {
		return r.FastTrack
	}
	on, _ := oslobool.Parse(fmt.Sprint(v.DriverInfo.FastTrack))
	return on
}

// follows reports whether one write may lead from a state to another: by one row of the table, or by the two rows of an
// abort of a service.
func (r Rules) follows(from, to states.State) bool {
	for row := range r.Table.Transitions() {
		if row.From == from && row.To == to {
			return true
		}
	}
	end, aborts := r.Table.Next(states.ServiceFail, states.EventAbort)
	return (from == states.ServiceWait || from == states.ServiceHold) && aborts && end == to
}

// added returns the transitions that a write has added, and a text if they are wrong. They follow the transitions of
// the version before, up to MaxTransitions. They are one row of the table or two, from the state before to the state
// after.
func (r Rules) added(before, after *Version) (added []conductor.TransitionRecord, problem string) {
	state := before.State
	for state != after.State {
		if len(added) == min(2, len(after.Transitions)) {
			return nil, "the new transitions do not lead to the state"
		}
		added = after.Transitions[len(after.Transitions)-len(added)-1:]
		state = before.State
		for _, t := range added {
			if to, ok := r.Table.Next(t.From, t.Event); t.From != state || !ok || t.To != to {
				break
			}
			state = t.To
		}
	}
	want := slices.Concat(before.Transitions, added)
	keeps := max(len(added), cmp.Or(r.MaxTransitions, conductor.DefaultMaxTransitions))
	if want = want[max(0, len(want)-keeps):]; !slices.Equal(want, after.Transitions) {
		return added, "a transition was lost, or changed"
	}
	if len(added) == 0 {
		return nil, ""
	}
	last := added[len(added)-1]
	begin, cut := strings.CutSuffix(last.LastError, "…")
	if last.Target != after.Target || last.LastError != after.LastError && !(cut && strings.HasPrefix(after.LastError, begin)) {
		return added, "the last transition does not have the target and the last error of the record"
	}
	return added, ""
}

// Waits returns a text if a node waits for a conductor, for a call from its machine, or for a change of power, and
// otherwise "".
func (r Rules) Waits(v *Version) string {
	switch {
	case v.Claim != "" || v.Reservation != "":
		return "it is reserved by " + v.Reservation
	case v.TargetPower != states.NoPower:
		return "it has the target power state " + v.TargetPower.String()
	case v.CleanUp != nil:
		return "its machine was not cleaned up after failed work"
	case r.Table.Stuck().Has(v.State), r.Table.Phase(v.State) == states.PhaseWaiting && !v.Maintenance:
		return "it is in " + v.State.String()
	default:
		return ""
	}
}
