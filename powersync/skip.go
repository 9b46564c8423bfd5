package powersync

import "github.com/ironstate/ironstate/states"

// SkipSync returns why a sync round leaves a node alone, empty where it does not: in
// enroll, wait call-back, clean wait and adopt failed, in maintenance, and while
// somebody works on the node, whichever applies first. It is the rule that
// [Syncer.Sync] goes by, for services with a loop of their own.
//
// Source: SYNC_EXCLUDED_STATES in ironic/conductor/manager.py.
func SkipSync(r Record) Outcome {
	switch r.ProvisionState {
	case states.Enroll:
		return skippedEnroll
	case states.DeployWait:
		return skippedDeployWait
	case states.CleanWait:
		return skippedCleanWait
	case states.AdoptFail:
		return skippedAdoptFail
	}
	if r.Maintenance {
		return skippedMaintenance
	}
	return r.busy()
}

// skipRecovery returns why a recovery round leaves a node alone, empty where it does
// not: in enroll, without a power failure, and while somebody works on the node,
// whichever applies first. It is the rule that [Syncer.Recover] goes by.
func skipRecovery(r Record) Outcome {
	switch {
	case r.ProvisionState == states.Enroll:
		return skippedEnroll
	case !r.Maintenance || r.Fault != FaultPowerFailure:
		return skippedNoPowerFailure
	default:
		return r.busy()
	}
}

// busy returns why nobody else may work on the node now.
func (r Record) busy() Outcome {
	switch {
	case r.TargetPower != states.NoPower:
		return skippedTarget
	case r.Reservation != "":
		return skippedReservation
	default:
		return ""
	}
}
