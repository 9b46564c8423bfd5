// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"log/slog"
	"time"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/states"
)

// Outcome is the result of a round for one node, or of a power request, in lower-case
// words and underscores, so that no log or metric has to quote it. Each node of a
// round has one outcome; power requests and reservations have outcomes of their own.
type Outcome string

// These are the outcomes of nodes that a round skipped.
const (
	SkippedEnroll         Outcome = "skipped_enroll"             // the node is in enroll: it is not managed yet
	SkippedDeployWait     Outcome = "skipped_wait_call_back"     // the node is in wait call-back: the ramdisk is about to call
	SkippedCleanWait      Outcome = "skipped_clean_wait"         // the node is in clean wait: the ramdisk is about to call
	SkippedAdoptFail      Outcome = "skipped_adopt_failed"       // the node is in adopt failed
	SkippedMaintenance    Outcome = "skipped_maintenance"        // the node is in maintenance
	SkippedNoPowerFailure Outcome = "skipped_no_power_failure"   // the node is not in maintenance with FaultPowerFailure
	SkippedTarget         Outcome = "skipped_target_power_state" // a target power state is set: the power is being changed
	SkippedReservation    Outcome = "skipped_reservation"        // the node is reserved
	SkippedConfiguration  Outcome = "skipped_configuration"      // no power state is recorded and the Validator refuses the configuration
	SkippedBackoff        Outcome = "skipped_backoff"            // the node failed, and Config.Backoff is not over
	SkippedChanged        Outcome = "skipped_changed"            // the record changed each time that the hardware was read
	SkippedDeleted        Outcome = "skipped_deleted"            // the node was deleted during the round
)

// These are the outcomes of nodes that a round did not skip. After ForceLimited, StoreFailed
// and Interrupted the attempt does not count.
const (
	Equal     Outcome = "equal"     // the reading equals the record
	Recorded  Outcome = "recorded"  // no power state was recorded, and the reading is now
	Corrected Outcome = "corrected" // the reading differed and is recorded now
	// the reading differed, and the hardware was set to the recorded power state; the next round reads it
	Forced          Outcome = "forced"
	ForceFailed     Outcome = "force_failed"     // setting the hardware to the recorded power state failed
	ForceLimited    Outcome = "force_limited"    // the hardware was not set, because Config.ForceLimit was reached
	ReadFailed      Outcome = "read_failed"      // the power state could not be read
	IntoMaintenance Outcome = "into_maintenance" // the node failed once more than Policy.MaxRetries and is in maintenance now
	Recovered       Outcome = "recovered"        // the node could be read again and is out of maintenance
	// the store failed, or it or the Handler panicked or ended its goroutine, and reported no write
	StoreFailed Outcome = "store_failed"
	Interrupted Outcome = "interrupted" // the context ended while the node was being handled
)

// These are the outcomes of power requests and of reservations; see [Syncer.Set] and
// [Syncer.Reclaim].
const (
	PowerRequested Outcome = "power_requested" // a power request was accepted and the node is reserved for it
	PowerSet       Outcome = "power_set"       // the requested power state was reached
	PowerNotSet    Outcome = "power_not_set"   // the requested power state was not reached
	// a reservation in the Syncer's name was dropped, because none of its goroutines worked on the node
	Reclaimed Outcome = "reclaimed"
	SavedLate Outcome = "saved_late" // an outcome that could not be stored earlier is stored now, and the node is released
)

// class says what an outcome means for the log and the counts.
type class uint8

const (
	changed   class = iota // something has happened, as it should
	skipped                // the node was skipped
	unchanged              // nothing has happened
	noted                  // somebody should look at it
	failed                 // it counts as a failure
	alarming               // it counts as a failure, and the node needs somebody
)

// outcomes has the class of each outcome, in the order in which reports list them.
var outcomes = []struct {
	Outcome
	class
}{
	{SkippedEnroll, skipped},
	{SkippedDeployWait, skipped},
	{SkippedCleanWait, skipped},
	{SkippedAdoptFail, skipped},
	{SkippedMaintenance, skipped},
	{SkippedNoPowerFailure, skipped},
	{SkippedTarget, skipped},
	{SkippedReservation, skipped},
	{SkippedConfiguration, skipped},
	{SkippedBackoff, skipped},
	{SkippedChanged, skipped},
	{SkippedDeleted, skipped},
	{Equal, unchanged},
	{Recorded, changed},
	{Corrected, changed},
	{Forced, noted},
	{ForceFailed, failed},
	{ForceLimited, noted},
	{ReadFailed, failed},
	{IntoMaintenance, alarming},
	{Recovered, changed},
	{StoreFailed, failed},
	{Interrupted, changed},
	{PowerRequested, changed},
	{PowerSet, changed},
	{PowerNotSet, failed},
	{Reclaimed, noted},
	{SavedLate, changed},
}

// rank returns the index of an outcome in outcomes. An outcome of a [Handler]'s own follows them all.
func (o Outcome) rank() int {
	for i, row := range outcomes {
		if row.Outcome == o {
			return i
		}
	}
	return len(outcomes)
}

// class returns the class of an outcome. An outcome of a [Handler]'s own has the class changed.
func (o Outcome) class() class {
	if i := o.rank(); i < len(outcomes) {
		return outcomes[i].class
	}
	return changed
}

// level returns the level of a line in the log.
func (c class) level() slog.Level {
	switch c {
	case noted, failed:
		return slog.LevelWarn
	case alarming:
		return slog.LevelError
	default:
		return slog.LevelInfo
	}
}

// count returns how many nodes have an outcome, how many of them were skipped, and how many have failed.
func count(nodes map[Outcome]int) (seen, skips, failures int) {
	for o, n := range nodes {
		seen += n
		switch o.class() {
		case skipped:
			skips += n
		case failed, alarming:
			failures += n
		}
	}
	return seen, skips, failures
}

// Event is the outcome of one node, or of one power request, and its details. It has no
// JSON form, since Err may be of any type; [Config.Logger] gets a line with its values.
type Event struct {
	Time     time.Time
	ID       string
	Outcome  Outcome
	Recorded states.Power // recorded before; NoPower if there was none or the record could not be loaded
	Read     states.Power // read from the hardware; NoPower if it was not read or the read failed
	Asked    states.Power // requested from the hardware; NoPower if nothing was requested
	Attempts int          // attempts that failed in a row, this one included; 0 if this one succeeded or does not count
	Err      error        // the cause of a failure

	// LastError is the last error that was stored with this event. ClearedError
	// is the last error that it replaced or cleared, which is stored nowhere else. A
	// caller that keeps a history of its nodes' errors, as Ironic does
	// (node_history), stores both. Each is empty if there is none.
	LastError    string
	ClearedError string
}

// setLastError sets a record's last error and stores both texts in the event.
func (e *Event) setLastError(r *Record, text string) {
	text = errtext.Clean(text)
	if r.LastError != text {
		e.LastError, e.ClearedError = text, r.LastError
	}
	r.LastError = text
}

// notAsked returns the event of hardware that was not set after all.
func (e Event) notAsked(o Outcome, err error) Event {
	e.Asked = states.NoPower
	return e.as(o, err)
}

// as returns the event with an outcome and the cause of a failure, if any.
func (e Event) as(o Outcome, err error) Event {
	e.Outcome, e.Err = o, err
	switch o {
	case SkippedReservation, SkippedDeleted, ForceLimited, StoreFailed, Interrupted:
		e.Attempts = 0 // the attempt does not count
	}
	return e
}
