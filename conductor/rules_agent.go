// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"fmt"
	"strings"
	"time"

	"github.com/ironstate/ironstate/states"
)

// lookupAllowed returns the states in which a node's agent may look the node up.
//
// Source: lookup_allowed in ironic/api/controllers/v1/ramdisk.py.
func (b *rulebook) lookupAllowed(n *Node) states.Set {
	if on, _ := b.config.fastTracks(n); on {
		return b.config.Table.FastTrackLookupAllowed()
	}
	return b.config.Table.LookupAllowed()
}

// checkHeartbeat returns the error of a heartbeat that is not of the node's agent.
func (b *rulebook) checkHeartbeat(n *Node, h Heartbeat) error {
	switch known := n.Agent; {
	case !known.has(h.AgentToken):
		return errAgentToken
	case known.URL != "" && known.URL != h.CallbackURL:
		return refuse(Invalid, "Detected change in ramdisk provided \"callback_url\"")
	case *b.config.RequireAgentTLS && h.CallbackURL != "" && !strings.HasPrefix(h.CallbackURL, "https://"):
		return refuse(Invalid, "TLS is required by configuration")
	case strings.ContainsFunc(h.AgentVerifyCA, isNotPEM):
		return refuse(Invalid, "agent_verify_ca is not a certificate in PEM")
	case known.VerifyCA != "" && h.AgentVerifyCA != "" && known.VerifyCA != h.AgentVerifyCA:
		return refuse(Invalid, "Detected change in ramdisk provided certificate")
	default:
		return nil
	}
}

// isNotPEM reports whether a character is in no text in PEM, such as ESC.
func isNotPEM(r rune) bool { return r > '~' || r < ' ' && !strings.ContainsRune("\r\n\t", r) }

// recordsHeartbeat reports whether a heartbeat is stored by fast track, in a state in which it has no other effect.
//
// Source: FASTTRACK_HEARTBEAT_ALLOWED in ironic/drivers/modules/agent_base.py; fast_track_able, which adds the states
// of an inspection.
func (b *rulebook) recordsHeartbeat(n *Node) bool {
	on, _ := b.config.fastTracks(n)
	return on && b.config.Table.FastTrackLookupAllowed().Has(n.ProvisionState)
}

// heartbeatByRecord returns the effect of a heartbeat if the node's record alone decides it. The effect is empty if the
// hardware type has to be asked.
func (b *rulebook) heartbeatByRecord(n *Node) (effect heartbeatEffect, failure error) {
	switch {
	case n.Reservation != "":
		return heartbeatReserved, nil
	case !kindOf(n.ProvisionState).waitsForAgent(n):
		return heartbeatNotAwaited, nil
	case b.admission().Heartbeat(n.Fields()) != nil: // it is in maintenance
		if failure = b.endsInMaintenance(n); failure != nil {
			return heartbeatResumes, failure
		}
		return heartbeatMaintenance, nil
	default:
		return "", nil
	}
}

// endsInMaintenance returns the reason why a heartbeat fails the work of a node in maintenance,
// nil if the work waits until the maintenance has ended.
//
// Source: _heartbeat_in_maintenance in ironic/drivers/modules/agent_base.py.
func (b *rulebook) endsInMaintenance(n *Node) error {
	work := kindOf(n.ProvisionState).texts.inMaintenance
	if work == "" || b.admission().Work(n.Fields()) == nil {
		return nil
	}
	return fmt.Errorf("%s aborted as node is in maintenance mode", work)
}

// callBack continues or fails the work of a node that waits, see [Conductor.Resume]. ramdisk is what
// [engine.bootsRamdisk] has returned, for a failure.
func (b *rulebook) callBack(n *Node, failure error, ramdisk ramdiskUse, at time.Time) error {
	if failure != nil {
		return b.fail(n, workFailure{text: failure.Error(), ramdisk: ramdisk}, at)
	}
	if _, ok := b.config.Table.Next(n.ProvisionState, states.EventResume); ok {
		return b.resume(n, at)
	}
	return b.end(n, result{event: states.EventDone}, noRamdisk, at)
}

// resume continues the work of a node that waits.
func (b *rulebook) resume(n *Node, at time.Time) error {
	moved, err := n.machine().Report(b.config.Table, states.EventResume, "")
	if err != nil {
		return err
	}
	b.move(n, states.EventResume, moved, at)
	return nil
}

// repeat lets the work of a waiting node continue with its current step, once more.
func (b *rulebook) repeat(n *Node, at time.Time) error {
	steps := kindOf(n.ProvisionState).ensureSteps(n)
	steps.Begun, steps.Sent = max(steps.Begun-1, 0), false
	return b.resume(n, at)
}

// keepsAgent reports whether the record of a node keeps its agent at the end of the work of the node's state, since the
// machine stays on and the next work may be the agent's. The agent may have a token and not yet have sent a heartbeat.
//
// Source: fast_track_able in ironic/conductor/utils.py, and what asks it.
func (b *rulebook) keepsAgent(n *Node, at time.Time) bool {
	on, _ := b.config.fastTracks(n)
	ends := succeeds(n.ProvisionState) && kindOf(n.ProvisionState).agent.stays
	return on && ends && n.LastError == "" && n.Power != states.PowerOff && n.agentHeard(at, b.config.FastTrackTimeout)
}

// succeeds reports whether work can succeed in a state: an inspection also in the state in which it waits.
func succeeds(s states.State) bool {
	_, ok := states.Latest().Table().Next(s, states.EventDone)
	return ok
}
