// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

func TestAnAutomatedCleaningExecutesTheAgentsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, func(c *conductor.Config) {
			c.Table = states.Antelope.Table()
			c.Hardware["fake-hardware"].(*conductor.Fake).Series = states.Antelope
		})
		m.request(m.n, "provide")
		n := m.settle(m.n)
		m.requireState(n, states.CleanWait, "")
		require.Equal(t, states.PowerOn, n.Power)
		m.requireState(m.boot(), states.CleanWait, "")
		require.Equal(t, []string{"get_clean_steps", "execute_clean_step erase_devices_metadata"}, m.heard())

		for range 3 { // the step runs
			m.requireState(m.beat(), states.CleanWait, "")
			require.Empty(t, m.heard())
		}
		n = m.end("SUCCEEDED", "")
		m.requireState(n, states.CleanWait, "")
		require.Equal(t, "deploy.erase_devices", n.Step().String())
		require.Equal(t, []string{"execute_clean_step erase_devices"}, m.heard())
		params := m.agent.params[2]
		require.Equal(t, map[string]any{"generic": "1.1"}, params["clean_version"])
		require.Equal(t, map[string]any{
			"interface":        "deploy",
			"step":             "erase_devices",
			"priority":         10.0,
			"abortable":        true,
			"requires_ramdisk": true,
		}, params["step"])
		record := params["node"].(map[string]any)
		require.Equal(t, m.n.UUID, record["uuid"])
		require.Equal(t, "******", record["driver_internal_info"].(map[string]any)["agent_secret_token"])
		require.Equal(t, "******", record["instance_info"].(map[string]any)["configdrive"])
		require.Equal(t, 1.0, record["driver_internal_info"].(map[string]any)["agent_erase_devices_iterations"])
		require.Equal(t, map[string]any{"interface": "deploy", "step": "erase_devices", "priority": 10.0}, record["clean_step"])
		require.Equal(t, map[string]any{}, record["extra"], "the agent reads it")
		for _, ours := range []string{"claim", "clean_steps", "empty", "transitions"} {
			require.NotContains(t, record, ours, "Ironic's record does not have it")
		}
		first := m.agent.params[0]["node"].(map[string]any)
		require.NotContains(t, first, "clean_step", "the list of steps is asked for before the first")

		n = m.end("SUCCEEDED", "")
		m.requireState(n, states.Available, "")
		require.Equal(t, states.PowerOff, n.Power)
		m.requireForgotten(n)
	})
}

func TestAManualCleaningHasStepsInAndOutOfBand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.clean("bios.factory_reset", "deploy.burnin_cpu", "bios.cache_bios_settings", "deploy.burnin_cpu")
		m.requireState(m.boot(), states.CleanWait, "")
		require.Equal(t, []string{"get_clean_steps", "execute_clean_step burnin_cpu"}, m.heard())
		n := m.end("SUCCEEDED", "")
		m.requireState(n, states.CleanWait, "")
		require.Equal(t, 4, n.CleanSteps.Begun)
		require.Equal(t, []string{"execute_clean_step burnin_cpu"}, m.heard())
		m.requireState(m.beat(), states.CleanWait, "") // the end of the first is not taken for the end of the second
		m.requireState(m.end("SUCCEEDED", ""), states.Manageable, "")
	})
}

// TestAStepWhoseAnswerIsLostIsSentAgainIfItRepeatsTheOneBefore has a step that succeeds at once: the list of the
// agent's commands then does not say whether it is the step or the one before.
func TestAStepWhoseAnswerIsLostIsSentAgainIfItRepeatsTheOneBefore(t *testing.T) {
	for _, test := range []struct {
		steps []string
		ended int // the steps that end before the one whose answer is lost
		sent  int
	}{
		{[]string{"deploy.burnin_cpu", "deploy.burnin_cpu"}, 1, 2},
		{[]string{"deploy.erase_devices", "deploy.burnin_cpu"}, 1, 1},
		{[]string{"deploy.burnin_cpu", "bios.factory_reset", "deploy.burnin_cpu"}, 1, 1},
		{[]string{"deploy.burnin_cpu", "deploy.erase_devices", "deploy.erase_devices"}, 2, 2},
		{[]string{"deploy.burnin_cpu", "deploy.erase_devices", "deploy.erase_devices"}, 1, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := startMachine(t, states.Manageable, nil)
			m.clean(test.steps...)
			m.boot()
			for range test.ended - 1 {
				m.end("SUCCEEDED", "")
			}
			m.heard()
			lost := false
			m.set(func(a *agentProgram) {
				a.accepted = func(_ *http.Request, _ string, command map[string]any) {
					if !lost {
						lost, command["command_status"] = true, "SUCCEEDED"
						panic(http.ErrAbortHandler)
					}
				}
			})
			m.end("SUCCEEDED", "")
			require.Len(t, m.heard(), test.sent, "%v", test)
		})
	}
}

func TestAStepThatNeitherTheDriverNorTheAgentHasFailsTheCleaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.clean("deploy.no_such_step")
		m.requireState(m.boot(), states.CleanFail,
			"Node failed to start the first cleaning step: node does not support this clean step: {'interface': 'deploy', 'step': 'no_such_step'}")
	})
}

func TestAStepThatRequiresARebootBootsTheAgentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		reboots := step("reboot_between", 0)
		reboots["reboot_requested"] = true
		m.set(func(a *agentProgram) { a.steps["clean"] = append(a.steps["clean"], reboots) })
		m.clean("deploy.reboot_between", "deploy.erase_devices")
		m.boot()
		first, boots := m.token, 0
		m.before(func(_ context.Context, _ *conductor.Node, operation string) error {
			if operation == "prepare" {
				boots++
			}
			return nil
		})
		n := m.end("SUCCEEDED", "")
		m.requireState(n, states.CleanWait, "")
		require.Equal(t, "deploy.reboot_between", n.Step().String())
		require.Equal(t, 1, boots)
		require.ErrorIs(t, m.Heartbeat(m.ctx, m.n.UUID, conductor.Heartbeat{
			From:         agentAt,
			CallbackURL:  "http://10.0.0.7:9999",
			AgentVersion: "9",
			AgentToken:   first,
		}), conductor.Invalid)
		m.heard()
		m.requireState(m.boot(), states.CleanWait, "")
		require.NotEqual(t, first, m.token)
		require.Equal(t, []string{"execute_clean_step erase_devices"}, m.heard())
		m.requireState(m.end("SUCCEEDED", ""), states.Manageable, "")
	})
}

func TestAFailedStepOfTheAgentFailsTheWorkWithIronicsText(t *testing.T) {
	for _, test := range []struct{ status, text string }{
		{"FAILED", "Clean step deploy.erase_devices failed on node %s. /dev/sda is frozen"},
		{"STRANGE", "Agent returned unknown status for clean step deploy.erase_devices on node %s : STRANGE."},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := startMachine(t, states.Manageable, nil)
			m.clean("deploy.erase_devices")
			m.boot()
			n := m.end(test.status, "/dev/sda is frozen")
			m.requireState(n, states.CleanFail, fmt.Sprintf(test.text, m.n.UUID))
			require.True(t, n.Maintenance)
			require.Equal(t, "clean failure", n.Fault)
			m.requireForgotten(n)
			require.Equal(t, []string{"ERROR cleaning"}, m.entries(n))
		})
	}
}

func TestAMismatchOfVersionsRestartsAnAutomatedCleaningAndRepeatsAManualStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.request(m.n, "provide")
		m.settle(m.n)
		m.boot()
		m.end("SUCCEEDED", "")
		m.heard()
		m.requireState(m.end("CLEAN_VERSION_MISMATCH", ""), states.CleanWait, "")
		require.Equal(t, []string{"get_clean_steps", "get_clean_steps", "execute_clean_step erase_devices_metadata"}, m.heard())
	})
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.clean("deploy.erase_devices_metadata", "deploy.erase_devices")
		m.boot()
		m.end("SUCCEEDED", "")
		m.heard()
		m.requireState(m.end("VERSION_MISMATCH", ""), states.CleanWait, "")
		require.Equal(t, []string{"get_clean_steps", "execute_clean_step erase_devices"}, m.heard())
		m.requireState(m.end("SUCCEEDED", ""), states.Manageable, "")
	})
}

func TestAnAbortEndsACleaningThatAMismatchOfVersionsWouldRepeat(t *testing.T) {
	for _, manual := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := startMachine(t, states.Manageable, nil)
			first := step("first", 100)
			first["abortable"] = false
			m.set(func(a *agentProgram) { a.steps["clean"] = append(a.steps["clean"], first) })
			if manual {
				m.clean("deploy.first", "deploy.erase_devices")
			} else {
				m.request(m.n, "provide")
				m.settle(m.n)
			}
			m.requireState(m.boot(), states.CleanWait, "")
			m.request(m.n, "abort")
			steps := m.settle(m.n).CleanSteps
			require.Equal(t, "deploy.first", steps.Current.String())
			require.True(t, steps.AbortAfter)
			m.requireState(m.end("VERSION_MISMATCH", ""), states.CleanFail,
				`By request, the clean operation was aborted during or after the completion of step "deploy.first"`)
		})
	}
}

// An agent that has a token from before its boot sends heartbeats also when it has started without the conductor.
func TestAnAgentThatRestartsInAStepHasNotDoneIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.clean("deploy.erase_devices")
		m.boot()
		m.set(func(a *agentProgram) { a.commands = nil })
		m.requireState(m.beat(), states.CleanFail,
			"Clean step deploy.erase_devices failed on node "+m.n.UUID+". The agent has restarted before it reported the end of the step.")
	})
}

func TestABusyAgentIsAskedAgainAtItsNextHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.clean("deploy.erase_devices")
		m.set(func(a *agentProgram) { a.busy = true })
		m.requireState(m.boot(), states.CleanWait, "")
		require.Empty(t, m.heard())
		m.set(func(a *agentProgram) { a.busy = false })
		m.requireState(m.beat(), states.CleanWait, "")
		require.Equal(t, []string{"get_clean_steps", "execute_clean_step erase_devices"}, m.heard())
		m.requireState(m.end("SUCCEEDED", ""), states.Manageable, "")
	})
}

func TestAnAgentThatDoesNotAnswerFailsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.clean("deploy.erase_devices")
		m.boot()
		m.set(func(a *agentProgram) { a.silent = true })
		m.requireState(m.beat(), states.CleanFail, "Node failed to check cleaning progress: Connection to agent failed: "+
			"Failed to connect to the agent running on node "+m.n.UUID+" to collect commands status. Error: connection refused")
	})
}

func TestHeartbeatsPostponeTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.clean("deploy.erase_devices")
		m.boot()
		for range 4 {
			bubble.Sleep(20 * time.Minute)
			m.requireState(m.beat(), states.CleanWait, "")
		}
		bubble.Sleep(40 * time.Minute)
		require.Equal(t, states.CleanFail, m.settle(m.n).ProvisionState)
	})
}

func TestADirectDeploymentMatchesTheRecordedExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Available, nil)
		m.request(m.n, "active")
		m.requireState(m.settle(m.n), states.DeployWait, "")
		m.requireState(m.boot(), states.DeployWait, "")
		require.Equal(t, []string{"get_deploy_steps", "execute_deploy_step write_image"}, m.heard())
		params := m.agent.params[1]
		require.Equal(t, map[string]any{"image_info": map[string]any{
			"id": "x.raw", "urls": []any{"http://images.example/x.raw"}, "disk_format": "raw", "container_format": nil, "stream_raw_images": true,
			"os_hash_algo": "sha256", "os_hash_value": "5f8f", "node_uuid": m.n.UUID, "configdrive": "H4sI",
		}, "configdrive": "H4sI"}, params["step"].(map[string]any)["args"])
		require.Equal(t, "H4sI", params["node"].(map[string]any)["instance_info"].(map[string]any)["configdrive"],
			"the agent's deploy steps need it")

		require.NoError(t, m.Heartbeat(m.ctx, m.n.UUID, conductor.Heartbeat{
			From:         agentAt,
			CallbackURL:  "http://10.0.0.7:9999",
			AgentVersion: "9.4.3",
			AgentToken:   m.token,
		}))
		synctest.Wait() // a heartbeat has no effect while the conductor works on the one before
		m.set(func(a *agentProgram) { a.commands[1]["command_status"] = "SUCCEEDED" })
		m.beat()
		bubble.Sleep(time.Minute) // fake-hardware does not go off by itself
		n := m.settle(m.n)
		m.requireState(n, states.Active, "")
		require.Equal(t, []string{"get_partition_uuids", "install_bootloader", "power_off"}, m.heard())
		require.Equal(t, states.PowerOn, n.Power)
		require.Equal(t, "0x6f7cc4a8", n.Deployment.Root)
		m.requireForgotten(n)
	})
}

func TestAConfigurationDriveThatTheDriverCannotBuildFailsTheDeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Available, nil)
		r := m.provision("active")
		r.ConfigDrive = map[string]any{"user_data": "hunter2"}
		require.NoError(t, m.Provision(m.ctx, m.n.UUID, r))
		require.Equal(t, states.DeployWait, m.settle(m.n).ProvisionState)
		m.requireState(m.boot(), states.DeployFail,
			"Deploy step deploy.write_image failed: Driver fake-hardware cannot build the configuration drive of node "+m.n.UUID+
				" from an object. It can write an image, gzipped and in base64, or its URL..")
		require.Equal(t, []string{"get_deploy_steps"}, m.heard())
	})
}

func TestADeploymentHasTheAgentsSteps(t *testing.T) {
	deploy := func(m *agentNode, name string) *conductor.Node {
		priority := 85
		r := m.provision("active")
		r.DeploySteps = []conductor.StepRequest{{Interface: "deploy", Step: name, Priority: &priority}}
		require.NoError(m.t, m.Provision(m.ctx, m.n.UUID, r))
		m.requireState(m.settle(m.n), states.DeployWait, "")
		return m.boot()
	}
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Available, nil)
		m.requireState(deploy(m, "inject_files"), states.DeployWait, "")
		require.Equal(t, []string{"get_deploy_steps", "execute_deploy_step inject_files"}, m.heard())
		m.requireState(m.end("SUCCEEDED", ""), states.DeployWait, "")
		require.Equal(t, []string{"execute_deploy_step write_image"}, m.heard())
		m.requireState(m.end("FAILED", "no space"), states.DeployFail, "Deploy step deploy.write_image failed on node "+m.n.UUID+". no space")
	})
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Available, nil)
		m.requireState(deploy(m, "no_such_step"), states.DeployFail, "Failed to validate the final deploy steps list for node "+m.n.UUID+
			`: Validation of deploy steps from "deploy steps" argument failed.node does not support this deploy step: `+
			`{'interface': 'deploy', 'step': 'no_such_step', 'priority': 85}`)
	})
}

func TestAHeartbeatFromAnotherAgentIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.clean("deploy.erase_devices")
		_, token, err := m.Lookup(m.ctx, agentAt, nil, m.n.UUID)
		require.NoError(t, err)
		beat := conductor.Heartbeat{
			From:          agentAt,
			CallbackURL:   "http://10.0.0.7:9999",
			AgentVersion:  "9",
			AgentToken:    token,
			AgentVerifyCA: "one",
		}
		m.set(func(a *agentProgram) { a.busy, a.token = true, token })
		_, err = m.UpdateNode(m.ctx, m.n.UUID, func(n *conductor.Node) error {
			n.Agent.URL, n.Agent.VerifyCA = "http://10.0.0.7:9999", "one"
			return nil
		})
		require.NoError(t, err)
		other := beat
		other.CallbackURL = "http://elsewhere:9999"
		require.ErrorIs(t, m.Heartbeat(m.ctx, m.n.UUID, other), conductor.Invalid)
		other = beat
		other.AgentVerifyCA = "another"
		require.ErrorIs(t, m.Heartbeat(m.ctx, m.n.UUID, other), conductor.Invalid)
		require.NoError(t, m.Heartbeat(m.ctx, m.n.UUID, beat))
	})
	synctest.Test(t, func(t *testing.T) { // a state that allows none
		var log lockedBuffer
		m := startMachine(t, states.Active, func(c *conductor.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		_, err := m.UpdateNode(m.ctx, m.n.UUID, func(n *conductor.Node) error {
			n.Agent.Token = "left"
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, m.Heartbeat(m.ctx, m.n.UUID, conductor.Heartbeat{
			From:         agentAt,
			CallbackURL:  "http://10.0.0.7:9999",
			AgentVersion: "9",
			AgentToken:   "left",
		}))
		require.Equal(t, conductor.AgentInfo{Token: "left"}, m.settle(m.n).Agent)
		require.Contains(t, log.String(), `level=WARN msg="an agent has sent a heartbeat in a state that allows none" node=`+m.n.UUID)
	})
}

func TestACleaningThatWaitsForItsAgentCanBeAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, nil)
		m.clean("deploy.erase_devices")
		m.boot()
		m.request(m.n, "abort")
		n := m.settle(m.n)
		m.requireState(n, states.CleanFail,
			`By request, the clean operation was aborted during or after the completion of step "deploy.erase_devices"`)
		m.requireForgotten(n)
	})
}
