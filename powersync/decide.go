// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"cmp"
	"fmt"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/states"
)

// Policy says how power sync treats a node whose power state cannot be read or differs
// from the record. The zero value is Ironic's default.
type Policy struct {
	// MaxRetries is how many rounds in a row a node may fail; the next failure puts
	// it into maintenance. 0 stands for 3 (power_state_sync_max_retries), a negative
	// number for none.
	MaxRetries int
	// RecordOnly never sets hardware in rounds: the reading is recorded
	// (force_power_state_during_sync = False).
	RecordOnly bool
	// ForgetUnread records no power state for a node that goes into maintenance
	// because it cannot be read. Ironic's documentation says that the recorded power
	// state is kept; Ironic's code records none.
	ForgetUnread bool
}

// Reading is what a driver answered about a node. The zero value is the answer of
// hardware that has no power state; see [Driver].
type Reading struct {
	Power states.Power
	Err   error // why the power state could not be read
	// Invalid says why the node's configuration is invalid. The hardware is not read
	// then. A round validates a node only if it has no recorded power state, a recovery
	// round validates every node.
	Invalid error
}

// known returns PowerOn, PowerOff, or the reason why neither was read.
func (r Reading) known() (states.Power, error) {
	switch {
	case r.Err != nil:
		return states.NoPower, r.Err
	case r.Power == states.PowerOn || r.Power == states.PowerOff:
		return r.Power, nil
	default:
		return states.NoPower, noPowerError(r.Power)
	}
}

// Failures are the failed attempts of rounds of one kind for a node. The zero value: the
// last attempt succeeded.
type Failures struct {
	Count     int    // how many attempts failed in a row
	LastError string // the last error that a round stored; empty if no round stored one
}

// failed returns the failures after the attempt of the event, which failed.
func (f Failures) failed(e Event) Failures {
	return Failures{Count: e.Attempts, LastError: cmp.Or(e.LastError, f.LastError)}
}

// Action is the part of a decision that is not in the record.
type Action struct {
	// Event describes the decision. Its Time is zero. The record has to be stored if it
	// was changed. The outcome [Forced] says that the hardware is to be set to the power
	// state Asked, after the record was stored with the caller's reservation; [Settle]
	// decides what follows.
	Event
	// Failures replaces the node's failures, after the record was stored if it was changed.
	Failures Failures
}

// skippedStates has the provision states in which a sync round skips a node.
//
// Source: SYNC_EXCLUDED_STATES in ironic/conductor/manager.py.
var skippedStates = map[states.State]Outcome{
	states.Enroll:     SkippedEnroll,
	states.DeployWait: SkippedDeployWait,
	states.CleanWait:  SkippedCleanWait,
	states.AdoptFail:  SkippedAdoptFail,
}

// SkipSync returns why a sync round skips a node, empty if it does not. A node is
// skipped in enroll, wait call-back, clean wait and adopt failed, in maintenance, with a
// target power state, and while it is reserved; the first reason that applies is returned.
func SkipSync(r Record) Outcome {
	if skip := skippedStates[r.ProvisionState]; skip != "" {
		return skip
	}
	if r.Maintenance {
		return SkippedMaintenance
	}
	return r.busy()
}

// SkipRecovery returns why a recovery round skips a node, empty if it does not. A node
// is skipped in enroll, without a power failure, with a target power state, and while it
// is reserved; the first reason that applies is returned.
func SkipRecovery(r Record) Outcome {
	switch {
	case r.ProvisionState == states.Enroll:
		return SkippedEnroll
	case !r.Maintenance || r.Fault != FaultPowerFailure:
		return SkippedNoPowerFailure
	default:
		return r.busy()
	}
}

// busy returns why a round leaves the node to another worker, empty if there is none.
func (r Record) busy() Outcome {
	switch {
	case r.TargetPower != states.NoPower:
		return SkippedTarget
	case r.Reservation != "":
		return SkippedReservation
	default:
		return ""
	}
}

// Decide is the rule of sync rounds; see the package comment. It decides what follows
// from a reading of a node's hardware, given the node's record, its failures in earlier
// rounds, and the policy. It returns the record to store. Decide does not allocate
// memory unless the node goes into maintenance.
//
// A record that [SkipSync] excludes is unchanged. Callers check SkipSync before they
// read the hardware, so that Decide finds such a record only if it was changed in the
// meantime: then the failures are reset, unless the node is reserved or has a target power state.
//
// A caller that stores records makes each update conditional on the revision that it
// read. After a conflict it loads the record, reads the hardware, and decides again.
//
// Source: _sync_power_states, do_sync_power_state and
// handle_sync_power_state_max_retries_exceeded in ironic/conductor/manager.py.
func Decide(r Record, reading Reading, f Failures, p Policy) (Record, Action) {
	a := Action{Event: Event{ID: r.ID, Recorded: r.Power}}
	if a.Outcome = SkipSync(r); a.Outcome != "" {
		if r.busy() != "" {
			a.Failures = f
		}
		return r, a
	}
	if r.Power == states.NoPower && reading.Invalid != nil {
		a.Outcome, a.Err = SkippedConfiguration, reading.Invalid
		return r, a
	}
	a.Read, a.Err = reading.known()
	switch {
	case a.Err == nil && a.Read == r.Power, r.Power == states.NoPower && a.Err == noPowerError(states.NoPower):
		a.Outcome, a.Err = Equal, nil
		// An error that others stored may still apply.
		if f.LastError != "" && r.LastError == f.LastError {
			a.setLastError(&r, "")
		}
		return r, a
	case a.Err == nil && r.Power == states.NoPower:
		a.Outcome = Recorded
		r.Power = a.Read
		return r, a
	}
	a.Attempts = f.Count + 1
	switch {
	case a.Attempts > cmp.Or(p.MaxRetries, defaultMaxRetries):
		r = a.toMaintenance(r, p)
	case a.Err != nil:
		a.Outcome = ReadFailed
	case p.RecordOnly, r.DisablePowerOff, r.Power.Target() != r.Power: // no hardware can be in a state such as rebooting
		a.Outcome = Corrected
		r.Power = a.Read
	default:
		a.Outcome = Forced
		a.Asked = r.Power
		r.TargetPower = r.Power
	}
	a.Failures = f.failed(a.Event)
	return r, a
}

// toMaintenance returns the record of a node that has failed too often.
func (a *Action) toMaintenance(r Record, p Policy) Record {
	a.Outcome = IntoMaintenance
	why := fmt.Sprintf("power sync failed %d times in a row", a.Attempts)
	switch {
	case a.Err == nil:
		why += fmt.Sprintf(": recorded is %q, the hardware is in %q, which is recorded now", r.Power, a.Read)
		r.Power = a.Read
	case p.ForgetUnread:
		why += fmt.Sprintf(": the power state cannot be read, %q is recorded no longer: %v", r.Power, a.Err)
		r.Power = states.NoPower
	default:
		why += fmt.Sprintf(": the power state cannot be read: %v", a.Err)
	}
	r.Maintenance = true
	r.MaintenanceReason = errtext.Clean(why)
	r.Fault = FaultPowerFailure
	a.setLastError(&r, why)
	return r
}

// Settle decides what follows once the hardware was asked for the power state of a
// [Forced] action; err is the driver's. The record is the node's current one. Settle
// returns it without its reservation and target power state, and after an error with a
// last error; it returns the action with the outcome Forced or [ForceFailed].
func Settle(r Record, a Action, err error) (Record, Action) {
	if err != nil {
		a.Outcome, a.Err = ForceFailed, err
		a.setLastError(&r, fmt.Sprintf("power sync could not set %q: %v", a.Asked, err))
		a.Failures = a.Failures.failed(a.Event)
	}
	return r.released(), a
}

// DecideRecovery is the rule of recovery rounds. It is used as [Decide] is, with
// [SkipRecovery] in place of SkipSync. It takes a node that can be read out of
// maintenance, and records the reading. A recovered node has no failures of either kind: the caller ends the count of
// sync rounds, too. Ironic keeps that count, so that after a recovery one failure puts the node into maintenance again.
// A last error that is the reason for the maintenance is a round's, also after a restart, and is cleared.
//
// Source: _power_failure_recovery in ironic/conductor/manager.py; do_sync_power_state for the last error, which
// Ironic's next sync round clears.
func DecideRecovery(r Record, reading Reading, f Failures) (Record, Action) {
	a := Action{Event: Event{ID: r.ID, Recorded: r.Power}}
	if a.Outcome = SkipRecovery(r); a.Outcome != "" {
		a.Failures = f
		return r, a
	}
	if a.Err = reading.Invalid; a.Err == nil {
		a.Read, a.Err = reading.known()
	}
	if a.Err != nil {
		a.Outcome, a.Attempts = ReadFailed, f.Count+1
		a.Failures = f.failed(a.Event)
		return r, a
	}
	a.Outcome = Recovered
	if r.LastError == r.MaintenanceReason {
		a.setLastError(&r, "")
	}
	r.Power = a.Read
	r.Maintenance = false
	r.MaintenanceReason = ""
	r.Fault = ""
	return r, a
}
