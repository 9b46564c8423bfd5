package powersync

import (
	"encoding/json"
	"iter"
	"log/slog"
	"maps"

	"github.com/ironstate/ironstate/internal/enum"
)

// Outcome is what became of one node in a round. Each node of a round has one.
// The zero value is NoOutcome.
type Outcome uint8

// Nodes that were left alone.
const (
	// NoOutcome is the absence of an outcome.
	NoOutcome Outcome = iota
	// SkippedEnroll: in enroll, where nobody has shown yet that the node can be
	// managed.
	SkippedEnroll
	// SkippedDeployWait: in wait call-back, where the ramdisk is about to call.
	SkippedDeployWait
	// SkippedCleanWait: in clean wait, likewise.
	SkippedCleanWait
	// SkippedAdoptFail: in adopt failed.
	SkippedAdoptFail
	// SkippedMaintenance: in maintenance.
	SkippedMaintenance
	// SkippedNoPowerFailure: not in maintenance with [FaultPowerFailure], so that
	// there is nothing to recover from.
	SkippedNoPowerFailure
	// SkippedTarget: a target power state is set, the power is being changed.
	SkippedTarget
	// SkippedReservation: somebody else holds the node.
	SkippedReservation
	// SkippedConfig: no power state is recorded and the configuration is
	// invalid; see [Validator].
	SkippedConfig
	// SkippedBackoff: the node failed, and [Config.Backoff] is not over.
	SkippedBackoff
	// SkippedChanged: the record changed while the hardware was read, each time
	// that it was.
	SkippedChanged
	// SkippedGone: the node was deleted meanwhile.
	SkippedGone
)

// Nodes whose hardware was to be read.
const (
	// Equal: the reading equals the record.
	Equal Outcome = SkippedGone + 1 + iota
	// Recorded: no power state was recorded, and the reading is now.
	Recorded
	// Corrected: the reading differed and is recorded now.
	Corrected
	// Forced: the reading differed, and the hardware was set to the recorded
	// power state. The next round finds out whether it obeyed.
	Forced
	// ForceFailed: the hardware was to be set and did not take it.
	ForceFailed
	// ForceHeld: the hardware was to be set and [Config.ForceLimit] was reached.
	// The attempt does not count.
	ForceHeld
	// ReadFailed: the power state could not be read.
	ReadFailed
	// IntoMaintenance: the node failed once more than [Config.MaxRetries] and is
	// in maintenance now.
	IntoMaintenance
	// Recovered: the node could be read again and is out of maintenance.
	Recovered
	// StoreFailed: the store failed or panicked; nothing was written, as far as is
	// known. The attempt does not count.
	StoreFailed
	// Interrupted: the context ended while the node was under way. The attempt
	// does not count.
	Interrupted
)

// Outcomes of [Syncer.Set], of [Syncer.Reclaim], and of releases that could not be
// stored at first. They come in addition to the one outcome that each
// node of a round has.
const (
	// PowerRequested: a power request was accepted and the node is held for it.
	PowerRequested Outcome = Interrupted + 1 + iota
	// PowerSet: the power state that was asked for was reached.
	PowerSet
	// PowerNotSet: it was not.
	PowerNotSet
	// Reclaimed: a reservation in the Syncer's name that nobody worked under was
	// dropped.
	Reclaimed
	// SavedLate: an outcome that could not be stored earlier is stored now, and
	// the node is released.
	SavedLate

	numAllOutcomes

	conflict // the record has changed; the node starts again
)

var outcomeWords = &enum.Words{Type: "Outcome", Kind: "outcome", Words: []string{
	NoOutcome:             "none",
	SkippedEnroll:         "skipped_enroll",
	SkippedDeployWait:     "skipped_wait_call_back",
	SkippedCleanWait:      "skipped_clean_wait",
	SkippedAdoptFail:      "skipped_adopt_failed",
	SkippedMaintenance:    "skipped_maintenance",
	SkippedNoPowerFailure: "skipped_no_power_failure",
	SkippedTarget:         "skipped_target_power_state",
	SkippedReservation:    "skipped_reservation",
	SkippedConfig:         "skipped_configuration",
	SkippedBackoff:        "skipped_backoff",
	SkippedChanged:        "skipped_changed_meanwhile",
	SkippedGone:           "skipped_deleted",
	Equal:                 "equal",
	Recorded:              "recorded",
	Corrected:             "corrected",
	Forced:                "forced",
	ForceFailed:           "force_failed",
	ForceHeld:             "force_held_back",
	ReadFailed:            "read_failed",
	IntoMaintenance:       "into_maintenance",
	Recovered:             "recovered",
	StoreFailed:           "store_failed",
	Interrupted:           "interrupted",
	PowerRequested:        "power_requested",
	PowerSet:              "power_set",
	PowerNotSet:           "power_not_set",
	Reclaimed:             "reclaimed",
	SavedLate:             "saved_late",
}}

// String returns the outcome in lower-case words and underscores, as in
// "skipped_enroll", or a form like "Outcome(99)" for a number that is none.
func (o Outcome) String() string { return outcomeWords.String(uint8(o)) }

// MarshalText returns String. A number that is no outcome is a
// [*states.UnknownError].
func (o Outcome) MarshalText() ([]byte, error) { return outcomeWords.Marshal(uint8(o)) }

// UnmarshalText takes what MarshalText returns; o keeps its value on error.
func (o *Outcome) UnmarshalText(text []byte) error { return enum.Unmarshal(outcomeWords, o, text) }

// Skipped reports whether the node was left alone.
func (o Outcome) Skipped() bool { return SkippedEnroll <= o && o <= SkippedGone }

// Failed reports whether something went wrong that is to be looked into when it
// lasts.
func (o Outcome) Failed() bool {
	switch o {
	case ForceFailed, ReadFailed, IntoMaintenance, StoreFailed, PowerNotSet:
		return true
	default:
		return false
	}
}

// Counts says how many nodes had each outcome. The zero value has none. It is a
// value and compares with ==.
type Counts struct {
	n [numAllOutcomes]int
}

// Of returns how many nodes had an outcome.
func (c Counts) Of(o Outcome) int {
	if o < numAllOutcomes {
		return c.n[o]
	}
	return 0
}

// All ranges over the outcomes that any node had, and how many did.
func (c Counts) All() iter.Seq2[Outcome, int] {
	return func(yield func(Outcome, int) bool) {
		for o, n := range c.n {
			if n != 0 && !yield(Outcome(o), n) {
				return
			}
		}
	}
}

// Seen returns how many nodes there were.
func (c Counts) Seen() int { return c.sum(func(Outcome) bool { return true }) }

// Skipped returns how many nodes were left alone.
func (c Counts) Skipped() int { return c.sum(Outcome.Skipped) }

// Failed returns for how many nodes something went wrong.
func (c Counts) Failed() int { return c.sum(Outcome.Failed) }

func (c Counts) sum(which func(Outcome) bool) int {
	sum := 0
	for o, n := range c.All() {
		if which(o) {
			sum += n
		}
	}
	return sum
}

// MarshalJSON returns an object with the words of the outcomes for keys; those
// that no node had are left out.
func (c Counts) MarshalJSON() ([]byte, error) { return json.Marshal(maps.Collect(c.All())) }

// UnmarshalJSON takes what MarshalJSON returns; c keeps its value on error.
func (c *Counts) UnmarshalJSON(data []byte) error {
	var counts map[Outcome]int
	if err := json.Unmarshal(data, &counts); err != nil {
		return err
	}
	*c = Counts{}
	for o, n := range counts {
		c.n[o] = n
	}
	return nil
}

// LogValue implements [slog.LogValuer]: a group, as MarshalJSON.
func (c Counts) LogValue() slog.Value {
	var attrs []slog.Attr
	for o, n := range c.All() {
		attrs = append(attrs, slog.Int(o.String(), n))
	}
	return slog.GroupValue(attrs...)
}
