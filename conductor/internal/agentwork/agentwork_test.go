// SPDX-License-Identifier: Apache-2.0

package agentwork

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/states"
)

// task is a [Task], and the agent, which notes what the package does. The call with the name in fails returns
// errFailed.
type task struct {
	node     Node
	silent   bool // no agent can be reached
	busy     bool // the agent does not tell its steps
	commands []agent.Command
	power    states.Power
	fails    string
	calls    []string
	log      bytes.Buffer
}

var (
	errFailed  = errors.New("it fails")
	errNoAgent = errors.New("no heartbeat has come")
)

func (t *task) call(name string) error {
	t.calls = append(t.calls, name)
	if name == t.fails {
		return errFailed
	}
	return nil
}

func (t *task) Node() Node { return t.node }
func (t *task) Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(&t.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
func (t *task) Agent() (Agent, error) {
	if t.silent {
		return nil, errNoAgent
	}
	return t, nil
}
func (t *task) Machine(context.Context) (agent.Machine, error) {
	return agent.Machine{Node: "record"}, t.call("machine")
}
func (t *task) NoteSteps(_ context.Context, found agent.Steps) error {
	return t.call(fmt.Sprint("note steps of version ", found.Versions["x"]))
}
func (t *task) NoteResult(_ context.Context, result json.RawMessage) error {
	return t.call("note " + string(result))
}
func (t *task) Reboot(context.Context) error       { return t.call("reboot") }
func (t *task) CleanUpAgent(context.Context) error { return t.call("clean up") }
func (t *task) ForgetAgent(context.Context) error  { return t.call("forget") }
func (t *task) ReadPower(context.Context) (states.Power, error) {
	return t.power, t.call("read")
}

func (t *task) Commands(context.Context) ([]agent.Command, error) {
	return t.commands, t.call("commands")
}
func (t *task) Steps(_ context.Context, w agent.Work, m agent.Machine) (agent.Steps, error) {
	err := t.call(fmt.Sprint("steps for ", w, " of the ", m.Node))
	if t.busy {
		err = fmt.Errorf("later: %w", agent.ErrBusy)
	}
	return agent.Steps{Versions: map[string]any{"x": 1}}, err
}
func (t *task) FinalizeRescue(_ context.Context, hash string) error {
	return t.call("rescue with " + hash)
}

// TestEachVerdictHasItsConsequence has each verdict about each step of each work.
func TestEachVerdictHasItsConsequence(t *testing.T) {
	outcomes := map[Outcome]int{}
	for v := agent.Wait; v <= agent.Fail; v++ {
		for flags := range 8 {
			automated, aborted, reboots := flags&1 != 0, flags&2 != 0, flags&4 != 0
			got := decide(Node{Automated: automated, AbortAfter: aborted, Step: &Step{RebootRequested: reboots}}, v)
			require.Equal(t, v == agent.Done, got.noted, "%v %03b", v, flags)
			require.Equal(t, v == agent.Done && reboots, got.reboots, "%v %03b", v, flags)
			require.Equal(t, v == agent.Mismatch, got.readsSteps, "%v %03b", v, flags)
			want := map[agent.Verdict]Outcome{agent.Booted: Resume, agent.Repeat: Repeat, agent.Done: Resume, agent.Mismatch: Repeat}[v]
			switch {
			case v == agent.Done && reboots: // it continues when the agent has booted
				want = Unchanged
			case v == agent.Mismatch && automated && !aborted:
				want = Restart
			}
			require.Equal(t, want, got.outcome, "%v %03b", v, flags)
			outcomes[got.outcome]++
		}
	}
	require.Len(t, outcomes, 4, outcomes)
}

// command returns a command of an agent for a deployment.
func command(name string, status agent.Status) agent.Command {
	return agent.Command{
		Name: name, Status: status, Error: json.RawMessage(`{"details": "no disk"}`),
		Result: json.RawMessage(`{"deploy_step": {"interface": "raid", "step": "apply"}}`),
	}
}

func TestAnAgentsAnswerContinuesOrFailsTheWork(t *testing.T) {
	const readSteps, done = "steps for deploy of the record", `note {"deploy_step": {"interface": "raid", "step": "apply"}}`
	sent := Step{Current: agent.Current{Name: agent.StepName{Interface: "raid", Step: "apply"}, InBand: true, Sent: true}}
	reboots := sent
	reboots.RebootRequested = true
	deployment := func(step *Step, hasSteps bool) Node {
		return Node{
			UUID: "1be2", Work: agent.Deploy, Noun: "deployment", Progress: "No progress", BootsInStep: true, HasSteps: hasSteps, Step: step,
		}
	}
	executed := func(status agent.Status) []agent.Command {
		return []agent.Command{command("get_deploy_steps", agent.Succeeded), command("execute_deploy_step", status)}
	}
	type calls = []string
	for name, test := range map[string]struct {
		task  task
		calls calls
		want  Outcome
		text  string // of the error; empty for none
	}{
		"a cleaning that begins": {task{node: Node{Work: agent.Clean}}, nil, Resume, ""},
		"a cleaning in a step": {
			task{node: Node{Work: agent.Clean, Step: &sent}, commands: executed(agent.Running)}, calls{"commands"}, Unchanged, "",
		},
		"a deployment that begins": {
			task{node: deployment(&Step{}, false), commands: executed(agent.Succeeded)[:1]},
			calls{"machine", readSteps, "note steps of version 1", "commands"}, Resume, "",
		},
		"steps that a busy agent does not tell": {
			task{node: deployment(&Step{}, false), busy: true}, calls{"machine", readSteps}, Unchanged, "",
		},
		"steps that the agent does not tell": {
			task{node: deployment(&Step{}, false), fails: readSteps}, calls{"machine", readSteps}, Unchanged,
			"Failed to load in-band deploy steps: it fails",
		},
		"a record that cannot be sent": {
			task{node: deployment(&Step{}, false), fails: "machine"}, calls{"machine"}, Unchanged,
			"Failed to load in-band deploy steps: it fails",
		},
		"steps that are not stored": {
			task{node: deployment(&Step{}, false), fails: "note steps of version 1"}, calls{"machine", readSteps, "note steps of version 1"},
			Unchanged, "Failed to load in-band deploy steps: it fails",
		},
		"no agent at the beginning": {
			task{node: deployment(&Step{}, false), silent: true}, nil, Unchanged,
			"Failed to load in-band deploy steps: no heartbeat has come",
		},
		"no agent": {task{node: deployment(&sent, true), silent: true}, nil, Unchanged, "No progress: no heartbeat has come"},
		"commands that the agent does not tell": {
			task{node: deployment(&sent, true), fails: "commands"}, calls{"commands"}, Unchanged, "No progress: it fails",
		},
		"a step that runs": {task{node: deployment(&sent, true), commands: executed(agent.Running)}, calls{"commands"}, Unchanged, ""},
		"a step that was not sent": {
			task{node: deployment(&Step{Current: agent.Current{InBand: true}}, true)}, calls{"commands"}, Repeat, "",
		},
		"a step that has failed": {
			task{node: deployment(&sent, true), commands: executed(agent.Failed)}, calls{"commands"}, Unchanged,
			"Deploy step raid.apply failed on node 1be2. no disk",
		},
		"a step that is done": {task{node: deployment(&sent, true), commands: executed(agent.Succeeded)}, calls{"commands", done}, Resume, ""},
		"a step that is done, and a question since": {
			task{node: deployment(&sent, true), commands: append(executed(agent.Succeeded), command("get_deploy_steps", agent.Succeeded))},
			calls{"commands", done}, Resume, "",
		},
		"a result that cannot be used": {
			task{node: deployment(&reboots, true), commands: executed(agent.Succeeded), fails: done}, calls{"commands", done}, Unchanged,
			"For node 1be2, the result of deploy step raid.apply cannot be used: it fails",
		},
		"a step with a reboot": {
			task{node: deployment(&reboots, true), commands: executed(agent.Succeeded)}, calls{"commands", done, "reboot"}, Unchanged, "",
		},
		"a reboot that fails": {
			task{node: deployment(&reboots, true), commands: executed(agent.Succeeded), fails: "reboot"},
			calls{"commands", done, "reboot"}, Unchanged, "Reboot requested by deploy step raid.apply failed for node 1be2: it fails",
		},
		"other hardware managers": {
			task{node: deployment(&sent, true), commands: executed(agent.VersionMismatch)},
			calls{"commands", "machine", readSteps, "note steps of version 1"}, Repeat, "",
		},
		"other hardware managers of a busy agent": {
			task{node: deployment(&sent, true), commands: executed(agent.VersionMismatch), busy: true},
			calls{"commands", "machine", readSteps}, Unchanged, "Could not continue deployment on node 1be2: later: the agent is busy.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Answer(t.Context(), &test.task)
			if test.text == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.text)
			}
			require.Equal(t, test.want, got)
			require.Equal(t, test.calls, test.task.calls)
			told := slices.Contains(test.calls, "commands") && test.task.fails != "commands"
			require.Equal(t, told, strings.Contains(test.task.log.String(), "the agent was asked"))
		})
	}
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

func TestARescueEndsWithTheHashOfItsPassword(t *testing.T) {
	const instance = "Node failed to perform rescue operation: Failed to rescue instance i for node 1be2: "
	for name, test := range map[string]struct {
		task  task
		calls []string
		want  Outcome
		text  string
	}{
		"it succeeds":           {task{}, []string{"rescue with h", "clean up"}, Rescued, ""},
		"no agent":              {task{silent: true}, nil, Unchanged, instance + "no heartbeat has come"},
		"an agent that refuses": {task{fails: "rescue with h"}, []string{"rescue with h"}, Unchanged, instance + "it fails"},
		"a CD that stays in": {
			task{fails: "clean up"}, []string{"rescue with h", "clean up"}, Unchanged, "Node failed to perform rescue operation: it fails",
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.task.node = Node{UUID: "1be2", Instance: "i", RescuePasswordHash: "h"}
			got, err := FinishRescue(t.Context(), &test.task)
			if test.text == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.text)
			}
			require.Equal(t, test.want, got)
			require.Equal(t, test.calls, test.task.calls)
		})
	}
}

func TestAnAgentThatRunsDoesTheNextWorkOrIsForgotten(t *testing.T) {
	const readSteps = "steps for clean of the record"
	heard := Node{Heard: true, Work: agent.Clean}
	for name, test := range map[string]struct {
		task  task
		calls []string
		takes bool
		err   error
	}{
		"it is idle": {
			task{node: heard, power: states.PowerOn}, []string{"read", "machine", readSteps, "note steps of version 1"}, true, nil,
		},
		"it has not been heard": {task{}, []string{"forget"}, false, nil},
		"the machine is off":    {task{node: heard, power: states.PowerOff}, []string{"read", "forget"}, false, nil},
		"the BMC does not answer": {
			task{node: heard, power: states.PowerOn, fails: "read"}, []string{"read", "forget"}, false, nil,
		},
		"it is busy": {
			task{node: heard, power: states.PowerOn, busy: true}, []string{"read", "machine", readSteps, "forget"}, false, nil,
		},
		"it cannot be forgotten": {task{fails: "forget"}, []string{"forget"}, false, errFailed},
	} {
		t.Run(name, func(t *testing.T) {
			takes, err := FastTrack(t.Context(), &test.task)
			require.ErrorIs(t, err, test.err)
			require.Equal(t, test.takes, takes)
			require.Equal(t, test.calls, test.task.calls)
			require.Equal(t, test.task.busy, strings.Contains(test.task.log.String(), "an agent that runs cannot do the next work"))
		})
	}
}
