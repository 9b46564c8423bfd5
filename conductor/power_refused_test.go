// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// lockedOut is fake-hardware whose BMC refuses the credentials once a power state was set.
type lockedOut struct {
	*conductor.Fake
	refuses bool
	sent    int // refused credentials
}

func (l *lockedOut) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	l.refuses = true
	return l.Fake.SetPower(ctx, n, power)
}

func (l *lockedOut) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	if l.refuses {
		l.sent++
		return states.NoPower, verify.Credentials
	}
	return l.Fake.PowerState(ctx, n)
}

// The password of a BMC is changed, or its account locked, while a machine is to reach a power state.
func TestTheWaitForAPowerStateEndsWithRefusedCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware := &lockedOut{Fake: &conductor.Fake{}}
		f := start(t, func(c *conductor.Config) {
			c.Hardware, c.SkipPowerSync = map[string]conductor.Hardware{"fake-hardware": hardware}, true
		})
		n := f.node(states.Manageable)
		request := f.provision("clean")
		request.CleanSteps = []conductor.StepRequest{{Interface: "power", Step: "power_on"}}
		require.NoError(t, f.Provision(f.ctx, n.UUID, request))
		bubble.Sleep(time.Minute)
		n = f.settle(n)
		require.Equal(t, states.CleanFail, n.ProvisionState)
		require.Contains(t, n.LastError, "credentials refused")
		require.Equal(t, 1, hardware.sent)
	})
}

// The agent powers its machine off meanwhile.
func TestTheWaitForAnAgentToPowerOffEndsWithRefusedCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Available, func(*conductor.Config) {})
		m.request(m.n, "active")
		m.settle(m.n)
		m.boot()
		m.settle(m.n)
		asked, sent := false, 0
		m.before(func(_ context.Context, _ *conductor.Node, operation string) error {
			if asked && operation == "read power" {
				sent++
				return verify.Credentials
			}
			return nil
		})
		m.set(func(a *agentProgram) {
			a.accepted = func(_ *http.Request, command string, _ map[string]any) { asked = asked || command == "power_off" }
		})
		m.end("SUCCEEDED", "")
		bubble.Sleep(time.Minute)
		n := m.settle(m.n)
		require.Equal(t, states.DeployFail, n.ProvisionState)
		require.Contains(t, n.LastError, "credentials refused")
		require.LessOrEqual(t, sent, 2) // the clean-up sends them again
	})
}
