// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// agentHardware is a hardware type whose machines boot the agent.
type agentHardware interface {
	conductor.Hardware
	conductor.AgentBooter
}

// withRAID is a hardware type with another RAID interface, whose steps the agent may execute.
type withRAID struct {
	agentHardware
	raid   string
	inBand bool
}

func (h withRAID) Describe() conductor.Description {
	d := h.agentHardware.Describe()
	d.Interfaces["raid"] = []string{h.raid}
	return d
}

func (h withRAID) StepsInBand(_ *conductor.Node, kind string) bool { return kind == "raid" && h.inBand }

// hasRAID returns a change of a configuration whose hardware type has a RAID interface.
func hasRAID(name string, inBand bool) func(*conductor.Config) {
	return func(c *conductor.Config) {
		c.Hardware["fake-hardware"] = withRAID{c.Hardware["fake-hardware"].(agentHardware), name, inBand}
	}
}

func TestTheNodeKnowsTheRAIDThatItsAgentHasMade(t *testing.T) {
	for name, test := range map[string]struct {
		result any
		want   states.State
	}{
		"a configuration": {
			map[string]any{"logical_disks": []any{map[string]any{"size_gb": 100, "raid_level": "1", "is_root_volume": true}}},
			states.Manageable,
		},
		"none": {nil, states.CleanFail},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := startMachine(t, states.Manageable, hasRAID("agent", true))
				create := step("create_configuration", 0)
				create["interface"] = "raid"
				m.set(func(a *agentProgram) { a.steps["clean"] = append(a.steps["clean"], create) })
				m.clean("raid.create_configuration")
				m.boot()
				m.set(func(a *agentProgram) {
					a.commands[len(a.commands)-1]["command_result"].(map[string]any)["clean_result"] = test.result
				})
				n := m.end("SUCCEEDED", "")
				if test.want == states.CleanFail {
					m.requireState(n, states.CleanFail, fmt.Sprintf("For node %s, the result of clean step raid.create_configuration cannot be used: "+
						"the agent has not reported the RAID configuration that it has made", n.UUID))
					return
				}
				m.requireState(n, test.want, "")
				require.Equal(t, "100", fmt.Sprint(n.Properties["local_gb"]))
				require.Equal(t, "boot_mode:uefi,raid_level:1", n.Properties["capabilities"])
				require.Len(t, n.RAIDConfig["logical_disks"], 1)
				require.NotEmpty(t, n.RAIDConfig["last_updated"])
			})
		})
	}
}

// The agent has a step of each hardware interface, and a client requests it: Ironic has the agent's steps of a cleaning
// and a deployment only by its deploy interfaces, and by the RAID interface "agent". Whatever the interface's name is,
// the hardware type says that its steps are in band.
func TestOnlyAServiceHasTheAgentsStepsOfOtherInterfaces(t *testing.T) {
	for _, test := range []struct {
		from         states.State
		target       string
		wait, failed states.State
	}{
		{states.Manageable, "clean", states.CleanWait, states.CleanFail},
		{states.Available, "active", states.DeployWait, states.DeployFail},
		{states.Active, "service", states.ServiceWait, states.ServiceFail},
	} {
		for raid, inBand := range map[string]bool{"own": true, "agent": false} {
			for _, kind := range []string{"deploy", "raid", "bios", "management", "firmware"} {
				synctest.Test(t, func(t *testing.T) {
					m := startMachine(t, test.from, hasRAID(raid, inBand))
					wipe, priority := step("wipe", 90), 90
					wipe["interface"] = kind
					m.set(func(a *agentProgram) {
						for _, work := range []string{"clean", "deploy", "service"} {
							a.steps[work] = append(a.steps[work], wipe)
						}
					})
					request, steps := m.provision(test.target), []conductor.StepRequest{{Interface: kind, Step: "wipe"}}
					switch request.CleanSteps, request.ServiceSteps = nil, nil; test.target {
					case "clean":
						request.CleanSteps = steps
					case "service":
						request.ServiceSteps = steps
					case "active":
						steps[0].Priority = &priority
						request.DeploySteps = steps
					}
					require.NoError(t, m.Provision(m.ctx, m.n.UUID, request))
					m.settle(m.n)
					n := m.boot()
					if test.target == "service" || kind == "deploy" || kind == "raid" && inBand {
						m.requireState(n, test.wait, "")
						require.Equal(t, kind+".wipe", n.Step().String())
						return
					}
					require.Equal(t, test.failed, n.ProvisionState, "%s %s", test.target, kind)
					require.Contains(t, n.LastError, fmt.Sprintf("node does not support this %v step: {'interface': '%s', 'step': 'wipe'",
						test.failed.Work(), kind))
				})
			}
		}
	}
}
