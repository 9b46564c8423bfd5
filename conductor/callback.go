package conductor

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"strings"
	"time"

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

// agentKeys are the keys of driver_internal_info that hold data of the node's agent.
var agentKeys = []string{"agent_url", "agent_secret_token", "agent_secret_token_pregenerated", "agent_verify_ca"}

// forgetAgent removes the data of an agent that is no longer in use.
func (n *Node) forgetAgent() {
	for _, key := range agentKeys {
		delete(n.DriverInternalInfo, key)
	}
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
		if uuid, err = c.byAddress(ctx, addresses); err != nil {
			return nil, "", err
		}
	}
	n, err = c.edit(ctx, uuid, func(n *Node) error {
		if !c.config.Table.LookupAllowed().Has(n.ProvisionState) {
			return refuse(NotFound, "Node %s could not be found.", uuid)
		}
		if _, ok := n.DriverInternalInfo["agent_secret_token"]; ok {
			token = ""
			return nil
		}
		token = rand.Text()
		set(&n.DriverInternalInfo, "agent_secret_token", token)
		return nil
	})
	return n, token, err
}

// byAddress returns the UUID of the node that has ports with the addresses.
func (c *Conductor) byAddress(ctx context.Context, addresses []string) (string, error) {
	ports, err := c.Objects(ctx, KindPort)
	if err != nil {
		return "", err
	}
	wanted := map[string]bool{}
	for _, address := range addresses {
		wanted[strings.ToLower(address)] = true
	}
	found := ""
	for _, port := range ports {
		address, _ := port.Fields["address"].(string)
		if !wanted[strings.ToLower(address)] {
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

// Heartbeat handles a heartbeat of a node's agent: it stores the agent's data and resumes
// the work that waits for a call-back. The error matches [NotFound], or [Invalid] for a
// wrong token, or is that of [Conductor.Resume].
func (c *Conductor) Heartbeat(ctx context.Context, ident string, h Heartbeat) error {
	if h.AgentVersion == "" && h.AgentStatus == "" {
		return refuse(Invalid, "Agent did not transmit a version, and a version is required. Please update the agent being used.")
	}
	waits := false
	_, err := c.edit(ctx, ident, func(n *Node) error {
		token, _ := n.DriverInternalInfo["agent_secret_token"].(string)
		if token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(h.AgentToken)) != 1 {
			return refuse(Invalid, "Invalid or missing agent token received.")
		}
		set(&n.DriverInternalInfo, "agent_url", h.CallbackURL)
		set(&n.DriverInternalInfo, "agent_version", h.AgentVersion)
		set(&n.DriverInternalInfo, "agent_last_heartbeat", time.Now().UTC().Format(internalTime))
		if h.AgentVerifyCA != "" {
			set(&n.DriverInternalInfo, "agent_verify_ca", h.AgentVerifyCA)
		}
		_, waits = c.config.Table.Next(n.ProvisionState, states.EventResume)
		waits = waits && n.Reservation == "" && n.ProvisionState != states.CleanHold
		return nil
	})
	if err != nil || !waits {
		return err
	}
	if h.AgentStatus == "error" {
		return c.Resume(ctx, ident, fmt.Errorf("the agent reported an error: %s", h.AgentStatusMessage))
	}
	return c.Resume(ctx, ident, nil)
}

// Resume is the call-back that a node waits for. With a nil failure the waiting step is
// done and the work continues with the next step; an inspection that waits is then complete.
// Otherwise the work has failed. The error matches [NotAllowed] for a node that does not
// wait, [NotFound], [Locked] or [NoWorker], or is the store's.
func (c *Conductor) Resume(ctx context.Context, ident string, failure error) error {
	word := states.EventResume
	if failure != nil {
		word = states.EventFail
	}
	return c.retryLocked(ctx, func() error {
		n, from, err := c.startWork(ctx, ident, word.String(), func(n *Node) error {
			if c.config.Table.Phase(n.ProvisionState) != states.PhaseWaiting {
				return refuse(NotAllowed, "Node %s does not wait for a call-back: it is in provision state %q.", n.UUID, n.ProvisionState)
			}
			if err := unlocked(n); err != nil {
				return err
			}
			if failure != nil {
				return c.fail(n, failure.Error())
			}
			event := states.EventResume
			if _, ok := c.config.Table.Next(n.ProvisionState, event); !ok {
				event = states.EventDone
			}
			moved, err := n.machine().Report(c.config.Table, event, "")
			if err != nil {
				return err
			}
			if keys, ok := stepsOf[n.ProvisionState]; ok && event == states.EventDone {
				n.forgetSteps(keys)
			}
			n.move(moved, now())
			return nil
		})
		if err == nil && failure != nil {
			c.recordFailure(ctx, n, from)
		}
		return err
	})
}
