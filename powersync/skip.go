package powersync

import "github.com/ironstate/ironstate/states"

// ExcludedStates returns the provision states in which sync rounds leave a node
// alone: enroll, wait call-back, clean wait and adopt failed. Of these, recovery
// rounds leave enroll alone.
//
// Source: SYNC_EXCLUDED_STATES in ironic/conductor/manager.py.
func ExcludedStates() states.Set {
	return states.SetOf(states.Enroll, states.DeployWait, states.CleanWait, states.AdoptFail)
}

// SkipSync returns why a sync round leaves a node alone, or NoOutcome where it
// does not. It is the rule that [Syncer.Sync] goes by, for services with
// a loop of their own. The answer is one of SkippedEnroll, SkippedDeployWait,
// SkippedCleanWait, SkippedAdoptFail, SkippedMaintenance, SkippedTarget and
// SkippedReservation, the first that applies.
func SkipSync(r Record) Outcome {
	switch r.ProvisionState {
	case states.Enroll:
		return SkippedEnroll
	case states.DeployWait:
		return SkippedDeployWait
	case states.CleanWait:
		return SkippedCleanWait
	case states.AdoptFail:
		return SkippedAdoptFail
	}
	if r.Maintenance {
		return SkippedMaintenance
	}
	return r.busy()
}

// SkipRecovery returns why a recovery round leaves a node alone, or NoOutcome
// where it does not. It is the rule that [Syncer.Recover] goes by. The
// answer is one of SkippedEnroll, SkippedNoPowerFailure, SkippedTarget and
// SkippedReservation, the first that applies.
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

// busy returns why nobody else may work on the node now.
func (r Record) busy() Outcome {
	switch {
	case r.TargetPower != states.NoPower:
		return SkippedTarget
	case r.Reservation != "":
		return SkippedReservation
	default:
		return NoOutcome
	}
}
