// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/internal/agentwork"
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

// TestTheOutcomeOfAnAgentsAnswerContinuesTheWork has each outcome for a cleaning that waits in its second step.
func TestTheOutcomeOfAnAgentsAnswerContinuesTheWork(t *testing.T) {
	b := &rulebook{config: &Config{Table: states.Latest().Table(), MaxTransitions: 10}}
	second := &Step{Interface: "deploy", Step: "erase_devices", InBand: true}
	planned := []Step{{Interface: "bios", Step: "apply"}, *second}
	for outcome, want := range map[agentwork.Outcome]struct {
		state states.State
		steps Steps
		hash  string
	}{
		agentwork.Unchanged: {states.CleanWait, Steps{Planned: planned, Begun: 2, Current: second, Sent: true}, "h"},
		agentwork.Resume:    {states.Cleaning, Steps{Planned: planned, Begun: 2, Current: second, Sent: true}, "h"},
		agentwork.Repeat:    {states.Cleaning, Steps{Planned: planned, Begun: 1, Current: second}, "h"},
		agentwork.Restart:   {states.Cleaning, Steps{Prepared: true}, "h"},
		agentwork.Rescued:   {states.Cleaning, Steps{Planned: planned, Begun: 2, Current: second, Sent: true}, ""},
	} {
		n := &Node{
			ProvisionState: states.CleanWait, TargetProvisionState: states.Available, InstanceInfo: map[string]any{"hashed_rescue_password": "h"},
			CleanSteps: &Steps{Planned: planned, Begun: 2, Current: second, Sent: true},
		}
		require.NoError(t, b.answered(n, outcome, now()))
		hash, _ := n.InstanceInfo["hashed_rescue_password"].(string)
		require.Equal(t, want.state, n.ProvisionState, outcome)
		require.Equal(t, want.steps, *n.CleanSteps, outcome)
		require.Equal(t, want.hash, hash, outcome)
	}
}
