// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// tokenInRamdisk is fake-hardware that puts the agent's token into the ramdisk's configuration before the machine
// boots.
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

func TestAnAgentAuthenticatesWithTheTokenInItsRamdisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ramdisk := make(chan string, 1)
		m := startMachine(t, states.Manageable, func(c *conductor.Config) {
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": tokenInRamdisk{c.Hardware["fake-hardware"].(*conductor.Fake), ramdisk}}
		})
		m.clean("deploy.erase_devices")
		_, given, err := m.Lookup(m.ctx, agentAt, nil, m.n.UUID)
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

// TestALookupOfANodeWhoseAgentHasATokenIsRefusedAndLogged lets several addresses look a node up, one after the other.
// Only the first write of an address changes the record.
//
// SECURITY.md: A further lookup gets no token, and is logged at WARN with both addresses.
func TestALookupOfANodeWhoseAgentHasATokenIsRefusedAndLogged(t *testing.T) {
	other := netip.MustParseAddr("10.0.0.8")
	for name, test := range map[string]struct {
		pregenerated bool
		from         []netip.Addr
		warns        []string // the addresses of the agent that the log names, for each lookup; empty for no record
	}{
		"another address":                        {false, []netip.Addr{agentAt, other, agentAt}, []string{"", "10.0.0.7", "10.0.0.7"}},
		"an agent that has lost its token":       {false, []netip.Addr{agentAt, agentAt}, []string{"", "10.0.0.7"}},
		"no address":                             {false, []netip.Addr{{}, agentAt, other}, []string{"", `""`, "10.0.0.7"}},
		"a token in the ramdisk":                 {true, []netip.Addr{agentAt, agentAt}, []string{"", ""}},
		"a token in the ramdisk, and a stranger": {true, []netip.Addr{other, agentAt, other}, []string{"", "10.0.0.8", ""}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			f := start(t, func(c *conductor.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			n := conductor.Node{ProvisionState: states.CleanWait}
			if test.pregenerated {
				n.Agent = conductor.AgentInfo{Token: "in the ramdisk", TokenPregenerated: true}
			}
			created := f.create(n)
			revision, from := int64(0), netip.Addr{}
			for i, at := range test.from {
				before := len(log.String())
				found, token, err := f.Lookup(f.ctx, at, nil, created.UUID)
				require.NoError(t, err)
				require.Equal(t, i == 0 && !test.pregenerated, token != "", name)
				logged := log.String()[before:]
				if test.warns[i] == "" {
					require.NotContains(t, logged, "WARN", name)
				} else {
					require.Contains(t, logged, "level=WARN msg=\"a lookup gets no token, since the node's agent has one\" "+
						"node="+created.UUID+" from="+at.String()+" agent="+test.warns[i]+"\n", name)
				}
				require.NotContains(t, logged, found.Agent.Token)
				if from.IsValid() {
					require.Equal(t, revision, found.Revision, "%s: a refused lookup writes nothing", name)
					require.Equal(t, from, found.Agent.From)
				}
				revision, from = found.Revision, found.Agent.From
			}
		})
	}
}
