// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// Heartbeat is the content of a heartbeat of the agent that runs on a node.
//
// Source: ironic/api/controllers/v1/ramdisk.py.
type Heartbeat struct {
	// From is the address from which the heartbeat came. [Config.AgentAddress] compares the host of CallbackURL with it.
	From               netip.Addr
	CallbackURL        string
	AgentVersion       string
	AgentToken         string
	AgentVerifyCA      string
	AgentStatus        string // "start", "end", "error", or empty
	AgentStatusMessage string
}

// Lookup returns the node of an agent that has just started, by the node's UUID or by the
// MAC addresses of the machine, and the token that the agent must send in its heartbeats.
// The address from which the request came is stored with the token. The token is empty if one was
// given out or made before: that is logged with both addresses, unless it is the first lookup
// of the agent that was booted with its token. The error matches [NotFound] if no
// node has the addresses, if several nodes have them, or if the node is in a state that
// does not allow a lookup, and [Invalid] for more than 128 addresses.
//
// Source: ironic/api/controllers/v1/ramdisk.py and get_node_with_token in
// ironic/conductor/manager.py.
func (c *Conductor) Lookup(ctx context.Context, from netip.Addr, addresses []string, uuid string) (n *Node, token string, err error) {
	if uuid == "" {
		if uuid, err = c.fleet.byAddress(ctx, addresses); err != nil {
			return nil, "", err
		}
	}
	fresh := newAgentToken()
	var before AgentInfo
	_, _, err = c.fleet.edit(ctx, uuid, func(found *Node) error {
		if !c.rules.lookupAllowed(found).Has(found.ProvisionState) {
			return refuse(NotFound, "Node %s could not be found.", uuid)
		}
		n, before, token = found, found.Agent, ""
		switch {
		case before.Token == "":
			token = fresh
			n.Agent.Token, n.Agent.From = fresh, from
		case !before.From.IsValid() && from.IsValid():
			n.Agent.From = from
		default:
			return errNothingToDo
		}
		return nil
	})
	if err != nil && !errors.Is(err, errNothingToDo) {
		if n = c.givenToken(ctx, n, fresh); n == nil {
			return nil, "", err
		}
	}
	if before.refuses(from) {
		c.config.Log.Warn("a lookup gets no token, since the node's agent has one", "node", n.UUID, "from", from, "agent", before.From)
	}
	return n, token, nil
}

// givenToken returns the stored node of a lookup that has failed if it has the fresh token, otherwise nil. The response
// of the store was lost then, and the agent would get no token at its next lookup. A store that does not answer, as
// one without a leader, is asked again for a time.
func (c *Conductor) givenToken(ctx context.Context, n *Node, fresh string) *Node {
	if n == nil || n.Agent.Token != fresh {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	stored, _ := sleep.Until(ctx, reportBackoff, func() (*Node, bool, error) {
		stored, err := c.fleet.storedNode(ctx, n.UUID)
		return stored, err == nil || errors.Is(err, NotFound), nil
	})
	if stored == nil || stored.Agent.Token != fresh {
		return nil
	}
	return stored
}

// refuses reports whether a lookup from an address comes from another agent than the one with the token, or from an
// agent that has lost it. An agent that was booted with its token looks the node up as well, and needs no other.
func (a AgentInfo) refuses(from netip.Addr) bool {
	return a.Token != "" && (!a.TokenPregenerated || a.From.IsValid() && a.From != from)
}

// maxInterfaces bounds the network interfaces of a machine: the addresses of a lookup, and the ports of an inspection.
const maxInterfaces = 128

// byAddress returns the UUID of the node that has ports with the addresses.
func (f *fleet) byAddress(ctx context.Context, addresses []string) (string, error) {
	if len(addresses) > maxInterfaces {
		return "", refuse(Invalid, "A machine has at most %d network interfaces, and these are the addresses of %d.",
			maxInterfaces, len(addresses))
	}
	found := ""
	for _, address := range addresses {
		for _, key := range addressKeys(address) {
			r, err := f.store.Get(ctx, KindPort, key)
			if errors.Is(err, NotFound) {
				continue
			}
			if err != nil {
				return "", fmt.Errorf("load the port with the %s: %w", key, err)
			}
			o, err := decodeObject(r)
			if err != nil {
				return "", err
			}
			node := o.Meta().NodeUUID
			if found != "" && found != node {
				return "", refuse(NotFound, "No node with the addresses %v: they belong to several nodes.", addresses)
			}
			found = node
		}
	}
	if found == "" {
		return "", refuse(NotFound, "No node with the addresses %v could be found.", addresses)
	}
	return found, nil
}

// Heartbeat handles a heartbeat of a node's agent: it stores the agent's data. If the node uses the agent
// ([AgentBooter]), the conductor then asks the agent for its commands, after Heartbeat has returned, and continues or
// fails the work by the answer, whatever status the agent reports. Otherwise an agent that reports an error fails the
// work that waits for a call-back, and any other heartbeat continues the work only if the waiting step is the built-in
// step "wait" or the hardware type is simulated ([Description]): a heartbeat does not say that the agent has done
// anything. In a state that allows no heartbeat nothing is stored. The error matches [NotFound], or [Invalid] for a
// wrong token, for a URL without TLS if [Config] requires it, for a URL that [agent.ParseURL] or [Config.AgentAddress]
// refuses, for another URL or certificate than in the agent's earlier heartbeats, and while no conductor of the node's
// conductor group has its hardware type; or it comes from [Conductor.Resume].
func (c *Conductor) Heartbeat(ctx context.Context, ident string, h Heartbeat) error {
	n, owner, err := c.calls.elsewhere(ctx, ident)
	if err == nil && owner.ID != "" && !n.Agent.has(h.AgentToken) { // no stranger's heartbeat becomes a call
		n, err = c.fleet.storedNode(ctx, n.UUID) // the index may not have the token yet
		if err == nil && !n.Agent.has(h.AgentToken) {
			err = errAgentToken
		}
	}
	if err == nil {
		_, err = heartbeatMethod.dispatch(ctx, c, ident, h)
	}
	var refused *Error
	if errors.Is(err, errNoConductor) && errors.As(err, &refused) {
		refused.Reason = Invalid
	}
	return err
}

func heartbeatHere(ctx context.Context, c *Conductor, ident string, h Heartbeat) error {
	n, err := c.fleet.node(ctx, ident)
	if err != nil {
		return err
	}
	if err := c.rules.checkHeartbeat(n, h); err != nil { // names are looked up for no stranger
		return err
	}
	if h.CallbackURL != "" { // an agent that takes no commands has none
		if err := c.engine.permitAgent(ctx, n, h); err != nil {
			return err
		}
	}
	consults := false
	prepare := func(ctx context.Context, n *Node) (change func(*Node) error, err error) {
		if err := c.rules.checkHeartbeat(n, h); err != nil {
			return nil, err
		}
		if !kindOf(n.ProvisionState).heartbeats() && !c.rules.recordsHeartbeat(n) {
			return nil, errNothingToDo
		}
		if consults, err = c.engine.consultsAgent(ctx, n); err != nil {
			return nil, err
		}
		if consults && h.CallbackURL == "" {
			return nil, c.engine.permitAgent(ctx, n, h)
		}
		return func(n *Node) error {
			n.Agent.URL, n.Agent.From, n.Agent.Version, n.Agent.LastHeartbeat = h.CallbackURL, h.From, errtext.Clean(h.AgentVersion), now()
			n.Agent.VerifyCA = cmp.Or(h.AgentVerifyCA, n.Agent.VerifyCA)
			return nil
		}, nil
	}
	before, n, err := c.fleet.editPrepared(ctx, ident, prepare, c.fleet.editFrom)
	if errors.Is(err, errNothingToDo) {
		c.config.Log.Warn("an agent has sent a heartbeat in a state that allows none", "node", ident)
		return nil
	}
	if err != nil {
		return err
	}
	if before.Agent.URL == "" && h.CallbackURL != "" {
		c.config.Log.Info("an agent runs", "node", n.UUID, "from", h.From, "version", n.Agent.Version)
	}
	effect, failure, err := c.engine.heartbeatEffect(ctx, n, h, consults)
	if err != nil {
		return err
	}
	c.config.Log.Debug("a heartbeat", "node", n.UUID, "state", n.ProvisionState, "effect", effect)
	switch effect {
	case heartbeatResumes:
		return resume(ctx, c, ident, failure, n.waitsAs)
	case heartbeatConsults:
		c.engine.consultAgent(n)
	}
	return nil
}

var errAgentToken = refuse(Invalid, "Invalid or missing agent token received.")

// has reports whether the agent has the token.
func (a AgentInfo) has(token string) bool {
	return a.Token != "" && subtle.ConstantTimeCompare([]byte(a.Token), []byte(token)) == 1
}

// heartbeatEffect says what the conductor does after it has stored a heartbeat. Its text is logged.
type heartbeatEffect string

const (
	heartbeatNotAwaited  heartbeatEffect = "none: the node waits for no heartbeat"
	heartbeatReserved    heartbeatEffect = "none: the node is reserved"
	heartbeatMaintenance heartbeatEffect = "none: the node is in maintenance"
	heartbeatTellsNobody heartbeatEffect = "none: the step does not end with a heartbeat"
	heartbeatResumes     heartbeatEffect = "it is the call-back for which the node waits"
	heartbeatConsults    heartbeatEffect = "the conductor asks the agent for its commands"
)

// heartbeatEffect returns the effect of a heartbeat that is already stored in the node's record. A failure, if there is
// one, ends the work. consults is the result of [engine.consultsAgent].
func (e *engine) heartbeatEffect(
	ctx context.Context, n *Node, h Heartbeat, consults bool,
) (effect heartbeatEffect, failure, err error) {
	if effect, failure = e.rules.heartbeatByRecord(n); effect != "" {
		return effect, failure, nil
	}
	waits, err := e.waitsBuiltIn(ctx, n)
	if err != nil {
		return "", nil, err
	}
	effect, failure = heartbeatByAnswers(h, e.types.description(n).Simulated, consults, waits)
	return effect, failure, nil
}

// heartbeatByAnswers returns the effect of a heartbeat for which a node waits. The other arguments are the answers of
// the node's hardware type: whether it is simulated, whether the conductor speaks to the agent, and whether the node
// waits in the built-in step "wait".
func heartbeatByAnswers(h Heartbeat, simulated, consults, waitsBuiltIn bool) (effect heartbeatEffect, failure error) {
	switch {
	case h.AgentStatus == "error" && !consults:
		return heartbeatResumes, fmt.Errorf("the agent reported an error: %s", h.AgentStatusMessage)
	case simulated && !consults || waitsBuiltIn:
		return heartbeatResumes, nil
	case consults:
		return heartbeatConsults, nil
	default:
		return heartbeatTellsNobody, nil
	}
}

// waitsBuiltIn reports whether the current step of a node is the built-in step "wait", and no step of that name of the
// node's hardware type. A heartbeat then continues the work, without the conductor's speaking to the agent.
func (e *engine) waitsBuiltIn(ctx context.Context, n *Node) (bool, error) {
	hardware, err := e.types.of(n)
	if err != nil || n.Step().Step != "wait" {
		return false, nil
	}
	available, err := e.types.stepsFor(ctx, hardware, n, kindOf(n.ProvisionState).work)
	if err != nil {
		return false, err
	}
	step, _ := e.rules.runnable(n.Step(), available)
	return step.Step == "wait" && step.Run == nil, nil
}

// Resume is the call-back that a node waits for. With a nil failure the waiting step is
// done and the work continues with the next step; an inspection that waits is then complete.
// Otherwise the work has failed. The error matches [NotAllowed] for a node that does not
// wait, [NotFound], [Locked] or [NoWorker], or is the store's.
func (c *Conductor) Resume(ctx context.Context, ident string, failure error) error {
	return resume(ctx, c, ident, failure, func(*Node) bool { return true })
}

// waitsAs reports whether a later record of a node waits as this one does: in the same step of the same work.
func (n *Node) waitsAs(later *Node) bool {
	kind := kindOf(n.ProvisionState)
	return later.isAtWorkOf(n) && later.Step().String() == n.Step().String() && kind.of(later).Begun == kind.of(n).Begun
}

// resume is Resume for a node that still waits for this call-back. Otherwise it does nothing: another call-back was
// first.
func resume(ctx context.Context, c *Conductor, ident string, failure error, waits func(*Node) bool) error {
	before, n, err := c.engine.startWork(ctx, ident, func(ctx context.Context, n *Node) (change func(*Node) error, err error) {
		if !waits(n) {
			return nil, errNothingToDo
		}
		if c.config.Table.Phase(n.ProvisionState) != states.PhaseWaiting {
			return nil, refuse(NotAllowed, "Node %s does not wait for a call-back: it is in provision state %q.", n.UUID, n.ProvisionState)
		}
		if err := c.rules.unlocked(n); err != nil {
			return nil, err
		}
		var ramdisk ramdiskUse
		if failure != nil {
			ramdisk = c.engine.bootsRamdisk(ctx, n)
		}
		return func(n *Node) error { return c.rules.callBack(n, failure, ramdisk, now()) }, nil
	})
	if errors.Is(err, errNothingToDo) {
		return nil
	}
	// Ironic has no entry for an inspection that an inspector ends, see
	// ironic/drivers/modules/inspector/interface.py.
	if err == nil && failure != nil && !inspection.waits(before) {
		c.engine.history.failed(ctx, before, n)
	}
	return err
}
