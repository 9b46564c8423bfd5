// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// Heartbeat is the content of a heartbeat of the agent that runs on a node.
//
// Source: ironic/api/controllers/v1/ramdisk.py.
type Heartbeat struct {
	CallbackURL        string
	AgentVersion       string
	AgentToken         string
	AgentVerifyCA      string
	AgentStatus        string // "start", "end", "error", or empty
	AgentStatusMessage string
}

// Lookup returns the node of an agent that has just started, by the node's UUID or by the
// MAC addresses of the machine, and the token that the agent must send in its heartbeats.
// The token is empty if a token was given out before. The error matches [NotFound] if no
// node has the addresses, if several nodes have them, or if the node is in a state that
// does not allow a lookup.
//
// Source: ironic/api/controllers/v1/ramdisk.py and get_node_with_token in
// ironic/conductor/manager.py.
func (c *Conductor) Lookup(ctx context.Context, addresses []string, uuid string) (n *Node, token string, err error) {
	if uuid == "" {
		if uuid, err = c.fleet.byAddress(ctx, addresses); err != nil {
			return nil, "", err
		}
	}
	fresh := newAgentToken()
	_, n, err = c.fleet.edit(ctx, uuid, func(n *Node) error {
		if !c.rules.lookupAllowed(n).Has(n.ProvisionState) {
			return refuse(NotFound, "Node %s could not be found.", uuid)
		}
		n.Agent.Token = cmp.Or(n.Agent.Token, fresh)
		return nil
	})
	if err == nil && n.Agent.Token == fresh {
		token = fresh
	}
	return n, token, err
}

// byAddress returns the UUID of the node that has ports with the addresses.
func (f *fleet) byAddress(ctx context.Context, addresses []string) (string, error) {
	ports, err := typed[*Port](f.of(KindPort).list(ctx))
	if err != nil {
		return "", err
	}
	wanted := map[string]bool{}
	for _, address := range addresses {
		wanted[strings.ToLower(address)] = true
	}
	found := ""
	for _, port := range ports {
		if !wanted[strings.ToLower(port.Address)] {
			continue
		}
		if found != "" && found != port.NodeUUID {
			return "", refuse(NotFound, "No node with the addresses %v: they belong to several nodes.", addresses)
		}
		found = port.NodeUUID
	}
	if found == "" {
		return "", refuse(NotFound, "No node with the addresses %v could be found.", addresses)
	}
	return found, nil
}

// Heartbeat handles a heartbeat of a node's agent: it stores the agent's data. An agent that reports an error fails the
// work that waits for a call-back. If the node uses the agent ([AgentBooter]), the conductor then asks the agent for
// its commands, after Heartbeat has returned, and continues or fails the work by the answer. Otherwise the heartbeat
// continues the work only if the waiting step is the built-in step "wait" or the hardware type is simulated
// ([Description]): a heartbeat does not say that the agent has done anything. In a state that allows no heartbeat
// nothing is stored. The error matches [NotFound], or [Invalid] for a wrong token, for a URL without TLS if [Config]
// requires it, and for another URL or certificate than those of the agent's earlier heartbeats, or is that of
// [Conductor.Resume].
func (c *Conductor) Heartbeat(ctx context.Context, ident string, h Heartbeat) error {
	_, err := heartbeat.call(ctx, c, ident, h)
	return err
}

var heartbeat = forOwnerNoResult("heartbeat", func(ctx context.Context, c *Conductor, ident string, h Heartbeat) error {
	_, n, err := c.fleet.edit(ctx, ident, func(n *Node) error {
		if n.Agent.Token == "" || subtle.ConstantTimeCompare([]byte(n.Agent.Token), []byte(h.AgentToken)) != 1 {
			return refuse(Invalid, "Invalid or missing agent token received.")
		}
		if n.Agent.URL != "" && n.Agent.URL != h.CallbackURL {
			return refuse(Invalid, "Detected change in ramdisk provided \"callback_url\"")
		}
		if c.config.RequireAgentTLS && h.CallbackURL != "" && !strings.HasPrefix(h.CallbackURL, "https://") {
			return refuse(Invalid, "TLS is required by configuration")
		}
		if n.Agent.VerifyCA != "" && h.AgentVerifyCA != "" && n.Agent.VerifyCA != h.AgentVerifyCA {
			return refuse(Invalid, "Detected change in ramdisk provided certificate")
		}
		if !heartbeatAllowed.Has(n.ProvisionState) && !c.rules.recordsHeartbeat(n) {
			return errNothingToDo
		}
		n.Agent.URL, n.Agent.Version, n.Agent.LastHeartbeat = h.CallbackURL, h.AgentVersion, now()
		n.Agent.VerifyCA = cmp.Or(h.AgentVerifyCA, n.Agent.VerifyCA)
		return nil
	})
	if errors.Is(err, errNothingToDo) {
		c.config.Log.Warn("an agent has sent a heartbeat in a state that allows none", "node", ident)
		return nil
	}
	if err != nil || n.Reservation != "" || c.config.Table.Phase(n.ProvisionState) != states.PhaseWaiting || !heartbeatAllowed.Has(n.ProvisionState) {
		return err
	}
	if c.rules.admission().Heartbeat(n.Fields()) != nil { // it is in maintenance
		if failure := c.rules.endsInMaintenance(n); failure != nil {
			return c.Resume(ctx, ident, failure)
		}
		return nil
	}
	switch {
	case h.AgentStatus == "error":
		return c.Resume(ctx, ident, fmt.Errorf("the agent reported an error: %s", h.AgentStatusMessage))
	case c.rules.heartbeatContinues(n):
		return c.Resume(ctx, ident, nil)
	case c.rules.attends(n):
		c.engine.attend(n.UUID)
	}
	return nil
})

// heartbeatAllowed are the states in which an agent may send heartbeats, without fast track.
//
// Source: HEARTBEAT_ALLOWED in ironic/drivers/modules/agent_base.py.
var heartbeatAllowed = states.SetOf(
	states.DeployWait, states.CleanWait, states.RescueWait, states.ServiceWait, states.Deploying, states.Cleaning, states.Rescuing,
	states.Servicing, states.DeployHold, states.CleanHold, states.ServiceHold,
)

// recordsHeartbeat reports whether a heartbeat is stored by fast track, in a state in which it has no other effect.
//
// Source: FASTTRACK_HEARTBEAT_ALLOWED in ironic/drivers/modules/agent_base.py; fast_track_able, which adds the states of an
// inspection.
func (b *rulebook) recordsHeartbeat(n *Node) bool {
	on, _ := b.fastTracks(n)
	return on && b.config.Table.FastTrackLookupAllowed().Has(n.ProvisionState)
}

// heartbeatContinues reports whether a heartbeat continues a node's work that waits for a call-back.
func (b *rulebook) heartbeatContinues(n *Node) bool {
	kind, ok := stepKinds[n.ProvisionState]
	if simulated := b.description(n).Simulated; simulated && !b.attends(n) || !ok {
		return ok
	}
	hardware, err := b.hardware(n)
	if err != nil {
		return false
	}
	step, _ := b.runnable(n.Step(), b.stepsFor(hardware, n, kind.work))
	return step.Step == "wait" && step.Run == nil // not a step of that name of the hardware type
}

// endsInMaintenance returns the reason why a heartbeat fails the work of a node in maintenance,
// nil if the work waits until the maintenance has ended.
//
// Source: _heartbeat_in_maintenance in ironic/drivers/modules/agent_base.py.
func (b *rulebook) endsInMaintenance(n *Node) error {
	work := map[states.State]string{states.CleanWait: "Cleaning", states.DeployWait: "Deploy", states.RescueWait: "Rescue"}[n.ProvisionState]
	if work == "" || b.admission().Work(n.Fields()) == nil {
		return nil
	}
	return fmt.Errorf("%s aborted as node is in maintenance mode", work)
}

// Resume is the call-back that a node waits for. With a nil failure the waiting step is
// done and the work continues with the next step; an inspection that waits is then complete.
// Otherwise the work has failed. The error matches [NotAllowed] for a node that does not
// wait, [NotFound], [Locked] or [NoWorker], or is the store's.
func (c *Conductor) Resume(ctx context.Context, ident string, failure error) error {
	before, n, err := c.engine.startWork(ctx, ident, func(n *Node) error {
		if c.config.Table.Phase(n.ProvisionState) != states.PhaseWaiting {
			return refuse(NotAllowed, "Node %s does not wait for a call-back: it is in provision state %q.", n.UUID, n.ProvisionState)
		}
		if err := c.rules.unlocked(n); err != nil {
			return err
		}
		if failure != nil {
			return c.rules.fail(n, failure.Error())
		}
		event := states.EventResume
		if _, ok := c.config.Table.Next(n.ProvisionState, event); !ok {
			event = states.EventDone
		}
		moved, err := n.machine().Report(c.config.Table, event, "")
		if err != nil {
			return err
		}
		if kind, ok := stepKinds[n.ProvisionState]; ok && event == states.EventDone {
			kind.forget(n)
			if !c.rules.keepsAgent(n) {
				n.forgetAgent()
			}
		}
		c.rules.move(n, event, moved)
		return nil
	})
	// Ironic has no entry for an inspection that an inspector ends, see
	// ironic/drivers/modules/inspector/interface.py.
	if err == nil && failure != nil && before.ProvisionState != states.InspectWait {
		c.engine.history.failed(ctx, n, eventTypes[before.ProvisionState])
	}
	return err
}
