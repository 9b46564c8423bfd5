// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/internal/pyrepr"
)

// Verdict is the meaning of an agent's commands for the step that a node waits for.
type Verdict uint8

const (
	// Wait: the step runs, or the agent has not begun it. The next heartbeat tells more.
	Wait Verdict = iota
	// Booted: the agent was only asked for its steps since it has started, and the step was none of its own, or ended with
	// a reboot. The node's work continues.
	Booted
	// Repeat: the agent was busy when the step was sent. It is sent again.
	Repeat
	// Done: the agent has done the step.
	Done
	// Mismatch: the agent's hardware managers have other versions than those from which its steps were read, so it has
	// not begun the step.
	Mismatch
	// Fail: the step has failed.
	Fail
)

var verdicts = [...]string{Wait: "wait", Booted: "booted", Repeat: "repeat", Done: "done", Mismatch: "mismatch", Fail: "fail"}

func (v Verdict) String() string {
	if int(v) < len(verdicts) {
		return verdicts[v]
	}
	return fmt.Sprintf("Verdict(%d)", uint8(v))
}

// Current is the step that a node waits for.
type Current struct {
	Name     StepName
	InBand   bool // the agent executes the step
	Sent     bool // the agent has accepted the step
	Rebooted bool // the step requires a reboot, and a conductor has recorded that it begins with it
}

// Judge decides by the commands of a node's agent, the oldest first, whether the current step goes on, succeeds or
// fails. The reason is the node's last error if the verdict is Fail.
//
// Judge differs from Ironic in one case: an agent that was sent a step, and knows nothing of it, has restarted, and
// the step has failed. Ironic continues with the next step.
//
// Source: process_next_step in ironic/drivers/modules/agent_base.py.
func Judge(w Work, node string, current Current, commands []Command) (v Verdict, reason string) {
	v, reason = judge(w, node, current.Name, current.Sent && !current.Rebooted, commands)
	if v == Wait && current.Rebooted { // the conductor has died before the reboot, or the machine has not gone down yet
		v, reason = judge(w, node, current.Name, true, commands)
	}
	if current.InBand && !current.Sent && (v == Booted || v == Wait && commands[len(commands)-1].Status != Running) {
		v = Repeat
	}
	return v, reason
}

// judge is Judge for a step that the agent has accepted since the machine booted last, or has not.
func judge(w Work, node string, current StepName, sent bool, commands []Command) (v Verdict, reason string) {
	executed := func(c Command) bool { return c.Name != "get_"+string(w)+"_steps" }
	if !slices.ContainsFunc(commands, executed) {
		if sent {
			return Fail, fmt.Sprintf("%s step %v failed on node %s. The agent has restarted before it reported the end of the step.",
				w.title(), current, node)
		}
		return Booted, ""
	}
	last := commands[len(commands)-1]
	if last.Name != "execute_"+string(w)+"_step" || !sent {
		return Wait, ""
	}
	switch last.Status {
	case Running:
		return Wait, ""
	case Succeeded:
		if last.step(w) == current {
			return Done, ""
		}
		return Wait, "" // the result of an earlier step
	case Failed:
		return Fail, fmt.Sprintf("%s step %v failed on node %s. %s", w.title(), current, node, last.Failure())
	case CleanVersionMismatch, VersionMismatch:
		return Mismatch, ""
	default:
		return Fail, fmt.Sprintf("Agent returned unknown status for %s step %v on node %s : %s.", w, current, node,
			errtext.Clean(string(last.Status)))
	}
}

// failed returns an error that matches [ErrFailed] unless a command has succeeded.
func (c *Client) failed(method string, command Command) error {
	switch command.Status {
	case Succeeded:
		return nil
	case Failed:
		return c.failure(ErrFailed, 0, nil, "%s", command.Failure())
	default:
		return c.invalidAnswer("The agent on node %s reports the status %q of the command %s.", c.config.Node,
			command.Status, method)
	}
}

// Failure returns the reason why a command has failed: the details of its error, its message, or all of it. The text
// has at most 2048 bytes.
//
// Source: get_command_error in ironic/drivers/modules/agent_client.py.
func (c Command) Failure() string {
	var value any
	if err := json.Unmarshal(c.Error, &value); err != nil || value == nil {
		return "Invalid agent response"
	}
	if object, ok := value.(map[string]any); ok {
		for _, key := range []string{"details", "message"} {
			if text, _ := object[key].(string); text != "" {
				return errtext.Clean(text)
			}
		}
	}
	if text, ok := value.(string); ok {
		return errtext.Clean(text)
	}
	return errtext.Clean(pyrepr.Of(value))
}

// step returns the interface and the name of the step in the result of execute_X_step, empty if there is none.
func (c Command) step(w Work) StepName {
	var result map[string]json.RawMessage
	if json.Unmarshal(c.Result, &result) != nil {
		return StepName{}
	}
	var name StepName
	if json.Unmarshal(result[string(w)+"_step"], &name) != nil {
		return StepName{}
	}
	return name
}
