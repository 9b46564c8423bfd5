// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// simAgent is the machine of a node with an agent. Each power on or reboot starts the agent, which looks its node up
// at a random conductor and sends heartbeats to random conductors.
type simAgent struct {
	*world
	node       *conductor.Node
	at         netip.Addr
	conductors map[string]*simConductor
	names      []string
	ctx        context.Context
	group      *sync.WaitGroup
	program    *agentProgram
	beat       chan struct{} // a command has ended
	powering   sync.Mutex    // held by power

	mu   sync.Mutex
	on   bool
	boot int
	end  context.CancelFunc // of the agent that runs
	done map[string]bool    // the steps that the work at hand has done
}

// simConn is a connection of a conductor to an agent.
type simConn struct {
	net.Conn
	agent *simAgent
	by    string
	lost  bool // the answer is lost
}

func (c simConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.agent.whileStopped(c.by, c.agent.node.UUID, "reads")
	if c.lost && n > 0 {
		return 0, errors.New("connection reset by peer")
	}
	return n, err
}

// simConductorKey is the key of the conductor's name in the context of a request to an agent.
type simConductorKey struct{}

// startAgents gives every second node a machine with an agent.
func (w *world) startAgents(
	ctx context.Context, group *sync.WaitGroup, conductors map[string]*simConductor, names []string, nodes []*conductor.Node,
) {
	at := netip.MustParseAddr("10.0.0.0")
	for _, n := range nodes {
		at = at.Next()
		if n.Interfaces["deploy"] != "direct" {
			continue
		}
		a := &simAgent{
			world:      w,
			node:       n,
			at:         at,
			conductors: conductors,
			names:      names,
			ctx:        ctx,
			group:      group,
			beat:       make(chan struct{}, 1),
			done:       map[string]bool{},
			program:    &agentProgram{conns: make(chan net.Conn), steps: agentSteps()},
		}
		a.program.accepted = a.accepted
		server := &http.Server{Handler: a.program, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, simConductorKey{}, c.(simConn).by)
		}}
		listener := pipeListener{a.program.conns, make(chan struct{})}
		group.Go(func() { _ = server.Serve(listener) })
		group.Go(func() { <-ctx.Done(); _ = server.Close() })
		w.mu.Lock()
		w.agents[n.UUID] = a
		w.mu.Unlock()
	}
}

// agentOf returns the agent of a node, nil for none.
func (w *world) agentOf(id string) *simAgent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.agents[id]
}

// agentAt returns the agent at an address.
func (w *world) agentAt(at netip.Addr) *simAgent {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.agents {
		if a.at == at {
			return a
		}
	}
	return nil
}

// dial connects a conductor to the agent at an address.
func (w *world) dial(by string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		a := w.agentAt(netip.MustParseAddrPort(address).Addr())
		host := a.node.UUID
		w.whileStopped(by, host, "dials")
		sleep.For(ctx, w.upTo(20*time.Millisecond, by, host, "dials"))
		a.mu.Lock()
		on := a.on
		a.mu.Unlock()
		if !on || w.chance(3, by, host, "does not arrive") {
			return nil, errors.New("connection refused")
		}
		ours, theirs := net.Pipe()
		select {
		case a.program.conns <- simConn{theirs, a, by, false}:
			return simConn{ours, a, by, w.chance(3, by, host, "is not answered")}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// power changes the power state of the machine. The BMC may lie: the state does not change.
func (a *simAgent) power(power states.Power) {
	if a.chance(3, a.node.UUID, power.String(), "is a lie") {
		return
	}
	a.powering.Lock()
	defer a.powering.Unlock()
	a.mu.Lock()
	if power == states.PowerOn && a.on {
		a.mu.Unlock()
		return
	}
	if a.end != nil {
		a.end()
	}
	a.boot++
	a.mu.Unlock()
	a.program.reset("") // the program calls accepted with its lock
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.on = power.Target() == states.PowerOn; !a.on || a.ctx.Err() != nil {
		return
	}
	var ctx context.Context
	ctx, a.end = context.WithCancel(a.ctx)
	a.group.Go(func() { a.run(ctx) })
}

func (a *simAgent) powerState() states.Power {
	a.mu.Lock()
	defer a.mu.Unlock()
	return powerOf(a.on)
}

// run is the life of one agent. It ends early if the agent does not boot or does not learn its token.
func (a *simAgent) run(ctx context.Context) {
	sleep.For(ctx, a.upTo(time.Minute, a.node.UUID, "boots"))
	if a.chance(5, a.node.UUID, "does not boot") {
		return
	}
	token := ""
	for begun := time.Now(); token == ""; {
		if ctx.Err() != nil || time.Since(begun) > 5*time.Minute {
			return
		}
		_, given, err := a.any("looks up").Lookup(ctx, a.at, nil, a.node.UUID)
		switch {
		case err == nil && given == "":
			a.log("agent of node %s: the token was given out before", a.node.Name)
			return
		case err == nil && !a.chance(3, a.node.UUID, "does not learn the token"):
			token = given
		default:
			sleep.For(ctx, 5*time.Second+a.upTo(10*time.Second, a.node.UUID, "until the next lookup"))
		}
	}
	a.log("agent of node %s: it has a token", a.node.Name)
	a.program.reset(token)
	for ctx.Err() == nil {
		err := a.any("beats").Heartbeat(ctx, a.node.UUID, conductor.Heartbeat{
			From:         a.at,
			CallbackURL:  "http://" + a.at.String() + ":9999",
			AgentVersion: "9.4.3",
			AgentToken:   token,
		})
		if err != nil && !errors.Is(err, conductor.Invalid) {
			sleep.For(ctx, a.upTo(5*time.Second, a.node.UUID, "repeats its heartbeat"))
		}
		select {
		case <-ctx.Done():
		case <-a.beat:
			sleep.For(ctx, 5*time.Second+a.upTo(time.Second, a.node.UUID, "after the end of a command"))
		case <-time.After(10*time.Second + a.upTo(time.Minute, a.node.UUID, "until the next heartbeat")):
		}
	}
}

// any returns a random conductor.
func (a *simAgent) any(purpose string) *conductor.Conductor {
	return a.conductors[a.names[a.draw(int64(len(a.names)), a.node.UUID, purpose)]].get()
}

// accepted is called with each command that the agent accepts. A conductor may send one only while it holds the node.
// The agent begins no step twice in the same work, which world.begin checks.
func (a *simAgent) accepted(r *http.Request, name string, command map[string]any) {
	by := r.Context().Value(simConductorKey{}).(string)
	a.log("agent of node %s: %s sends %s", a.node.Name, by, name)
	step := strings.TrimPrefix(name[strings.LastIndex(name, " ")+1:], "execute_")
	executes := strings.HasPrefix(name, "execute_")
	if executes {
		step = "agent." + step
	}
	a.begin(by, a.node, step)
	a.ends(by, a.node.UUID)
	a.mu.Lock()
	boot := a.boot
	a.mu.Unlock()
	switch {
	case name == "power_off":
		time.AfterFunc(a.upTo(20*time.Second, a.node.UUID, "powers off"), func() {
			if a.since(boot) {
				a.power(states.PowerOff)
			}
		})
	case executes && a.chance(3, a.node.UUID, step, "ends the agent"):
		a.mu.Lock()
		a.end()
		a.mu.Unlock()
	case executes:
		time.AfterFunc(a.upTo(time.Minute, a.node.UUID, step, "takes"), func() { a.ended(boot, step, command) })
	}
}

// since reports whether the machine was not booted since a boot.
func (a *simAgent) since(boot int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.boot == boot
}

// ended ends a step. One in ten fails.
func (a *simAgent) ended(boot int, step string, command map[string]any) {
	if !a.since(boot) {
		return
	}
	status := "SUCCEEDED"
	if a.chance(10, a.node.UUID, step, "fails") {
		status = "FAILED"
	}
	a.program.mu.Lock()
	command["command_status"] = status
	a.program.mu.Unlock()
	a.log("agent of node %s: %s has %s", a.node.Name, step, status)
	a.mu.Lock()
	a.done[step] = status == "SUCCEEDED"
	a.mu.Unlock()
	select {
	case a.beat <- struct{}{}:
	default:
	}
}

// begins forgets the steps of earlier work.
func (a *simAgent) begins() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.done)
}

// missing returns the step that work must have done before a node moves between two states, and has not; "" for none.
func (a *simAgent) missing(from, to states.State) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, step := range map[[2]states.State][]string{
		{states.Cleaning, states.Available}:  {"agent.erase_devices_metadata", "agent.erase_devices"},
		{states.Cleaning, states.Manageable}: {"agent.erase_devices"}, {states.Deploying, states.Active}: {"agent.write_image"},
		{states.Servicing, states.Active}: {"agent.burnin_cpu"},
	}[[2]states.State{from, to}] {
		if !a.done[step] {
			return step
		}
	}
	return ""
}
