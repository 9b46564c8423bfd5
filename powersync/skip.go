// SPDX-License-Identifier: Apache-2.0

package powersync

import "github.com/ironstate/ironstate/states"

// SkipSync returns why a sync round skips a node, empty if it does not. A node is
// skipped in enroll, wait call-back, clean wait and adopt failed, in maintenance, with a
// target power state, and while it is reserved; the first reason that applies is returned.
//
// Source: SYNC_EXCLUDED_STATES in ironic/conductor/manager.py.
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
