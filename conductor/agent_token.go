// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"crypto/rand"
	"encoding/base64"
)

// tokenBytes is the length of a token before its encoding, which has 43 characters. An agent ignores
// a token with fewer than 32.
const tokenBytes = 32

// newAgentToken makes a token that an agent sends in its heartbeats.
//
// Source: add_secret_token in ironic/conductor/utils.py.
func newAgentToken() string {
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // it never fails
	return base64.RawURLEncoding.EncodeToString(random)
}

// PregenerateAgentToken makes and stores the token of the agent that the machine boots next. The caller must
// put it into the ramdisk's configuration, since [Conductor.Lookup] does not return it. The record keeps
// it when the machine is powered off or rebooted, until the work has ended.
//
// Source: prepare_ramdisk in ironic/drivers/modules/redfish/boot.py.
func (t *Task) PregenerateAgentToken(ctx context.Context) (string, error) {
	token := newAgentToken()
	return token, t.Update(ctx, func(n *Node) error {
		n.Agent.Token, n.Agent.TokenPregenerated = token, true
		return nil
	})
}

// ForgetAgent removes the data of the node's agent, its token included. The next agent then receives a
// token at its lookup.
func (t *Task) ForgetAgent(ctx context.Context) error {
	if t.Node().Agent.Token == "" {
		return nil
	}
	return t.Update(ctx, func(n *Node) error { n.forgetAgent(); return nil })
}
