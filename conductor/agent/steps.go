// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/internal/exactjson"
	"github.com/ironstate/ironstate/internal/jsonsize"
	"github.com/ironstate/ironstate/internal/pyrepr"
)

// Machine is the part of a command that describes the machine: Ironic's records of the node and its ports, which are
// encoded as JSON. The client does not mask secrets in them.
type Machine struct {
	Node  any
	Ports any // a list; nil for none
}

// Step is a step of an agent.
type Step struct {
	StepName
	Priority        int             `json:"priority"`
	RebootRequested bool            `json:"reboot_requested,omitzero"`
	Abortable       bool            `json:"abortable,omitzero"`
	RequiresRamdisk bool            `json:"requires_ramdisk,omitzero"`
	ArgsInfo        map[string]Info `json:"argsinfo,omitzero"`
	Args            map[string]any  `json:"args,omitzero"`
	// Repeated is set for [Client.Execute] if the step before has the same name. It is not sent.
	Repeated bool `json:"-"`
}

// Info describes an argument of a step.
type Info struct {
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"`
}

// Steps are the steps of an agent for a kind of work.
type Steps struct {
	Steps []Step
	// Versions are the versions of the agent's hardware managers, by name. They are sent with each step.
	Versions map[string]any
}

// The bounds of the steps of an agent, which a node's record keeps.
const (
	maxSteps     = 250
	maxArguments = 1000 // of all steps
	maxVersions  = 100  // JSON values
	maxNameSize  = 128
)

// Steps asks for the agent's steps. An agent without the extension for a service has none. The error matches [ErrBusy]
// while the agent executes a command.
//
// Source: refresh_steps in ironic/drivers/modules/agent_base.py.
func (c *Client) Steps(ctx context.Context, w Work, m Machine) (Steps, error) {
	method := string(w) + ".get_" + string(w) + "_steps"
	command, err := c.succeed(ctx, method, m.params(), true)
	switch {
	case w == Service && errors.Is(err, ErrRefused):
		return Steps{}, nil
	case err != nil:
		return Steps{}, err
	}
	c.config.Budget.decoding.Lock()
	defer c.config.Budget.decoding.Unlock()
	return c.decodeSteps(w, command)
}

// decodeSteps returns the steps in the result of get_X_steps.
func (c *Client) decodeSteps(w Work, command Command) (Steps, error) {
	key := string(w) + "_steps"
	result, missing := object(command.Result, "hardware_manager_version", key)
	if len(missing) > 0 {
		return Steps{}, c.invalidAnswer("agent get_%s for node %s returned an invalid result. Keys: %s are missing from result: %s.",
			key, c.config.Node, pythonSet(missing), command.Result)
	}
	var managers map[string][]json.RawMessage
	steps := Steps{}
	if err := exactjson.Unmarshal(result[key], &managers); err != nil {
		return Steps{}, c.invalidAnswer("agent get_%s for node %s returned an invalid result: %v", key, c.config.Node, err)
	}
	if err := exactjson.Unmarshal(result["hardware_manager_version"], &steps.Versions); err != nil {
		return Steps{}, c.invalidAnswer("agent get_%s for node %s returned an invalid result: %v", key, c.config.Node, err)
	}
	if values, _ := jsonsize.Measure(result["hardware_manager_version"]); values > maxVersions {
		return Steps{}, c.invalidAnswer("agent get_%s for node %s returned more than %d versions", key, c.config.Node, maxVersions)
	}
	steps.Versions = errtext.Object(steps.Versions)
	arguments := 0
	for _, manager := range slices.Sorted(maps.Keys(managers)) {
		for _, text := range managers[manager] {
			step, err := c.step(w, text)
			if err != nil {
				return Steps{}, err
			}
			steps.Steps = append(steps.Steps, step)
			arguments += len(step.ArgsInfo)
		}
	}
	if len(steps.Steps) > maxSteps || arguments > maxArguments {
		return Steps{}, c.invalidAnswer("agent get_%s for node %s returned %d steps with %d arguments, more than %d or %d",
			key, c.config.Node, len(steps.Steps), arguments, maxSteps, maxArguments)
	}
	return steps, nil
}

// object decodes a JSON object, and returns which keys it lacks. Of another value all are missing.
func object(text json.RawMessage, keys ...string) (values map[string]json.RawMessage, missing []string) {
	_ = json.Unmarshal(text, &values)
	for _, key := range keys {
		if _, ok := values[key]; !ok {
			missing = append(missing, key)
		}
	}
	return values, missing
}

// step decodes a step of an agent.
func (c *Client) step(w Work, text json.RawMessage) (step Step, err error) {
	if _, missing := object(text, "interface", "priority", "step"); len(missing) > 0 {
		return step, c.invalidAnswer("agent get_%s_steps for node %s returned an invalid %s step. Keys: %s are missing from step: %s.",
			w, c.config.Node, w, pythonSet(missing), text)
	}
	if err := exactjson.Unmarshal(text, &step); err != nil || !validName(step.Interface) || !validName(step.Step) {
		return step, c.invalidAnswer("agent get_%s_steps for node %s returned an invalid %s step: %s", w, c.config.Node, w, text)
	}
	step.RequiresRamdisk = w == Clean
	step.Args = nil // no agent has them
	arguments := step.ArgsInfo
	step.ArgsInfo = nil
	for name, info := range arguments {
		if step.ArgsInfo == nil {
			step.ArgsInfo = map[string]Info{}
		}
		info.Description = errtext.Clean(info.Description)
		step.ArgsInfo[errtext.Clean(name)] = info
	}
	return step, nil
}

// validName reports whether a step can have a name: the agent must know it again, so that it is not changed.
func validName(name string) bool {
	return name != "" && len(name) <= maxNameSize && errtext.Clean(name) == name
}

// Execute sends a step, which the agent then executes: the command is running when Execute returns, or has ended. The
// versions come from [Client.Steps]. A step that the agent has received is not sent again if the
// agent's answer is lost; a step that an earlier one repeats, see Step.Repeated, may be sent again if it has succeeded
// meanwhile. The error matches [ErrBusy] while the agent executes another command.
func (c *Client) Execute(ctx context.Context, w Work, step Step, versions map[string]any, m Machine) (Command, error) {
	method := string(w) + ".execute_" + string(w) + "_step"
	params := m.params()
	params["step"], params[string(w)+"_version"] = step, versions
	command, err := c.sendUnlessArrived(ctx, method, params, false, func(last Command) bool {
		if last.Name != short(method) {
			return false
		}
		switch last.Status {
		case Running, Failed: // an earlier step has ended, and its failure would have ended the work
			return true
		case Succeeded:
			return last.step(w) == step.StepName && !step.Repeated
		default:
			return false
		}
	})
	if err == nil && command.Status == "" {
		err = c.invalidAnswer("Agent on node %s returned bad command result: it has no status", c.config.Node)
	}
	return command, err
}

// pythonSet returns names as Python prints a set of them.
func pythonSet(names []string) string {
	return "{" + strings.Trim(pyrepr.List(names), "[]") + "}"
}

func (m Machine) params() map[string]any {
	if m.Ports == nil {
		m.Ports = []any{}
	}
	return map[string]any{"node": m.Node, "ports": m.Ports}
}
