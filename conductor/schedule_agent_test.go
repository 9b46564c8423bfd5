// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/promises"
	"github.com/ironstate/ironstate/internal/schedules"
	"github.com/ironstate/ironstate/states"
)

// scheduleAgent is the agent of the machine of a schedule. It begins with each power on and reboot, and looks its
// node up and sends heartbeats by choices. A step that it has accepted has ended when it sends the next heartbeat.
type scheduleAgent struct {
	program *agentProgram
	boot    int // how often the machine was booted
	up      bool
	wrote   bool // it has written an image, which the machine boots from then on
	token   string
	news    bool             // a lookup or a heartbeat is due: after a boot, the end of a step, or when time has passed
	asks    *scheduleProcess // of which a lookup or a heartbeat has no answer yet
}

// startAgent gives the machine an agent.
func (s *scheduleRun) startAgent() {
	s.agent = &scheduleAgent{program: &agentProgram{conns: make(chan net.Conn), steps: map[string][]map[string]any{
		"clean": {step("erase_devices", 10)}, "deploy": {step("write_image", 0)},
	}}}
	s.agent.program.accepted = s.accepted
	server := &http.Server{Handler: s.agent.program, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, simConductorKey{}, c.(scheduleConn).by)
	}}
	listener := pipeListener{s.agent.program.conns, make(chan struct{})}
	s.group.Go(func() { _ = server.Serve(listener) })
	s.group.Go(func() { <-s.closed; _ = server.Close() })
	work := map[[2]states.State][]string{
		{states.Cleaning, states.Manageable}: {"agent.erase_devices"}, {states.Deploying, states.Active}: {"agent.write_image"},
	}
	s.undone = func(n *promises.Version, to states.State) string {
		return s.missing(n.UUID, work[[2]states.State{n.State, to}])
	}
}

// scheduleConn is a connection of a process to the agent.
type scheduleConn struct {
	net.Conn
	by   string
	lost bool // the answer is lost
}

func (c scheduleConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lost && n > 0 {
		return 0, errors.New("connection reset by peer")
	}
	return n, err
}

// dial connects a process to the agent, for one request. The process asks for its permission when the
// connection is open.
func (p *scheduleProcess) dial(ctx context.Context, _, _ string) (conn net.Conn, err error) {
	c := &scheduleCall{name: "send a request to the agent", object: "machine"}
	connect := func(lost bool) (string, error) {
		if !p.agent.up {
			return "", errHardware
		}
		ours, theirs := net.Pipe()
		p.agent.program.conns <- scheduleConn{theirs, p.name, false}
		conn = scheduleConn{ours, p.name, lost}
		return "", nil
	}
	c.do = func() (string, error) { return connect(false) }
	c.lose = func() (string, error) { return connect(true) }
	err = p.call(ctx, c)
	return conn, err
}

// accepted is called with each command that the agent accepts.
func (s *scheduleRun) accepted(r *http.Request, name string, command map[string]any) {
	by := r.Context().Value(simConductorKey{}).(string)
	s.touch(string(conductor.KindNode), false)
	s.touch("machine", true)
	operation, step, executes := strings.Cut(name, " ")
	if executes {
		operation = "agent." + step
		command["step"] = operation
		s.agent.news, s.agent.wrote = true, s.agent.wrote || step == "write_image"
	}
	s.direct.Lock()
	node, ok := s.records.find(conductor.KindNode, scheduleNode)
	s.direct.Unlock()
	if ok {
		s.operates(by, node, operation)
		s.ends(by, scheduleNode)
	}
	if name == "power_off" {
		s.power = states.PowerOff
		s.agent.up = false
	}
}

// powered starts or ends the agent with its machine.
func (s *scheduleRun) powered(power states.Power) {
	if s.agent != nil {
		s.agent.boot++
		s.agent.up, s.agent.token, s.agent.news = power.Target() == states.PowerOn && !s.agent.wrote, "", true
		s.agent.program.reset("")
	}
}

// agentChoices returns what the agent may do. It asks the first process that is alive.
func (s *scheduleRun) agentChoices() (all []schedules.Choice) {
	a := s.agent
	if a == nil || !a.up || a.asks != nil && !a.asks.dead || !a.news {
		return nil
	}
	i := slices.IndexFunc(s.processes, func(p *scheduleProcess) bool { return !p.dead })
	switch {
	case i < 0:
	case a.token == "":
		all = append(all, schedules.Choice{Name: "agent: looks its node up at " + s.processes[i].name, Do: func() { s.lookUp(s.processes[i]) }})
	default:
		all = append(all, schedules.Choice{Name: "agent: sends a heartbeat to " + s.processes[i].name, Do: func() { s.beat(s.processes[i]) }})
	}
	return all
}

// agentAsks lets the agent ask a process.
func (s *scheduleRun) agentAsks(p *scheduleProcess, ask func()) {
	a := s.agent
	s.touch("machine", true)
	s.touch("process "+p.name, true)
	boot := a.boot
	a.asks, a.news = p, false
	s.group.Go(func() {
		ask()
		s.touch("machine", true)
		s.touch("process "+p.name, true)
		if a.asks == p && a.boot == boot && !p.dead && !s.isClosed() {
			a.asks = nil
		}
	})
}

func (s *scheduleRun) lookUp(p *scheduleProcess) {
	boot := s.agent.boot
	s.agentAsks(p, func() {
		_, token, err := p.conductor.Lookup(context.Background(), agentAt, nil, scheduleNode)
		if err == nil && s.agent.boot == boot && !p.dead {
			s.agent.token, s.agent.news, s.agent.up = token, true, token != "" // without a token the agent stays deaf
			s.agent.program.reset(token)
		}
	})
}

func (s *scheduleRun) beat(p *scheduleProcess) {
	a := s.agent
	a.program.mu.Lock()
	for _, command := range a.program.commands {
		if command["command_status"] == "RUNNING" {
			command["command_status"] = "SUCCEEDED"
			s.succeeds(scheduleNode, command["step"].(string))
		}
	}
	a.program.mu.Unlock()
	token := a.token
	s.agentAsks(p, func() {
		_ = p.conductor.Heartbeat(context.Background(), scheduleNode, conductor.Heartbeat{
			From: agentAt, CallbackURL: "http://" + agentAt.String() + ":9999", AgentVersion: "9.4.3", AgentToken: token,
		})
	})
}

// String returns the state of the agent.
func (a *scheduleAgent) String() string {
	if a == nil {
		return ""
	}
	asks := ""
	if a.asks != nil {
		asks = a.asks.name
	}
	text := fmt.Sprint(a.up, a.wrote, a.token != "", a.news, asks)
	for _, command := range a.program.commands {
		text += fmt.Sprint(" ", command["command_name"], command["step"], command["command_status"])
	}
	return text
}
