// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/states"
)

// TestTheRecordOfANodeDecidesAboutAHeartbeat has each series, state, reservation and maintenance.
func TestTheRecordOfANodeDecidesAboutAHeartbeat(t *testing.T) {
	ends := map[states.State]string{ // in maintenance, by _heartbeat_in_maintenance in ironic/drivers/modules/agent_base.py
		states.DeployWait: "Deploy aborted as node is in maintenance mode",
		states.CleanWait:  "Cleaning aborted as node is in maintenance mode",
		states.RescueWait: "Rescue aborted as node is in maintenance mode",
	}
	waits := states.SetOf(states.DeployWait, states.CleanWait, states.RescueWait, states.ServiceWait)
	decided := map[heartbeatEffect]int{}
	for series := range states.AllSeries() {
		for _, continues := range []bool{false, true} { // work in maintenance
			b := &rulebook{config: &Config{Table: series.Table(), NoProvisioningInMaintenance: !continues}}
			for s := range series.Table().States().All() {
				for _, reservation := range []string{"", "beta"} {
					for _, maintenance := range []bool{false, true} {
						want, failure := heartbeatEffect(""), ""
						switch {
						case reservation != "":
							want = heartbeatReserved
						case !waits.Has(s):
							want = heartbeatNotAwaited
						case maintenance && !continues && series >= states.Train && ends[s] != "":
							want, failure = heartbeatResumes, ends[s]
						case maintenance:
							want = heartbeatMaintenance
						}
						n := &Node{ProvisionState: s, Reservation: reservation, Maintenance: maintenance}
						effect, err := b.heartbeatByRecord(n)
						require.Equal(t, want, effect, "%v of %v: %+v", s, series, n)
						if failure == "" {
							require.NoError(t, err)
						} else {
							require.EqualError(t, err, failure)
						}
						decided[effect]++
					}
				}
			}
		}
	}
	require.Len(t, decided, 5, decided)
}

// TestTheAnswersOfTheHardwareTypeDecideAboutAHeartbeat has each status of an agent and each answer.
func TestTheAnswersOfTheHardwareTypeDecideAboutAHeartbeat(t *testing.T) {
	decided := map[heartbeatEffect]int{}
	for _, status := range []string{"", "start", "end", "error"} {
		for _, simulated := range []bool{false, true} {
			for _, consults := range []bool{false, true} {
				for _, waitsBuiltIn := range []bool{false, true} {
					effect, failure := heartbeatByAnswers(Heartbeat{AgentStatus: status, AgentStatusMessage: "no disk"}, simulated, consults, waitsBuiltIn)
					want := heartbeatTellsNobody
					switch {
					case waitsBuiltIn, !consults && (simulated || status == "error"):
						want = heartbeatResumes
					case consults:
						want = heartbeatConsults
					}
					require.Equal(t, want, effect, "%q %v %v %v", status, simulated, consults, waitsBuiltIn)
					if status == "error" && !consults {
						require.EqualError(t, failure, "the agent reported an error: no disk")
					} else {
						require.NoError(t, failure)
					}
					decided[effect]++
				}
			}
		}
	}
	require.Len(t, decided, 3, decided)
}

func TestTheQuestionsForItsStepsSayNothingOfTheStepThatAnAgentWasSent(t *testing.T) {
	list := func(names ...string) (commands []agent.Command) {
		for _, name := range names {
			command := agent.Command{Name: strings.TrimSuffix(name, " runs"), Status: agent.Succeeded}
			if command.Name != name {
				command.Status = agent.Running
			}
			commands = append(commands, command)
		}
		return commands
	}
	for _, test := range []struct{ commands, want []agent.Command }{
		{nil, nil},
		{list("get_deploy_steps", "get_deploy_steps"), nil}, // it has just started
		{list("get_deploy_steps", "execute_deploy_step"), list("get_deploy_steps", "execute_deploy_step")},
		{list("execute_deploy_step", "get_deploy_steps", "get_deploy_steps"), list("execute_deploy_step")},
		{list("execute_deploy_step", "get_deploy_steps runs"), list("execute_deploy_step", "get_deploy_steps runs")}, // it is busy
		{list("execute_clean_step", "get_clean_steps", "get_deploy_steps"), list("execute_clean_step", "get_clean_steps")},
	} {
		require.Equal(t, test.want, upToStep(agent.Deploy, test.commands))
	}
}
