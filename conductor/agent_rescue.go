// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"
)

// finishRescue gives the agent the hash of the rescue password and ends the agent. An agent that takes no hash is not
// given the password itself, unlike in Ironic.
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
	return fmt.Errorf("Node failed to perform rescue operation: Failed to rescue instance %s for node %s: %w", n.InstanceUUID, n.UUID, err)
}
