// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

func TestAStepOfTheAgentHasTheArgumentsThatTheAgentDescribes(t *testing.T) {
	for name, test := range map[string]struct {
		args map[string]any
		text string
	}{
		"with its argument": {map[string]any{"time": 5.0}, ""},
		"without":           {nil, "{'interface': 'deploy', 'step': 'burnin_disk'} is missing these required arguments: time (in seconds)"},
		"with another": {
			map[string]any{"time": 5.0, "cores": 2.0},
			"{'interface': 'deploy', 'step': 'burnin_disk', 'args': {'cores': 2, 'time': 5}} has these unexpected arguments: cores",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := startMachine(t, states.Manageable, nil)
				burnin := step("burnin_disk", 0)
				burnin["argsinfo"] = map[string]any{"time": map[string]any{"description": "in seconds", "required": true}}
				m.set(func(a *agentProgram) { a.steps["clean"] = append(a.steps["clean"], burnin) })
				r := m.provision("clean")
				r.CleanSteps = []conductor.StepRequest{{Interface: "deploy", Step: "burnin_disk", Args: test.args}}
				require.NoError(t, m.Provision(m.ctx, m.n.UUID, r))
				m.settle(m.n)
				n := m.boot()
				if test.text != "" {
					m.requireState(n, states.CleanFail, "Node failed to start the first cleaning step: clean step "+test.text)
				} else {
					m.requireState(n, states.CleanWait, "")
					require.Regexp(t, `^20\d\d-\d\d-\d\dT`, n.InternalInfo()["agent_cached_clean_steps_refreshed"])
					require.Equal(t, []string{"get_clean_steps", "execute_clean_step burnin_disk"}, m.heard())
					require.Equal(t, test.args, m.agent.params[1]["step"].(map[string]any)["args"])
				}
			})
		})
	}
}

func TestTheHardwareTypeRunsAStepThatBothHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, hasRAID("agent", true))
		m.set(func(a *agentProgram) {
			for _, kind := range []string{"bios", "raid"} {
				reset := step("factory_reset", 0)
				reset["interface"] = kind
				a.steps["clean"] = append(a.steps["clean"], reset)
			}
		})
		m.clean("bios.factory_reset", "raid.factory_reset")
		m.requireState(m.boot(), states.CleanWait, "")
		require.Equal(t, []string{"get_clean_steps", "execute_clean_step factory_reset"}, m.heard())
		require.Equal(t, "raid", m.agent.params[1]["step"].(map[string]any)["interface"])
		m.requireState(m.end("SUCCEEDED", ""), states.Manageable, "")
	})
}

// A hardware type may return the same slice for all nodes.
func TestTheStepsOfTheAgentLeaveTheSliceOfTheHardwareTypeAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := make([]conductor.Step, 5)
		all[0] = conductor.Step{Interface: "bios", Step: "set"}
		m := startMachine(t, states.Manageable, withReal(map[states.Work][]conductor.Step{states.WorkClean: all[:1]}))
		m.clean("deploy.erase_devices")
		m.requireState(m.boot(), states.CleanWait, "")
		require.Equal(t, []string{"get_clean_steps", "execute_clean_step erase_devices"}, m.heard())
		require.Equal(t, make([]conductor.Step, 4), all[1:])
	})
}

func TestByFastTrackAnAgentThatCannotDoTheNextWorkIsNotUsed(t *testing.T) {
	const text = `level=WARN msg="an agent that runs cannot do the next work" node=`
	for name, test := range map[string]struct {
		change func(m *agentNode)
		boots  int
		logged bool
	}{
		"it is ready":        {func(*agentNode) {}, 0, false},
		"it is busy":         {func(m *agentNode) { m.set(func(a *agentProgram) { a.busy = true }) }, 1, true},
		"its machine is off": {func(m *agentNode) { require.NoError(m.t, m.fake.SetPower(m.ctx, m.n, states.PowerOff)) }, 1, false},
		"nobody knows whether its machine is on": {func(m *agentNode) {
			reads := 0
			m.before(func(_ context.Context, _ *conductor.Node, operation string) error {
				if operation == "read power" {
					if reads++; reads == 1 {
						return errors.New("no answer")
					}
				}
				return nil
			})
		}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log lockedBuffer
				m := startMachine(t, states.Manageable, func(c *conductor.Config) {
					c.FastTrack, c.Log = true, slog.New(slog.NewTextHandler(&log, nil))
				})
				_, err := m.UpdateNode(m.ctx, m.n.UUID, func(n *conductor.Node) error { n.Power = states.PowerOn; return nil })
				require.NoError(t, err)
				m.boot()
				boots := 0
				test.change(m)
				before, _ := m.hook.Load().(beforeOperation)
				m.before(func(ctx context.Context, n *conductor.Node, operation string) error {
					if operation == "prepare" {
						boots++
					}
					if before == nil {
						return nil
					}
					return before(ctx, n, operation)
				})
				m.clean("deploy.erase_devices")
				require.Equal(t, test.boots, boots)
				if test.logged {
					require.Contains(t, log.String(), text+m.n.UUID)
				} else {
					require.NotContains(t, log.String(), text)
				}
			})
		})
	}
}
