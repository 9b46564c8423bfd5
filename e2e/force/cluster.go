// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/errgroup"

	"github.com/ironstate/ironstate/e2e/internal/build"
	"github.com/ironstate/ironstate/internal/try"
)

var (
	serverNames    = []string{"server-1", "server-2", "server-3"}
	conductorNames = []string{"alpha", "beta", "gamma"}
)

// serverProcess is a server of a store.
type serverProcess struct {
	*process
	clients, peers *address
}

// conductorProcess is a process of cmd/ironstate.
type conductorProcess struct {
	*process
	at *address
}

// cluster is three conductors and the servers of their store, and the links between them.
type cluster struct {
	dir        string
	network    *network
	servers    []*serverProcess
	conductors []*conductorProcess
	toPeer     [][]*link // from server i to server j; nil to itself
	toServer   [][]*link // from conductor i to server j
	store      store
	lease      time.Duration
	fail       func(error) // called for a process that ended by itself
}

// start starts the processes of the cluster.
func (c *cluster) start(ctx context.Context, config config) {
	program := filepath.Join(c.dir, "conductor")
	hash := try.Get(bcrypt.GenerateFromPassword([]byte(clientPassword), bcrypt.DefaultCost))
	try.OK(os.WriteFile(c.users(), fmt.Appendf(nil, "%s:%s\n", clientUser, hash), 0o600))
	try.OK(build.Ironstate(ctx, program))
	c.store = config.store(c)
	c.store.start(ctx)
	for _, name := range conductorNames {
		c.addConductor(program, name, c.store.flags(name)...)
	}
	try.OK(together(c.conductors, func(p *conductorProcess) error { return p.start(ctx) }))
}

// users returns the path of the conductors' file of users.
func (c *cluster) users() string { return filepath.Join(c.dir, "users") }

// together calls f for all elements concurrently, and returns the first error once all calls have ended.
func together[T any](all []T, f func(T) error) error {
	var group errgroup.Group
	for _, one := range all {
		group.Go(func() error { return f(one) })
	}
	return group.Wait()
}

// stop kills all processes, even stopped ones, and waits for their end.
func (c *cluster) stop() {
	for _, p := range c.processes() {
		if exited := p.signal(syscall.SIGKILL); exited != nil {
			<-exited
		}
	}
}

// processes returns the conductors and the servers.
func (c *cluster) processes() []*process {
	var all []*process
	for _, p := range c.conductors {
		all = append(all, p.process)
	}
	for _, s := range c.servers {
		all = append(all, s.process)
	}
	return all
}

// addConductor adds a conductor; args are the flags of its store.
func (c *cluster) addConductor(program, name string, args ...string) {
	args = append(args,
		"-name", name, "-lease", c.lease.String(), "-demo", "0", "-image-host", "127.0.0.1", "-auth-file", c.users(), "-log-level", "DEBUG",
		"-log-format", "json",
		"-agent-network", "127.0.0.1/32", "-fake-delay", fakeDelay.String(), "-fake-restart", "-check-interval", checkInterval.String(),
		"-shutdown-timeout", fakeDelay.String())
	for _, work := range []string{"deploy", "clean", "rescue", "service"} {
		args = append(args, "-"+work+"-callback-timeout", agentTimeout.String())
	}
	args = append(args, "-inspect-wait-timeout", agentTimeout.String())
	p := &conductorProcess{&process{name: name, dir: c.dir, onExit: c.fail}, &address{}}
	p.command = func() *exec.Cmd { return exec.Command(program, args...) }
	p.ready = func(line string) (bool, error) {
		at, ok := strings.CutPrefix(line, "listening on http://")
		if ok {
			p.at.set(at)
		}
		return ok, nil
	}
	c.conductors = append(c.conductors, p)
}

const (
	fakeDelay     = 2 * time.Second  // long enough that faults happen during a step
	checkInterval = 3 * time.Second  // short enough that timeouts and unstarted work are soon found
	agentTimeout  = 12 * time.Second // of a node whose agent does not send heartbeats; longer than conductors are stopped
)

// heal opens all links and resumes all processes.
func (c *cluster) heal(ctx context.Context) error {
	for _, links := range append(c.toPeer, c.toServer...) {
		for _, l := range links {
			if l != nil {
				l.set(open)
			}
		}
	}
	return together(c.processes(), func(p *process) error { return p.resume(ctx) })
}
