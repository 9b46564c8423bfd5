// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Status is an agent's word for how far a command is.
type Status string

// The words of ironic_python_agent/extensions/base.py. Agents say CleanVersionMismatch; Ironic accepts both.
const (
	Running              Status = "RUNNING"
	Succeeded            Status = "SUCCEEDED"
	Failed               Status = "FAILED"
	CleanVersionMismatch Status = "CLEAN_VERSION_MISMATCH"
	VersionMismatch      Status = "VERSION_MISMATCH"
)

// Command is a command that an agent has received.
type Command struct {
	ID     string          `json:"id"`
	Name   string          `json:"command_name"` // without the extension: "execute_clean_step"
	Status Status          `json:"command_status"`
	Error  json.RawMessage `json:"command_error"`
	Result json.RawMessage `json:"command_result"`
}

// typeError returns the error of an agent that does not know a parameter of a command.
func (c *Client) typeError(command Command) error {
	var failure struct {
		Type string
		Code json.Number
	}
	if json.Unmarshal(command.Error, &failure) != nil || failure.Type != "TypeError" {
		return nil
	}
	status, _ := failure.Code.Int64()
	return c.failure(ErrRefused, int(status), nil, "Agent API for node %s returned HTTP status code %s with error: %s",
		c.config.Node, failure.Code, command.Failure())
}

// short returns the name of a method without its extension.
func short(method string) string {
	_, name, ok := strings.Cut(method, ".")
	if !ok {
		return method
	}
	return name
}

// Work is the kind of work that an agent's steps belong to, with Ironic's word.
type Work string

// The kinds of work.
const (
	Clean   Work = "clean"
	Deploy  Work = "deploy"
	Service Work = "service"
)

// title returns the word with a capital letter.
func (w Work) title() string {
	if w == "" {
		return ""
	}
	return strings.ToUpper(string(w[:1])) + string(w[1:])
}

// StepName identifies a step.
type StepName struct {
	Interface string `json:"interface"`
	Step      string `json:"step"`
}

// String returns "deploy.erase_devices".
func (s StepName) String() string { return fmt.Sprintf("%s.%s", s.Interface, s.Step) }
