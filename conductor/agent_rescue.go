// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// rescuesByAgent reports whether the node's rescue interface is "agent" and its hardware type can boot the agent.
func (b *rulebook) rescuesByAgent(n *Node) bool {
	hardware, err := b.hardware(n)
	if err != nil {
		return false
	}
	_, ok := hardware.(AgentBooter)
	return ok && b.description(n).Interface(n, "rescue") == "agent"
}

// finishRescue gives the agent the hash of the rescue password and ends the agent. An agent that takes no hash is not
// given the password itself, unlike in Ironic. If the rescue fails, the machine is powered off.
//
// Source: _finalize_rescue in ironic/drivers/modules/agent_base.py.
func (t *Task) finishRescue(ctx context.Context) error {
	n := t.Node()
	client, err := t.engine.agent(n)
	if err == nil {
		hash, _ := n.InstanceInfo["hashed_rescue_password"].(string)
		err = client.FinalizeRescue(ctx, hash)
	}
	if err == nil {
		return nil
	}
	if !n.DisablePowerOff {
		if unpowered := t.SetPower(ctx, states.PowerOff); unpowered != nil {
			t.engine.config.Log.Warn("a node whose rescue failed could not be powered off", "node", n.UUID, "error", unpowered)
		}
	}
	return fmt.Errorf("Node failed to perform rescue operation: Failed to rescue instance %s for node %s: %w", n.InstanceUUID, n.UUID, err)
}
