// SPDX-License-Identifier: Apache-2.0

package powersync

import "slices"

// Outcome is the result of a round for one node, or of a power request, in lower-case
// words and underscores, so that no log or metric has to quote it. Each node of a
// round has one; those of power requests and of reservations come in addition.
type Outcome string

// Outcomes of nodes that a round skipped.
const (
	SkippedEnroll         Outcome = "skipped_enroll"             // in enroll: the node is not managed yet
	SkippedDeployWait     Outcome = "skipped_wait_call_back"     // in wait call-back: the ramdisk is about to call
	SkippedCleanWait      Outcome = "skipped_clean_wait"         // in clean wait, likewise
	SkippedAdoptFail      Outcome = "skipped_adopt_failed"       // in adopt failed
	SkippedMaintenance    Outcome = "skipped_maintenance"        // in maintenance
	SkippedNoPowerFailure Outcome = "skipped_no_power_failure"   // not in maintenance with FaultPowerFailure: nothing to recover from
	SkippedTarget         Outcome = "skipped_target_power_state" // a target power state is set: the power is being changed
	SkippedReservation    Outcome = "skipped_reservation"        // the node is reserved
	SkippedConfiguration  Outcome = "skipped_configuration"      // no power state is recorded and the Validator refuses the configuration
	SkippedBackoff        Outcome = "skipped_backoff"            // the node failed, and Config.Backoff is not over
	SkippedChanged        Outcome = "skipped_changed_meanwhile"  // the record changed each time that the hardware was read
	SkippedDeleted        Outcome = "skipped_deleted"            // the node was deleted meanwhile
)

// Outcomes of nodes that a round did not skip.
const (
	// Equal: the reading equals the record.
	Equal Outcome = "equal"
	// Recorded: no power state was recorded, and the reading is now.
	Recorded Outcome = "recorded"
	// Corrected: the reading differed and is recorded now.
	Corrected Outcome = "corrected"
	// Forced: the reading differed, and the hardware was set to the recorded
	// power state. The next round reads whether it reached that.
	Forced Outcome = "forced"
	// ForceFailed: setting the hardware to the recorded power state failed.
	ForceFailed Outcome = "force_failed"
	// ForceHeldBack: the hardware was not set, because [Config.ForceLimit] was reached.
	// The attempt does not count.
	ForceHeldBack Outcome = "force_held_back"
	// ReadFailed: the power state could not be read.
	ReadFailed Outcome = "read_failed"
	// IntoMaintenance: the node failed once more than [Policy.MaxRetries] and is
	// in maintenance now.
	IntoMaintenance Outcome = "into_maintenance"
	// Recovered: the node could be read again and is out of maintenance.
	Recovered Outcome = "recovered"
	// StoreFailed: the store failed or panicked and reported no write. The attempt does
	// not count.
	StoreFailed Outcome = "store_failed"
	// Interrupted: the context ended while the node was being handled. The attempt does
	// not count.
	Interrupted Outcome = "interrupted"
)

// Outcomes of power requests and of reservations; see [Syncer.Set] and [Syncer.Reclaim].
const (
	// PowerRequested: a power request was accepted and the node is reserved for it.
	PowerRequested Outcome = "power_requested"
	// PowerSet: the requested power state was reached.
	PowerSet Outcome = "power_set"
	// PowerNotSet: the requested power state was not reached.
	PowerNotSet Outcome = "power_not_set"
	// Reclaimed: a reservation in the Syncer's name, under which none of its goroutines
	// worked, was dropped.
	Reclaimed Outcome = "reclaimed"
	// SavedLate: an outcome that could not be stored earlier is stored now, and the node
	// is released.
	SavedLate Outcome = "saved_late"
)

// conflict is an outcome within this package: the record has changed, and the node is
// handled again.
const conflict Outcome = "conflict"

var (
	skips = []Outcome{
		SkippedEnroll, SkippedDeployWait, SkippedCleanWait, SkippedAdoptFail, SkippedMaintenance, SkippedNoPowerFailure,
		SkippedTarget, SkippedReservation, SkippedConfiguration, SkippedBackoff, SkippedChanged, SkippedDeleted,
	}
	// failed has the outcomes that count as failures.
	failed = []Outcome{ForceFailed, ReadFailed, IntoMaintenance, StoreFailed, PowerNotSet}
	// outcomes has all, in the order in which reports list them.
	outcomes = slices.Concat(skips, []Outcome{
		Equal, Recorded, Corrected, Forced, ForceFailed, ForceHeldBack, ReadFailed, IntoMaintenance, Recovered, StoreFailed,
		Interrupted, PowerRequested, PowerSet, PowerNotSet, Reclaimed, SavedLate,
	})
)

// sum returns how many nodes had one of the outcomes.
func sum(nodes map[Outcome]int, of []Outcome) int {
	n := 0
	for _, o := range of {
		n += nodes[o]
	}
	return n
}
