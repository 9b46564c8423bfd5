package powersync

import "slices"

// Outcome is the result of a round for one node, or of a power request, in lower-case
// words and underscores, so that no log or metric has to quote it. Each node of a
// round has one.
//
// Nodes that were skipped have one of
//
//	skipped_enroll              in enroll: nobody has shown yet that the node can be managed
//	skipped_wait_call_back      in wait call-back: the ramdisk is about to call
//	skipped_clean_wait          in clean wait, likewise
//	skipped_adopt_failed        in adopt failed
//	skipped_maintenance         in maintenance
//	skipped_no_power_failure    not in maintenance with FaultPowerFailure: nothing to recover from
//	skipped_target_power_state  a target power state is set: the power is being changed
//	skipped_reservation         somebody else holds the node
//	skipped_configuration       no power state is recorded and the Validator refuses the configuration
//	skipped_backoff             the node failed, and Config.Backoff is not over
//	skipped_changed_meanwhile   the record changed each time that the hardware was read
//	skipped_deleted             the node was deleted meanwhile
//
// The other nodes have one of the constants below, or
//
//	force_held_back  the hardware was not set, because Config.ForceLimit was reached; the attempt does not count
//	interrupted      the context ended while the node was being handled; the attempt does not count
//
// These come in addition to the one outcome that each node of a round has:
//
//	power_requested  a power request was accepted and the node is reserved for it
//	power_set        the requested power state was reached: [PowerSet]
//	power_not_set    the requested power state was not reached: [PowerNotSet]
//	reclaimed        a reservation in the Syncer's name, under which none of its goroutines worked, was dropped
//	saved_late       an outcome that could not be stored earlier is stored now, and the node is released
type Outcome string

const (
	skippedEnroll         Outcome = "skipped_enroll"
	skippedDeployWait     Outcome = "skipped_wait_call_back"
	skippedCleanWait      Outcome = "skipped_clean_wait"
	skippedAdoptFail      Outcome = "skipped_adopt_failed"
	skippedMaintenance    Outcome = "skipped_maintenance"
	skippedNoPowerFailure Outcome = "skipped_no_power_failure"
	skippedTarget         Outcome = "skipped_target_power_state"
	skippedReservation    Outcome = "skipped_reservation"
	skippedConfig         Outcome = "skipped_configuration"
	skippedBackoff        Outcome = "skipped_backoff"
	skippedChanged        Outcome = "skipped_changed_meanwhile"
	skippedGone           Outcome = "skipped_deleted"

	forceHeld      Outcome = "force_held_back"
	interrupted    Outcome = "interrupted"
	powerRequested Outcome = "power_requested"
	reclaimed      Outcome = "reclaimed"
	savedLate      Outcome = "saved_late"

	conflict Outcome = "conflict" // within this package: the record has changed; the node is handled again
)

// Results of rounds for nodes that were not skipped.
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
	// ReadFailed: the power state could not be read.
	ReadFailed Outcome = "read_failed"
	// IntoMaintenance: the node failed once more than [Config.MaxRetries] and is
	// in maintenance now.
	IntoMaintenance Outcome = "into_maintenance"
	// Recovered: the node could be read again and is out of maintenance.
	Recovered Outcome = "recovered"
	// StoreFailed: the store failed or panicked and reported no write. The attempt does
	// not count.
	StoreFailed Outcome = "store_failed"
)

// Results of power requests: see [Syncer.Set].
const (
	// PowerSet: the requested power state was reached.
	PowerSet Outcome = "power_set"
	// PowerNotSet: the requested power state was not reached.
	PowerNotSet Outcome = "power_not_set"
)

var (
	skips = []Outcome{
		skippedEnroll, skippedDeployWait, skippedCleanWait, skippedAdoptFail, skippedMaintenance, skippedNoPowerFailure,
		skippedTarget, skippedReservation, skippedConfig, skippedBackoff, skippedChanged, skippedGone,
	}
	// failed has the outcomes that count as failures.
	failed = []Outcome{ForceFailed, ReadFailed, IntoMaintenance, StoreFailed, PowerNotSet}
	// outcomes has all, in the order in which reports list them.
	outcomes = slices.Concat(skips, []Outcome{
		Equal, Recorded, Corrected, Forced, ForceFailed, forceHeld, ReadFailed, IntoMaintenance, Recovered, StoreFailed,
		interrupted, powerRequested, PowerSet, PowerNotSet, reclaimed, savedLate,
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
