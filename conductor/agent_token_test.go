// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// tokenInRamdisk is fake-hardware that puts the agent's token into the ramdisk's configuration before the machine boots.
type tokenInRamdisk struct {
	*conductor.Fake
	ramdisk chan string
}

func (h tokenInRamdisk) BootAgent(ctx context.Context, t *conductor.Task) error {
	token, err := t.PregenerateAgentToken(ctx)
	if err != nil {
		return err
	}
	h.ramdisk <- token
	return t.SetPower(ctx, states.PowerRebooting)
}

func TestATokenInTheRamdiskIsThatOfTheAgentThatBoots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ramdisk := make(chan string, 1)
		m := startMachine(t, states.Manageable, func(c *conductor.Config) {
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": tokenInRamdisk{c.Hardware["fake-hardware"].(*conductor.Fake), ramdisk}}
		})
		m.clean("deploy.erase_devices")
		_, given, err := m.Lookup(m.ctx, nil, m.n.UUID)
		require.NoError(t, err)
		require.Empty(t, given, "a lookup tells nobody the token")
		m.token = <-ramdisk
		m.agent.reset(m.token)
		m.requireState(m.beat(), states.CleanWait, "")
		n := m.end("SUCCEEDED", "")
		m.requireState(n, states.Manageable, "")
		m.requireForgotten(n)
	})
}
