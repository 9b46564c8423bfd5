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

// command is the result of a command. The agent's mutex protects its fields.
type command struct {
	id, name, status string
	failure          *failure
	result           any
	done             chan struct{} // closed at the end

	answered chan struct{} // closed once the first answer is sent
	once     sync.Once
}

func (c *command) release() { c.once.Do(func() { close(c.answered) }) }

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

func failed(kind string, code int, message, format string, args ...any) *failure {
	return &failure{Type: kind, Code: code, Message: message, Details: fmt.Sprintf(format, args...)}
}

func busyWith(name string) *failure {
	return failed("AgentIsBusy", http.StatusConflict, "Agent is busy", "executing command %s", name)
}

func invalidParams(format string, args ...any) *failure {
	return failed("InvalidCommandParamsError", http.StatusBadRequest, "Invalid command parameters", format, args...)
}

// deploymentFailed is a failure of the disk or the image.
func deploymentFailed(format string, args ...any) *failure {
	return failed("DeploymentError", http.StatusInternalServerError, "Deploy step failed", format, args...)
}

// asFailure returns an error of a step as the agent serializes it.
func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return failed("CommandExecutionError", http.StatusInternalServerError, "Command execution failed", "%v", err)
}

// Status words of a command, as the wire has them: package agent reads them by constants of its own.
const (
	running   = "RUNNING"
	succeeded = "SUCCEEDED"
	failing   = "FAILED"
	mismatch  = "CLEAN_VERSION_MISMATCH"
)

// function executes a command.
type function func(a *agent, ctx context.Context, params map[string]any) (result any, err error)

// commands are the commands of the agent. The names have the extension.
type commands struct {
	async map[string]function // executed while the agent answers
	sync  map[string]function // executed before the agent answers
}

func newCommands() commands {
	return commands{
		async: map[string]function{
			"clean.execute_clean_step":     stepOf("clean"),
			"deploy.execute_deploy_step":   stepOf("deploy"),
			"service.execute_service_step": stepOf("service"),
			"image.install_bootloader":     (*agent).installBootloader,
			"standby.power_off":            powerOff,
			"standby.run_image":            reboot,
		},
		sync: map[string]function{
			"clean.get_clean_steps":       stepsOf("clean"),
			"deploy.get_deploy_steps":     stepsOf("deploy"),
			"service.get_service_steps":   stepsOf("service"),
			"standby.get_partition_uuids": (*agent).partitionUUIDs,
			"standby.sync":                syncDisk,
			"log.collect_system_logs":     (*agent).collectLogs,
			"rescue.finalize_rescue":      (*agent).finalizeRescue,
		},
	}
}

// has reports whether there is a command of an extension.
func (c commands) has(extension string) bool {
	for _, named := range []map[string]function{c.async, c.sync} {
		for name := range named {
			if strings.HasPrefix(name, extension+".") {
				return true
			}
		}
	}
	return false
}

// execute begins a command, or refuses it. A synchronous command has ended when execute returns. An asynchronous
// command sent without wait starts after the response, which reports it as running.
//
// Source: execute_command in ironic_python_agent/extensions/base.py.
func (a *agent) execute(name string, params map[string]any, wait bool, e Effect) (*command, *failure) {
	all := a.machine.commands
	run, async := all.async[name]
	if !async {
		run = all.sync[name]
	}
	extension, short, ok := strings.Cut(name, ".")
	switch {
	case !ok:
		return nil, failed("InvalidCommandError", http.StatusBadRequest, "Invalid command", "Command name must be of the form <extension>.<name>")
	case !all.has(extension):
		return nil, failed("RequestedObjectNotFoundError", http.StatusNotFound, "Not found", "Extension with id %s not found.", extension)
	case run == nil:
		return nil, failed("InvalidCommandError", http.StatusBadRequest, "Invalid command", "Unknown command: %s", short)
	}
	c := &command{id: rand.Text(), name: short, status: running, done: make(chan struct{}), answered: make(chan struct{})}
	a.mu.Lock()
	if n := len(a.commands); n > 0 && a.commands[n-1].status == running {
		a.mu.Unlock()
		return nil, busyWith(a.commands[n-1].name)
	}
	a.commands = append(a.commands, c)
	if node, ok := params["node"].(map[string]any); ok {
		a.node = node
	}
	a.mu.Unlock()
	if !async {
		a.end(c, run, params, e)
		return c, nil
	}
	a.machine.mu.Lock()
	defer a.machine.mu.Unlock()
	a.machine.start(func() {
		if !wait {
			select {
			case <-c.answered:
			case <-a.ctx.Done():
				return
			}
		}
		a.end(c, run, params, e)
		a.beat()
	})
	return c, nil
}

// end executes a command to its end.
func (a *agent) end(c *command, run function, params map[string]any, e Effect) {
	result, err := a.outcome(run, params, e)
	if err == nil {
		result, err = plain(result)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c.status, c.result = succeeded, result
	if err != nil {
		c.failure, c.status, c.result = asFailure(err), failing, nil
	}
	if c.failure != nil && c.failure.Type == "VersionMismatch" {
		c.status = mismatch
	}
	close(c.done)
}

// outcome executes a command under a fault.
func (a *agent) outcome(run function, params map[string]any, e Effect) (any, error) {
	switch e.kind {
	case delay:
		if !sleep.For(a.ctx, e.wait) {
			return nil, a.ctx.Err()
		}
	case die:
		a.cancel()
		return nil, a.ctx.Err()
	case fail:
		return nil, failed("CommandExecutionError", http.StatusInternalServerError, "Command execution failed", "%s", e.text)
	case versionMismatch:
		return nil, otherVersion(params)
	case lie:
		return pretended(params), nil
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
