// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// Agents that hang have a worker each, until the conductor gives up on them.
func TestAgentsThatHangLeaveWorkersForRequests(t *testing.T) {
	for _, test := range []struct {
		series   states.Series
		reserved int
		busy     int // workers that wait for agents, of 20
	}{
		{states.Latest(), 0, 19}, {states.Caracal, 0, 19}, {states.Caracal, 50, 10}, {states.Caracal, -1, 20}, {states.Bobcat, 0, 20},
	} {
		synctest.Test(t, func(t *testing.T) {
			hang, ends := false, make(chan struct{})
			defer close(ends)
			m := startMachine(t, states.Manageable, func(c *conductor.Config) {
				c.Table, c.Workers, c.ReservedWorkers = test.series.Table(), 20, test.reserved
				dial := c.Agent.Dial
				c.Agent.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if hang {
						<-ends
						return nil, net.ErrClosed
					}
					return dial(ctx, network, address)
				}
			})
			tokens := map[string]string{}
			for range 21 {
				var err error
				m.n, err = m.CreateNode(m.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Manageable, Interfaces: m.n.Interfaces})
				require.NoError(t, err)
				m.clean("deploy.erase_devices")
				m.boot()
				tokens[m.n.UUID] = m.token
			}
			hang = true
			for id, token := range tokens {
				beat := conductor.Heartbeat{From: agentAt, CallbackURL: "http://10.0.0.7:9999", AgentToken: token}
				require.NoError(t, m.Heartbeat(m.ctx, id, beat))
			}
			synctest.Wait()
			require.Equal(t, test.busy, m.Stats().BusyWorkers, "%+v", test)
			other := m.node(states.Manageable)
			err := m.SetPower(m.ctx, other.UUID, states.PowerOn, 0)
			if test.busy == 20 {
				require.ErrorIs(t, err, conductor.NoWorker, "%+v", test)
				return
			}
			require.NoError(t, err, "%+v", test)
			require.Equal(t, states.PowerOn, m.settle(other).Power)
		})
	}
}
