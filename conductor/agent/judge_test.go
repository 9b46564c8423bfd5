// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
)

// TestJudgeForEveryListOfCommands judges each list of up to three commands of every name, status and result, for each
// kind of work and each current step.
func TestJudgeForEveryListOfCommands(t *testing.T) {
	current := agent.StepName{Interface: "deploy", Step: "erase"}
	for _, w := range []agent.Work{agent.Clean, agent.Deploy, agent.Service} {
		var all []agent.Command
		for _, name := range []string{fmt.Sprintf("get_%s_steps", w), fmt.Sprintf("execute_%s_step", w), "power_off"} {
			for _, status := range []agent.Status{
				agent.Running, agent.Succeeded, agent.Failed, agent.CleanVersionMismatch, agent.VersionMismatch, "STRANGE", "",
			} {
				for _, result := range []string{
					"null", `{"X_step": {"interface": "deploy", "step": "erase", "priority": 1}}`,
					`{"X_step": {"interface": "raid", "step": "erase"}}`, `{"X_step": {"interface": "deploy", "step": "x"}}`, `{"X_step": 1}`, `7`,
				} {
					text := json.RawMessage(result)
					if result != "null" && result != "7" {
						text = json.RawMessage(`{"` + string(w) + `_step` + result[len(`{"X_step`):])
					}
					all = append(all, agent.Command{Name: name, Status: status, Error: json.RawMessage(`{"details": "bad disk"}`), Result: text})
				}
			}
		}
		lists := [][]agent.Command{nil}
		for _, last := range all {
			lists = append(lists, []agent.Command{last})
			for _, first := range all {
				lists = append(lists, []agent.Command{first, last})
			}
		}
		lists = append(lists, []agent.Command{all[0], all[1], all[2]})
		for _, commands := range lists {
			for flags := range 8 {
				c := agent.Current{Name: current, InBand: flags&1 != 0, Sent: flags&2 != 0, Rebooted: flags&4 != 0}
				v, reason := agent.Judge(w, node, c, commands)
				require.Equal(t, v == agent.Fail, reason != "")
				require.Equal(t, wanted(w, c, commands), v, "%s %+v %v", w, c, commands)
			}
		}
	}
}

// wanted states the rules one by one.
func wanted(w agent.Work, c agent.Current, commands []agent.Command) agent.Verdict {
	fresh := true // a conductor may ask for the steps again after another one has died
	for _, command := range commands {
		fresh = fresh && command.Name == fmt.Sprintf("get_%s_steps", w)
	}
	switch {
	case fresh && c.InBand && !c.Sent:
		return agent.Repeat
	case fresh && (!c.Sent || c.Rebooted):
		return agent.Booted
	case fresh:
		return agent.Fail
	}
	last := commands[len(commands)-1]
	if last.Name != fmt.Sprintf("execute_%s_step", w) || !c.Sent && !c.Rebooted {
		if c.InBand && !c.Sent && last.Status != agent.Running {
			return agent.Repeat
		}
		return agent.Wait
	}
	isCurrent := string(last.Result) == fmt.Sprintf(`{"%s_step": {"interface": "deploy", "step": "erase", "priority": 1}}`, w)
	v := map[agent.Status]agent.Verdict{
		agent.Running: agent.Wait, agent.Failed: agent.Fail, agent.CleanVersionMismatch: agent.Mismatch, agent.VersionMismatch: agent.Mismatch,
		agent.Succeeded: map[bool]agent.Verdict{false: agent.Wait, true: agent.Done}[isCurrent], "STRANGE": agent.Fail, "": agent.Fail,
	}[last.Status]
	if v == agent.Wait && c.InBand && !c.Sent && last.Status != agent.Running {
		return agent.Repeat
	}
	return v
}

func TestAFailedStepHasIronicsText(t *testing.T) {
	for _, test := range []struct{ failure, want string }{
		{`{"type": "x", "code": 500, "message": "m", "details": "Error erasing /dev/sda"}`, "Error erasing /dev/sda"},
		{`{"message": "m", "details": ""}`, "m"},
		{`{"code": 500}`, "{'code': 500}"},
		{`"a text"`, "a text"},
		{`null`, "Invalid agent response"},
		{``, "Invalid agent response"},
		{`{"details": "a\u001b[2Jb\u202ec"}`, "a [2Jbc"},
	} {
		commands := []agent.Command{{Name: "get_clean_steps"},
			{Name: "execute_clean_step", Status: agent.Failed, Error: json.RawMessage(test.failure)}}
		v, reason := agent.Judge(agent.Clean, node, agent.Current{Name: agent.StepName{Interface: "deploy", Step: "erase"}, Sent: true}, commands)
		require.Equal(t, agent.Fail, v)
		require.Equal(t, "Clean step deploy.erase failed on node "+node+". "+test.want, reason)
	}
}

func TestVerdictsHaveNames(t *testing.T) {
	require.Equal(t, "fail", agent.Fail.String())
	require.Equal(t, "Verdict(6)", (agent.Fail + 1).String())
}
