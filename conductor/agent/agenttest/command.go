// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/ironstate/ironstate/internal/sleep"
)

// command is a command that the agent has accepted. The agent's mutex protects its fields.
type command struct {
	id, name, status string
	failure          *failure
	result           any
	done             chan struct{} // closed at the end

	answered chan struct{} // closed once the first answer is sent
	once     sync.Once
}

func (c *command) markAnswered() { c.once.Do(func() { close(c.answered) }) }

func (c *command) shown() map[string]any {
	shown := map[string]any{"id": c.id, "command_name": c.name, "command_status": c.status, "command_error": nil, "command_result": c.result}
	if c.failure != nil {
		shown["command_error"] = c.failure
	}
	return shown
}

// failure is an error of the agent, as it serializes it.
//
// Source: ironic_python_agent/errors.py.
type failure struct {
	Type    string `json:"type"`
	Code    int    `json:"code"`
	Message string `json:"message"`
	Details string `json:"details"`
}

func (f *failure) Error() string { return f.Message + ": " + f.Details }

func newFailure(kind string, code int, message, format string, args ...any) *failure {
	return &failure{Type: kind, Code: code, Message: message, Details: fmt.Sprintf(format, args...)}
}

func busyWith(name string) *failure {
	return newFailure("AgentIsBusy", http.StatusConflict, "Agent is busy", "executing command %s", name)
}

func invalidParams(format string, args ...any) *failure {
	return newFailure("InvalidCommandParamsError", http.StatusBadRequest, "Invalid command parameters", format, args...)
}

// deploymentFailed is a failure of the disk or the image.
func deploymentFailed(format string, args ...any) *failure {
	return newFailure("DeploymentError", http.StatusInternalServerError, "Deploy step failed", format, args...)
}

// asFailure returns an error of a step as the agent serializes it.
func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return newFailure("CommandExecutionError", http.StatusInternalServerError, "Command execution failed", "%v", err)
}

// Status words of a command, as the wire has them: package agent reads them by constants of its own.
const (
	statusRunning   = "RUNNING"
	statusSucceeded = "SUCCEEDED"
	statusFailed    = "FAILED"
	statusMismatch  = "CLEAN_VERSION_MISMATCH"
)

// commandFunc executes a command.
type commandFunc func(a *agent, ctx context.Context, params map[string]any) (result any, err error)

// handler is how the agent executes the commands of one name.
type handler struct {
	run   commandFunc
	async bool // the agent answers before the command has ended
}

// handlers are the handlers of all commands, by extension and name. They are set by init, since power_off ends in a
// boot, whose agent accepts commands.
var handlers map[string]map[string]handler

func init() {
	handlers = map[string]map[string]handler{
		"clean": {
			"execute_clean_step": {run: executeStep("clean"), async: true},
			"get_clean_steps":    {run: listSteps("clean")},
		},
		"deploy": {
			"execute_deploy_step": {run: executeStep("deploy"), async: true},
			"get_deploy_steps":    {run: listSteps("deploy")},
		},
		"service": {
			"execute_service_step": {run: executeStep("service"), async: true},
			"get_service_steps":    {run: listSteps("service")},
		},
		"standby": {
			"power_off":           {run: powerOff, async: true},
			"run_image":           {run: reboot, async: true},
			"get_partition_uuids": {run: (*agent).partitionUUIDs},
			"sync":                {run: syncDisk},
		},
		"image":  {"install_bootloader": {run: (*agent).installBootloader, async: true}},
		"log":    {"collect_system_logs": {run: (*agent).collectLogs}},
		"rescue": {"finalize_rescue": {run: (*agent).finalizeRescue}},
	}
}

// accept begins a command, or refuses it. A synchronous command has ended when accept returns. An asynchronous command
// sent without wait starts after the response, which reports it as running.
//
// Source: execute_command in ironic_python_agent/extensions/base.py.
func (a *agent) accept(name string, params map[string]any, wait bool, e Effect) (*command, *failure) {
	extension, short, ok := strings.Cut(name, ".")
	h, known := handlers[extension][short]
	switch {
	case !ok:
		return nil, newFailure("InvalidCommandError", http.StatusBadRequest, "Invalid command",
			"Command name must be of the form <extension>.<name>")
	case handlers[extension] == nil:
		return nil, newFailure("RequestedObjectNotFoundError", http.StatusNotFound, "Not found", "Extension with id %s not found.", extension)
	case !known:
		return nil, newFailure("InvalidCommandError", http.StatusBadRequest, "Invalid command", "Unknown command: %s", short)
	}
	c := &command{id: rand.Text(), name: short, status: statusRunning, done: make(chan struct{}), answered: make(chan struct{})}
	a.mu.Lock()
	if n := len(a.commands); n > 0 && a.commands[n-1].status == statusRunning {
		a.mu.Unlock()
		return nil, busyWith(a.commands[n-1].name)
	}
	a.commands = append(a.commands, c)
	if node, ok := params["node"].(map[string]any); ok {
		a.node = node
	}
	a.mu.Unlock()
	if !h.async {
		a.execute(c, h.run, params, e)
		return c, nil
	}
	a.machine.start(func() {
		if !wait {
			select {
			case <-c.answered:
			case <-a.ctx.Done():
				return
			}
		}
		a.execute(c, h.run, params, e)
		a.heartbeatNow()
	})
	return c, nil
}

// execute executes a command to its end.
func (a *agent) execute(c *command, run commandFunc, params map[string]any, e Effect) {
	result, err := a.outcome(run, params, e)
	if err == nil {
		result, err = decoded(result)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c.status, c.result = statusSucceeded, result
	if err != nil {
		c.failure, c.status, c.result = asFailure(err), statusFailed, nil
	}
	if c.failure != nil && c.failure.Type == "VersionMismatch" {
		c.status = statusMismatch
	}
	close(c.done)
}

// outcome executes a command under a fault.
func (a *agent) outcome(run commandFunc, params map[string]any, e Effect) (any, error) {
	switch e.kind {
	case effectDelay:
		if !sleep.For(a.ctx, e.wait) {
			return nil, a.ctx.Err()
		}
	case effectDie:
		a.cancel()
		return nil, a.ctx.Err()
	case effectFail:
		return nil, newFailure("CommandExecutionError", http.StatusInternalServerError, "Command execution failed", "%s", e.text)
	case effectVersionMismatch:
		return nil, replacedManagers(params)
	case effectLie:
		return pretendedResult(params), nil
	}
	return run(a, a.ctx, params)
}

// command returns the command with an identifier, nil if there is none.
func (a *agent) command(id string) *command {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.commands {
		if c.id == id {
			return c
		}
	}
	return nil
}
