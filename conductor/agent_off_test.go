// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"cmp"
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// rebooter is fake-hardware with the step bios.set, which boots the agent and waits for it.
type rebooter struct {
	*conductor.Fake
	boot func(context.Context, *conductor.Task) error
}

func (h rebooter) BootAgent(ctx context.Context, t *conductor.Task) error { return h.boot(ctx, t) }

func (h rebooter) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	return append(h.Fake.Steps(n, work), conductor.Step{
		Interface: "bios", Step: "set", Run: func(ctx context.Context, t *conductor.Task) error {
			if err := h.boot(ctx, t); err != nil {
				return err
			}
			return conductor.ErrWait
		},
	})
}

// TestAnAgentIsForgottenWhoseMachineIsOffAlready boots an agent twice. Between the boots the machine is powered off by
// others than the conductor.
func TestAnAgentIsForgottenWhoseMachineIsOffAlready(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	server.Close()
	pregenerated := ""
	boots := map[string]func(context.Context, *conductor.Task) error{
		"by a reboot": func(ctx context.Context, t *conductor.Task) error {
			pregenerated = ""
			return t.SetPower(ctx, states.PowerRebooting)
		},
		"by a power off and a power on": func(ctx context.Context, t *conductor.Task) error {
			pregenerated = ""
			if err := t.SetPower(ctx, states.PowerOff); err != nil {
				return err
			}
			return t.SetPower(ctx, states.PowerOn)
		},
		"with a token in the ramdisk": func(ctx context.Context, t *conductor.Task) (err error) {
			if pregenerated, err = t.PregenerateAgentToken(ctx); err != nil {
				return err
			}
			return t.SetPower(ctx, states.PowerOn)
		},
	}
	works := map[string]struct {
		from   states.State
		target string
		want   states.State
	}{
		"by the agent, at the end of a deployment": {states.Available, "active", states.Active},
		"by a person, with the last heartbeat":     {states.Manageable, "clean", states.Manageable},
	}
	for how, boot := range boots {
		for name, test := range works {
			t.Run(how+", after a power off "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := startMachine(t, test.from, func(c *conductor.Config) {
						c.Hardware["fake-hardware"] = rebooter{c.Hardware["fake-hardware"].(*conductor.Fake), boot}
					})
					r, set := m.provision(test.target), conductor.StepRequest{Interface: "bios", Step: "set"}
					if test.target == "clean" {
						r.CleanSteps = []conductor.StepRequest{{Step: "hold"}, set}
					} else {
						priority := 35
						set.Priority = &priority
						r.DeploySteps = []conductor.StepRequest{set}
					}
					require.NoError(t, m.Provision(m.ctx, m.n.UUID, r))
					m.settle(m.n)
					starts := func(url, ca string) {
						_, m.token, _ = m.Lookup(m.ctx, agentAt, nil, m.n.UUID)
						m.token = cmp.Or(m.token, pregenerated)
						require.NotEmpty(t, m.token, "an agent that is given no token stays deaf")
						m.agent.reset(m.token)
						require.NoError(t, m.Heartbeat(m.ctx, m.n.UUID, conductor.Heartbeat{
							From: agentAt, CallbackURL: url, AgentToken: m.token, AgentVerifyCA: ca,
						}))
						m.settle(m.n)
					}
					starts("http://10.0.0.7:9999", certificate)
					if test.target == "clean" {
						m.request(m.n, "unhold")
						require.NoError(t, m.fake.SetPower(m.ctx, m.n, states.PowerOff))
						m.beat()
					} else {
						m.set(func(a *agentProgram) {
							a.accepted = func(_ *http.Request, command string, _ map[string]any) {
								if command == "power_off" {
									time.AfterFunc(time.Second, func() { _ = m.fake.SetPower(m.ctx, m.n, states.PowerOff) })
								}
							}
						})
						m.end("SUCCEEDED", "") // of write_image
						bubble.Sleep(time.Minute)
					}
					n := m.settle(m.n)
					require.Equal(t, "bios.set", n.Step().String(), n.LastError)
					m.heard()
					starts("http://10.0.0.7:9998", certificate+"\n")
					bubble.Sleep(time.Minute)
					n = m.settle(m.n)
					m.requireState(n, test.want, "")
					m.requireForgotten(n)
					if test.want == states.Active {
						require.Equal(t, []string{"get_deploy_steps", "power_off"}, m.heard(), "the second agent does not stay")
					}
				})
			})
		}
	}
}
