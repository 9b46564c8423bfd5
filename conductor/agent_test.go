// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// agentAt is the address of the machine with the agent.
var agentAt = netip.MustParseAddr("10.0.0.7")

// real is fake-hardware that does not declare itself simulated. It has only the given steps, if
// they are not nil.
type real struct {
	*conductor.Fake
	steps map[states.Work][]conductor.Step
}

func (r real) Describe() conductor.Description {
	d := r.Fake.Describe()
	d.Simulated = false
	return d
}

func (r real) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	if r.steps != nil {
		return r.steps[work]
	}
	return r.Fake.Steps(n, work)
}

// withReal gives the nodes of a conductor a hardware type that is not simulated.
func withReal(steps map[states.Work][]conductor.Step) func(*conductor.Config) {
	return func(c *conductor.Config) {
		c.Hardware = map[string]conductor.Hardware{"fake-hardware": real{c.Hardware["fake-hardware"].(*conductor.Fake), steps}}
	}
}

// waitsInDeployment returns a node whose deploy step waits for a call-back.
func (f *fleet) waitsInDeployment() *conductor.Node {
	f.t.Helper()
	f.before(waiting("deploy.deploy"))
	n := f.node(states.Available)
	f.request(n, "active")
	require.Equal(f.t, states.DeployWait, f.settle(n).ProvisionState)
	return n
}

// beats looks a node up as its agent does and sends a heartbeat, and returns the agent's token.
func beats(f *fleet, n *conductor.Node) (token string) {
	f.t.Helper()
	_, token, err := f.Lookup(f.ctx, agentAt, nil, n.UUID)
	require.NoError(f.t, err)
	require.NoError(f.t, f.Heartbeat(f.ctx, n.UUID, conductor.Heartbeat{
		From:         agentAt,
		CallbackURL:  "https://10.0.0.7:9999",
		AgentVersion: "9.1",
		AgentToken:   token,
	}))
	return token
}

func TestAHeartbeatAloneEndsNoWorkOfARealMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, withReal(nil))
		n := f.waitsInDeployment()
		token := beats(f, n)
		got := f.settle(n)
		require.Equal(t, states.DeployWait, got.ProvisionState)
		require.Equal(t, "https://10.0.0.7:9999", got.Agent.URL)
		require.Equal(t, "9.1", got.Agent.Version)

		beat := conductor.Heartbeat{
			From:               agentAt,
			CallbackURL:        "https://10.0.0.7:9999",
			AgentToken:         token,
			AgentStatus:        "error",
			AgentStatusMessage: "no disk",
		}
		require.NoError(t, f.Heartbeat(f.ctx, n.UUID, beat))
		got = f.settle(n)
		require.Equal(t, states.DeployFail, got.ProvisionState)
		require.Equal(t, "the agent reported an error: no disk", got.LastError)
	})
}

func TestAnAgentWithoutTLSIsRefusedIfTheConfigurationRequiresIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) {
			withReal(nil)(c)
			c.RequireAgentTLS = nil
		})
		n := f.waitsInDeployment()
		_, token, err := f.Lookup(f.ctx, agentAt, nil, n.UUID)
		require.NoError(t, err)
		beat := conductor.Heartbeat{From: agentAt, CallbackURL: "http://10.0.0.7:9999", AgentToken: token}
		err = f.Heartbeat(f.ctx, n.UUID, beat)
		require.ErrorIs(t, err, conductor.Invalid)
		require.EqualError(t, err, "TLS is required by configuration")
		beat.CallbackURL = "https://10.0.0.7:9999"
		require.NoError(t, f.Heartbeat(f.ctx, n.UUID, beat))
		require.Equal(t, "https://10.0.0.7:9999", f.settle(n).Agent.URL)
	})
}

func TestAHeartbeatContinuesTheStepThatWaitsForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, withReal(nil))
		n := f.node(states.Manageable)
		r := f.provision("clean")
		r.CleanSteps = []conductor.StepRequest{{Interface: "deploy", Step: "wait"}, {Interface: "bios", Step: "factory_reset"}}
		require.NoError(t, f.Provision(f.ctx, n.UUID, r))
		require.Equal(t, states.CleanWait, f.settle(n).ProvisionState)
		beats(f, n)
		require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
	})
}

// SECURITY.md: The token ends with the agent's work.
func TestAnAgentsTokenEndsWithItsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		f.before(waiting("deploy.deploy"))
		n := f.node(states.Available)
		tokens := map[string]bool{}
		for _, target := range []string{"active", "rebuild"} {
			f.request(n, target)
			require.Equal(t, states.DeployWait, f.settle(n).ProvisionState)
			token := beats(f, n)
			require.Len(t, token, 43, "as Ironic's; an agent ignores one with fewer than 32 characters")
			tokens[token] = true
			got := f.settle(n)
			require.Equal(t, states.Active, got.ProvisionState, got.LastError)
			require.Empty(t, got.Agent.Token)
			require.Empty(t, got.Agent.URL)
		}
		require.Len(t, tokens, 2, "the agent of the second boot needs a new one")
	})
}

func TestByFastTrackAnIdleAgentStaysKnownUntilOtherWorkBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.FastTrack = true })
		n := f.node(states.Enroll)
		token := beats(f, n)
		known := func(state states.State) {
			t.Helper()
			got := f.settle(n)
			require.Equal(t, state, got.ProvisionState, got.LastError)
			require.Equal(t, "https://10.0.0.7:9999", got.Agent.URL)
			require.Equal(t, token, got.Agent.Token)
		}
		known(states.Enroll)
		f.request(n, "manage")
		known(states.Manageable)
		f.request(n, "provide")
		known(states.Available)
		f.request(n, "manage")
		known(states.Manageable)
		f.before(waiting("inspect.inspect_hardware"))
		f.request(n, "inspect")
		got := f.settle(n)
		require.Equal(t, states.InspectWait, got.ProvisionState)
		require.Empty(t, got.Agent.Token, "the agent of an inspection is always booted")

		beats(f, n)
		require.Equal(t, states.InspectWait, f.settle(n).ProvisionState, "inspection data end an inspection, and no heartbeat")
		require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
		got = f.settle(n)
		require.Equal(t, states.Manageable, got.ProvisionState)
		require.NotEmpty(t, got.Agent.Token)
		f.request(n, "adopt")
		require.Empty(t, f.settle(n).Agent.Token)
	})
}

func TestWithoutFastTrackAnIdleNodeHasNoAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Available)
		_, _, err := f.Lookup(f.ctx, agentAt, nil, n.UUID)
		require.ErrorIs(t, err, conductor.NotFound)
	})
}

func TestAVerificationThatReadsNoPowerStateFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, withReal(nil))
		n := f.node(states.Enroll)
		f.request(n, "manage")
		got := f.settle(n)
		require.Equal(t, states.Enroll, got.ProvisionState)
		require.Equal(t, "verification of node "+n.UUID+` failed: power state: not supported: the power state read is "none"`, got.LastError)
	})
}

func TestWorkWithoutStepsFails(t *testing.T) {
	for _, test := range []struct {
		from, to states.State
		target   string
		text     string
	}{
		{states.Manageable, states.InspectFail, "inspect", `Driver fake-hardware has no steps for a node in provision state "inspecting".`},
		{states.Manageable, states.AdoptFail, "adopt", `Driver fake-hardware has no steps for a node in provision state "adopting".`},
		{states.Active, states.RescueFail, "rescue", `Driver fake-hardware has no steps for a node in provision state "rescuing".`},
		{states.Rescue, states.UnrescueFail, "unrescue", `Driver fake-hardware has no steps for a node in provision state "unrescuing".`},
		{states.Active, states.Error, "deleted", `Driver fake-hardware has no steps for a node in provision state "deleting".`},
		{states.Manageable, states.CleanFail, "provide", "so nothing would be erased"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, withReal(map[states.Work][]conductor.Step{}))
			n := f.node(test.from)
			f.request(n, test.target)
			got := f.settle(n)
			require.Equal(t, test.to, got.ProvisionState, test.target)
			require.Contains(t, got.LastError, test.text)
			require.False(t, got.Maintenance)
		})
	}
}

func TestAnAgentsTokenEndsWithThePowerOfItsMachine(t *testing.T) {
	for _, power := range []states.Power{
		states.PowerOff, states.PowerSoftOff, states.PowerRebooting, states.PowerSoftRebooting, states.PowerOn,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, withReal(nil))
			n := f.waitsInDeployment()
			first := beats(f, n)
			require.NoError(t, f.SetPower(f.ctx, n.UUID, power, 0))
			got := f.settle(n)
			require.Equal(t, power.Target(), got.Power)
			_, token, err := f.Lookup(f.ctx, agentAt, nil, n.UUID)
			require.NoError(t, err)
			if power == states.PowerOn {
				require.Empty(t, token, "the agent still runs and has the token")
				return
			}
			require.Empty(t, got.Agent.URL)
			require.NotEmpty(t, token, "the agent of the next boot needs one")
			require.NotEqual(t, first, token)
		})
	}
	synctest.Test(t, func(t *testing.T) { // in a step
		f := start(t, withReal(nil))
		f.before(waiting("bios.cache_bios_settings"))
		n := f.node(states.Manageable)
		r := f.provision("clean")
		r.CleanSteps = []conductor.StepRequest{
			{Interface: "bios", Step: "cache_bios_settings"},
			{Interface: "power", Step: "reboot"},
			{Interface: "deploy", Step: "wait"},
		}
		require.NoError(t, f.Provision(f.ctx, n.UUID, r))
		require.Equal(t, states.CleanWait, f.settle(n).ProvisionState)
		beats(f, n)
		require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
		require.Equal(t, states.CleanWait, f.settle(n).ProvisionState)
		require.NotEmpty(t, beats(f, n), "the agent of the next boot needs one")
		require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
	})
}

func TestATokenThatWasMadeBeforeTheBootOutlivesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Manageable)
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error {
			n.Agent = conductor.AgentInfo{
				Token:             "made before",
				TokenPregenerated: true,
				URL:               "https://10.0.0.7:9999",
				VerifyCA:          "PEM",
				Managers:          map[string]any{"generic": "1.1"},
				Steps:             map[agent.Work]conductor.AgentSteps{agent.Clean: {}},
			}
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOff, 0))
		got := f.settle(n)
		require.Equal(t, conductor.AgentInfo{
			Token:             "made before",
			TokenPregenerated: true,
			Managers:          map[string]any{"generic": "1.1"},
		}, got.Agent)
		f.request(n, "provide")
		f.request(n, "active")
		require.Empty(t, f.settle(n).Agent.Token)
	})
}

func TestABuiltInStepDoesNotPowerOffANodeThatForbidsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Manageable)
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.DisablePowerOff = true; return nil })
		require.NoError(t, err)
		r := f.provision("clean")
		r.CleanSteps = []conductor.StepRequest{{Interface: "power", Step: "power_off"}}
		require.NoError(t, f.Provision(f.ctx, n.UUID, r))
		got := f.settle(n)
		require.Equal(t, states.CleanFail, got.ProvisionState)
		require.Contains(t, got.LastError, "disable_power_off")
		require.Equal(t, states.NoPower, got.Power)
	})
}

// alwaysOn is fake-hardware whose machines do not go off.
type alwaysOn struct{ *conductor.Fake }

func (alwaysOn) PowerState(context.Context, *conductor.Node) (states.Power, error) {
	return states.PowerOn, nil
}

func TestARescueThatTimedOutRecordsPowerOffOnlyIfTheMachineIsOff(t *testing.T) {
	for _, stays := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.SkipPowerSync = true
				if stays {
					c.Hardware = map[string]conductor.Hardware{"fake-hardware": alwaysOn{c.Hardware["fake-hardware"].(*conductor.Fake)}}
				}
			})
			f.before(waiting("rescue.rescue"))
			n := f.node(states.Active)
			require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
			require.Equal(t, states.PowerOn, f.settle(n).Power)
			f.request(n, "rescue")
			bubble.Sleep(40 * time.Minute)
			got := f.settle(n)
			require.Equal(t, states.RescueFail, got.ProvisionState)
			require.Equal(t, stays, got.Power == states.PowerOn)
		})
	}
}
