// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// A client has ended the work of a heartbeat, and begun other work that waits in the same state for another agent.
func TestAHeartbeatDoesNotEndWorkThatWaitsForAnotherAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}, SkipPowerSync: true})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		require.NoError(t, c.Ready(ctx))
		step := Step{Interface: "deploy", Step: "erase_devices", InBand: true}
		n, err := c.CreateNode(ctx, &Node{
			Driver: "fake-hardware", ProvisionState: states.CleanWait, CleanSteps: &Steps{Planned: []Step{step}, Begun: 1, Current: &step},
		})
		require.NoError(t, err)
		earlier := n.Clone()
		earlier.Agent.URL, earlier.Agent.Token = "https://10.0.0.7:9999", newAgentToken()
		c.engine.consultAgent(earlier)
		synctest.Wait()
		n, err = c.Node(ctx, n.UUID)
		require.NoError(t, err)
		require.Equal(t, states.CleanWait, n.ProvisionState, n.LastError)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}
