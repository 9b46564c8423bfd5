// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// agentNode is a node whose machine has an agent, on virtual time: its connections are pipes.
type agentNode struct {
	*fleet
	n     *conductor.Node
	agent *agentProgram
	token string
}

// agentProgram is an agent that answers as ironic-python-agent does. It executes one command at a time, and ends a
// step when the test says so.
type agentProgram struct {
	conns chan net.Conn

	mu       sync.Mutex
	token    string
	commands []map[string]any
	received []string                                                   // the names of all commands, and of their steps
	params   []map[string]any                                           // of all commands
	steps    map[string][]map[string]any                                // by the kind of work
	busy     bool                                                       // another command runs
	silent   bool                                                       // connections fail
	before   func()                                                     // is called before the list of commands is sent; nil for nothing
	accepted func(r *http.Request, name string, command map[string]any) // is called with each command; nil for nothing
}

// reset restarts the agent.
func (a *agentProgram) reset(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.token, a.commands = token, nil
}

// agentSteps returns the steps of an agent for each kind of work.
func agentSteps() map[string][]map[string]any {
	return map[string][]map[string]any{
		"clean":  {step("erase_devices", 10), step("erase_devices_metadata", 99), step("burnin_cpu", 0)},
		"deploy": {step("write_image", 0), step("inject_files", 0)}, "service": {step("burnin_cpu", 0)},
	}
}

// startMachine returns a node in a state whose machine has an agent with steps for each kind of work.
func startMachine(t *testing.T, state states.State, change func(*conductor.Config)) *agentNode {
	a := &agentProgram{conns: make(chan net.Conn), steps: agentSteps()}
	server := &http.Server{Handler: a}
	listener := pipeListener{a.conns, make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	m := &agentNode{agent: a}
	m.fleet = start(t, func(c *conductor.Config) {
		c.Agent.Dial = a.dial
		c.SkipPowerSync = true
		if change != nil {
			change(c)
		}
	})
	n, err := m.CreateNode(m.ctx, &conductor.Node{
		Driver: "fake-hardware", ProvisionState: state, Interfaces: map[string]string{"deploy": "direct", "management": "noop"},
		Properties:   map[string]any{"capabilities": "boot_mode:uefi"},
		InstanceInfo: instanceInfo(),
	})
	require.NoError(t, err)
	m.n = n
	return m
}

// instanceInfo describes an instance that an agent can write.
func instanceInfo() map[string]any {
	return map[string]any{
		"image_source": "http://images.example/x.raw", "image_disk_format": "raw",
		"image_os_hash_algo": "sha256", "image_os_hash_value": "5f8f", "configdrive": "H4sI",
	}
}

func step(name string, priority int) map[string]any {
	return map[string]any{"interface": "deploy", "step": name, "priority": priority, "reboot_requested": false, "abortable": true}
}

// pipeListener accepts the connections of a channel.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l pipeListener) Close() error   { close(l.done); return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (a *agentProgram) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := unfenced(ctx); err != nil {
		return nil, err
	}
	a.mu.Lock()
	silent := a.silent
	a.mu.Unlock()
	if silent {
		return nil, fmt.Errorf("connection refused")
	}
	ours, theirs := net.Pipe()
	select {
	case a.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (a *agentProgram) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	status, answer := a.answer(r, body)
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// answer returns the status and the body of an answer.
func (a *agentProgram) answer(r *http.Request, body []byte) (int, []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := func(status int, value any) (int, []byte) {
		text, _ := json.Marshal(value)
		return status, text
	}
	fault := func(status int, text string) (int, []byte) {
		return answer(status, map[string]any{"faultcode": "Client", "faultstring": text})
	}
	if r.Method == http.MethodGet {
		if a.before != nil {
			a.before()
		}
		return answer(http.StatusOK, map[string]any{"commands": append([]map[string]any{}, a.commands...)})
	}
	if r.URL.Query().Get("agent_token") != a.token {
		return fault(http.StatusUnauthorized, "401 Unauthorized: Token invalid.")
	}
	if last := len(a.commands) - 1; a.busy || last >= 0 && a.commands[last]["command_status"] == "RUNNING" {
		return fault(http.StatusConflict, "Agent is busy: executing command x")
	}
	var request struct {
		Name   string
		Params map[string]any
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return fault(http.StatusBadRequest, err.Error())
	}
	work, name, _ := strings.Cut(request.Name, ".")
	command := map[string]any{
		"id":             fmt.Sprint(len(a.commands)),
		"command_name":   name,
		"command_status": "SUCCEEDED",
		"command_error":  nil,
		"command_result": nil,
	}
	switch {
	case strings.HasPrefix(name, "get_") && work != "standby":
		command["command_result"] = map[string]any{
			work + "_steps":            map[string]any{"M": a.steps[work]},
			"hardware_manager_version": map[string]any{"generic": "1.1"},
		}
	case strings.HasPrefix(name, "execute_"):
		command["command_status"] = "RUNNING"
		name += " " + request.Params["step"].(map[string]any)["step"].(string)
		command["command_result"] = map[string]any{work + "_step": request.Params["step"]}
	case name == "get_partition_uuids":
		command["command_result"] = map[string]any{"root uuid": "0x6f7cc4a8"}
	}
	a.commands = append(a.commands, command)
	a.received = append(a.received, name)
	a.params = append(a.params, request.Params)
	if a.accepted != nil {
		a.accepted(r, name, command)
	}
	return answer(http.StatusOK, command)
}

// boot restarts the agent, which looks its node up and sends a heartbeat.
func (m *agentNode) boot() *conductor.Node {
	m.t.Helper()
	_, token, err := m.Lookup(m.ctx, agentAt, nil, m.n.UUID)
	require.NoError(m.t, err)
	require.Len(m.t, token, 43, "an agent that is given no token stays deaf")
	m.agent.reset(token)
	m.token = token
	return m.beat()
}

// beat sends a heartbeat and returns the node when nothing is left to do.
func (m *agentNode) beat() *conductor.Node {
	m.t.Helper()
	require.NoError(m.t, m.Heartbeat(m.ctx, m.n.UUID, conductor.Heartbeat{
		From:         agentAt,
		CallbackURL:  "http://10.0.0.7:9999",
		AgentVersion: "9.4.3",
		AgentToken:   m.token,
	}))
	return m.settle(m.n)
}

// end ends the command that runs and sends a heartbeat.
func (m *agentNode) end(status, failure string) *conductor.Node {
	m.t.Helper()
	m.agent.mu.Lock()
	last := m.agent.commands[len(m.agent.commands)-1]
	require.Equal(m.t, "RUNNING", last["command_status"])
	last["command_status"] = status
	if failure != "" {
		last["command_error"] = map[string]any{"type": "x", "code": 500, "message": "m", "details": failure}
	}
	m.agent.mu.Unlock()
	return m.beat()
}

// heard returns the commands that agents have received since the last call.
func (m *agentNode) heard() []string {
	m.agent.mu.Lock()
	defer m.agent.mu.Unlock()
	heard := m.agent.received
	m.agent.received = nil
	return heard
}

// set changes the agent.
func (m *agentNode) set(change func(*agentProgram)) {
	m.agent.mu.Lock()
	defer m.agent.mu.Unlock()
	change(m.agent)
}

func (m *agentNode) clean(names ...string) {
	m.t.Helper()
	r := m.provision("clean")
	r.CleanSteps = nil
	for _, name := range names {
		kind, name, _ := strings.Cut(name, ".")
		r.CleanSteps = append(r.CleanSteps, conductor.StepRequest{Interface: kind, Step: name})
	}
	require.NoError(m.t, m.Provision(m.ctx, m.n.UUID, r))
	require.Equal(m.t, states.CleanWait, m.settle(m.n).ProvisionState)
}

func (m *agentNode) requireState(n *conductor.Node, want states.State, lastError string) {
	m.t.Helper()
	require.Equal(m.t, want, n.ProvisionState, n.LastError)
	require.Equal(m.t, lastError, n.LastError)
}

// requireForgotten requires that nothing of the agent is left in the record.
func (m *agentNode) requireForgotten(n *conductor.Node) {
	m.t.Helper()
	require.Equal(m.t, conductor.AgentInfo{Version: n.Agent.Version, LastHeartbeat: n.Agent.LastHeartbeat}, n.Agent)
}
