package powersync

import "github.com/ironstate/ironstate/states"

// SkipSync returns why a sync round skips a node, empty if it does not. A node is
// skipped in enroll, wait call-back, clean wait and adopt failed, in maintenance, and
// while somebody works on it; the first reason that applies is returned. This is the
// rule of [Syncer.Sync], for services with their own loop.
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

// skipRecovery returns why a recovery round skips a node, empty if it does not. A node
// is skipped in enroll, without a power failure, and while somebody works on it; the
// first reason that applies is returned. This is the rule of [Syncer.Recover].
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

// busy returns why somebody works on the node, empty if nobody does.
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
