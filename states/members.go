// SPDX-License-Identifier: Apache-2.0

package states

// These are the indexes of a table's sets. Some sets are derived from the table; the
// others have rows of history, as in rows.go.
const (
	stableSet = iota
	unstableSet
	failedSet
	waitingSet
	holdSet
	stuckSet
	updateSet
	deleteSet
	lookupSet
	fastTrackSet
	inspectionSet
	servicingSet
	numSets
)

var updateRows = [...]memberRow{
	{DeployFail, span{Kilo, kept}},
	{CleanFail, span{Kilo, kept}},
	{Inspecting, span{Kilo, kept}},
	{InspectFail, span{Kilo, kept}},
	{Error, span{Liberty, kept}},
	{Verifying, span{Liberty, kept}},
	{AdoptFail, span{Newton, kept}},
	{RescueFail, span{Queens, kept}},
	{UnrescueFail, span{Queens, kept}},
	{InspectWait, span{Rocky, kept}},
	{ServiceFail, span{Bobcat, kept}},
	{ServiceHold, span{Bobcat, kept}},
}

var deleteRows = [...]memberRow{
	{NoState, span{Kilo, Newton}},
	{Available, span{Kilo, Stein}},
	{Manageable, span{Kilo, kept}},
	{Enroll, span{Liberty, kept}},
	{AdoptFail, span{Newton, kept}},
}

var lookupRows = [...]memberRow{
	{Deploying, span{Kilo, kept}},
	{DeployWait, span{Kilo, kept}},
	{Cleaning, span{Kilo, kept}},
	{CleanWait, span{Liberty, kept}},
	{Inspecting, span{Kilo, kept}},
	{InspectWait, span{Ussuri, kept}},
	{Rescuing, span{Queens, kept}},
	{RescueWait, span{Queens, kept}},
	{ServiceWait, span{Gazpacho, kept}},
}

// fastTrackRows holds the rows that fast track adds to lookupRows.
var fastTrackRows = [...]memberRow{
	{Enroll, span{Liberty, kept}},
	{Manageable, span{Kilo, kept}},
	{Available, span{Kilo, kept}},
	{Servicing, span{Bobcat, kept}},
	{ServiceWait, span{Bobcat, kept}},
	{ServiceHold, span{Bobcat, kept}},
}

type memberRow struct {
	state State
	span
}

func membersIn(s Series, rows []memberRow) Set {
	var set Set
	for _, row := range rows {
		if row.covers(s) {
			set = set.Union(SetOf(row.state))
		}
	}
	return set
}

func (t *Table) buildSets() {
	var stable, failed, working, waiting, hold Set
	for s := range t.states.All() {
		switch one := SetOf(s); {
		case t.targets[s] == NoState: // also Error
			stable = stable.Union(one)
		case t.phases[s] == PhaseFailed:
			failed = failed.Union(one)
		case t.phases[s] == PhaseWorking:
			working = working.Union(one)
		case t.phases[s] == PhaseWaiting:
			waiting = waiting.Union(one)
		case t.phases[s] == PhaseHold:
			hold = hold.Union(one)
		}
	}
	lookup := membersIn(t.series, lookupRows[:])

	t.sets = [numSets]Set{
		stableSet:     stable,
		unstableSet:   working.Union(waiting),
		failedSet:     failed,
		waitingSet:    waiting,
		holdSet:       hold,
		stuckSet:      t.stuckOf(working),
		updateSet:     membersIn(t.series, updateRows[:]),
		deleteSet:     membersIn(t.series, deleteRows[:]),
		lookupSet:     lookup,
		fastTrackSet:  lookup.Union(membersIn(t.series, fastTrackRows[:])),
		inspectionSet: WorkInspect.States().Intersect(t.states),
		servicingSet:  WorkService.States().Intersect(t.states),
	}
}

// stuckOf returns those working states in which the next conductor fails a dead
// conductor's node: they have a row for fail. Servicing is one only since 2025.1; the
// earlier sources omit it by mistake.
func (t *Table) stuckOf(working Set) Set {
	for s := range working.All() {
		if _, ok := t.Next(s, EventFail); !ok {
			working = working.Minus(SetOf(s))
		}
	}
	if t.series < Epoxy {
		working = working.Minus(SetOf(Servicing))
	}
	return working
}

func (t *Table) set(n int) Set {
	if t == nil {
		return Set{}
	}
	return t.sets[n]
}

// Stable returns the states that a node stays in until a client requests another:
// upstream's STABLE_STATES. Only a stable state can be a target. Before Mitaka,
// whose source first has the set, it holds the states with the stable flag.
func (t *Table) Stable() Set { return t.set(stableSet) }

// Unstable returns the states that a node leaves by itself, because the
// conductor is at work or waits for a call: upstream's UNSTABLE_STATES. Before
// Ocata, whose source first has the set, they are those that are neither stable
// nor failed nor on hold; the two agree since. Failed states and hold states are neither
// stable nor unstable.
func (t *Table) Unstable() Set { return t.set(unstableSet) }

// Failed returns the states named "... failed", out of which a client must move a
// node: upstream's FAILURE_STATES. Before Yoga, whose source first has the set, the
// same rule applies. Error is not one of them: it is stable.
func (t *Table) Failed() Set { return t.set(failedSet) }

// Stuck returns the states whose work is lost when the conductor dies, and whose nodes
// the next conductor fails: upstream's STUCK_STATES_TREATED_AS_FAIL. Before Rocky,
// whose source first has the set, they are the unstable states that do not wait
// and have a row for fail. Deleting is one since Stein, Servicing since 2025.1.
func (t *Table) Stuck() Set { return t.set(stuckSet) }

// UpdateAllowed returns the states in which a node may be updated while it has a
// target: upstream's UPDATE_ALLOWED_STATES. From 2023.2 upstream's set also
// lists the word "service", which is no state and is left out here. From API
// version 1.39 on the API also refuses an update in Inspecting.
func (t *Table) UpdateAllowed() Set { return t.set(updateSet) }

// DeleteAllowed returns the states in which a node's record may be deleted:
// upstream's DELETE_ALLOWED_STATES. The record of a node in maintenance may be deleted
// in any state. Since Stein the source leaves Available to the operator's choice, so it
// is not in the set. Kilo lacks the set; the result is Liberty's, without the states
// that Kilo lacks.
func (t *Table) DeleteAllowed() Set { return t.set(deleteSet) }

// LookupAllowed returns the states in which a ramdisk may look its node up:
// upstream's LOOKUP_ALLOWED_STATES. Before Stein, whose source first has the
// set, the answer is Stein's, without the states that the series
// lacks.
func (t *Table) LookupAllowed() Set { return t.set(lookupSet) }

// FastTrackLookupAllowed returns the states in which a ramdisk may look its node
// up when fast track is on: upstream's FASTTRACK_LOOKUP_ALLOWED_STATES. Before
// Stein, which brought fast track, the answer is Stein's, without the states that
// the series lacks.
func (t *Table) FastTrackLookupAllowed() Set { return t.set(fastTrackSet) }

// Inspection returns the states of inspection: upstream's INSPECTION_STATES, a
// set since 2026.1 and the same states before, where the series has them.
func (t *Table) Inspection() Set { return t.set(inspectionSet) }

// Servicing returns the states of service: upstream's SERVICING_STATES. Empty
// before 2023.2.
func (t *Table) Servicing() Set { return t.set(servicingSet) }
