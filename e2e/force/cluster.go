// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/ironstate/ironstate/e2e/internal/build"
)

var (
	serverNames    = []string{"server-1", "server-2", "server-3"}
	conductorNames = []string{"alpha", "beta", "gamma"}
)

// serverProcess is an etcd server.
type serverProcess struct {
	*process
	clients, peers *address
}

// conductorProcess is a process of cmd/ironstate.
type conductorProcess struct {
	*process
	at *address
}

// cluster is three conductors and three etcd servers, and the links between them.
type cluster struct {
	dir        string
	network    *network
	servers    []*serverProcess
	conductors []*conductorProcess
	toPeer     [][]*link // from server i to server j; nil to itself
	toServer   [][]*link // from conductor i to server j
	clients    []string  // the URLs of the conductors' embedded servers, if they have any
	lease      time.Duration
	fail       func(error) // called for a process that ended by itself
}

// startTimeout bounds the start of the first processes.
const startTimeout = 2 * time.Minute

// newCluster starts the processes of a cluster, with their files in dir. The caller must
// call stop, even if newCluster returns an error.
func newCluster(ctx context.Context, dir string, config config, n *network, fail func(error)) (*cluster, error) {
	c := &cluster{dir: dir, network: n, lease: config.lease, fail: fail}
	program := filepath.Join(dir, "conductor")
	hash, err := bcrypt.GenerateFromPassword([]byte(clientPassword), bcrypt.DefaultCost)
	if err != nil {
		return c, err
	}
	users := os.WriteFile(c.users(), fmt.Appendf(nil, "%s:%s\n", clientUser, hash), 0o600)
	if err := errors.Join(build.Ironstate(ctx, program), users); err != nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	add := c.addConductors
	if config.embedded {
		add = c.addEmbedded
	} else {
		if err := c.addServers(); err != nil {
			return c, err
		}
		if err := together(c.servers, func(s *serverProcess) error { return s.start(ctx) }); err != nil {
			return c, err
		}
	}
	if err := add(program); err != nil {
		return c, err
	}
	return c, together(c.conductors, func(p *conductorProcess) error { return p.start(ctx) })
}

// users returns the path of the conductors' file of users.
func (c *cluster) users() string { return filepath.Join(c.dir, "users") }

// together calls f for all elements concurrently, and returns one of the errors.
func together[T any](all []T, f func(T) error) error {
	errs := make(chan error, len(all))
	for _, one := range all {
		go func() { errs <- f(one) }()
	}
	var failed error
	for range all {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	return failed
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

var servingLine = regexp.MustCompile(`^serving clients at (\S+) and peers at (\S+)$`)

// addServers adds three etcd servers, with a link from each to each.
func (c *cluster) addServers() error {
	var members []string
	addresses := map[string]*address{}
	for _, name := range serverNames {
		members = append(members, fmt.Sprintf("%s=http://%s:2380", name, peerHost(name)))
		addresses[peerHost(name)] = &address{}
	}
	for _, name := range serverNames {
		proxy := &peers{links: map[string]*link{}, to: addresses}
		var links []*link
		for _, other := range serverNames {
			if other == name {
				links = append(links, nil)
				continue
			}
			l := newLink()
			links, proxy.links[peerHost(other)] = append(links, l), l
		}
		url, err := proxy.serve(c.network)
		if err != nil {
			return err
		}
		config := serverConfig{
			Name: name, Dir: filepath.Join(c.dir, name), Cluster: strings.Join(members, ","), Peer: "http://" + peerHost(name) + ":2380",
		}
		s := &serverProcess{&process{name: name, dir: c.dir, onExit: c.fail}, &address{}, addresses[peerHost(name)]}
		s.command = func() *exec.Cmd { return serverCommand(config, url) }
		s.ready = func(line string) (bool, error) {
			found := servingLine.FindStringSubmatch(line)
			if found == nil {
				return false, nil
			}
			s.clients.set(found[1])
			s.peers.set(found[2])
			return true, nil
		}
		c.servers, c.toPeer = append(c.servers, s), append(c.toPeer, links)
	}
	return nil
}

// endpoints returns URLs that lead to the servers through the links, one link per server.
func (c *cluster) endpoints(links []*link) ([]string, error) {
	var urls []string
	for i, s := range c.servers {
		at, err := c.network.forward(links[i], s.clients)
		if err != nil {
			return nil, err
		}
		urls = append(urls, "http://"+at)
	}
	return urls, nil
}

// newLinks returns a link to each server.
func (c *cluster) newLinks() []*link {
	links := make([]*link, len(c.servers))
	for i := range links {
		links[i] = newLink()
	}
	return links
}

// addConductors adds three conductors, with a link from each to each server.
func (c *cluster) addConductors(program string) error {
	for _, name := range conductorNames {
		links := c.newLinks()
		urls, err := c.endpoints(links)
		if err != nil {
			return err
		}
		c.addConductor(program, name, "-etcd", strings.Join(urls, ","))
		c.toServer = append(c.toServer, links)
	}
	return nil
}

// addConductor adds a conductor; args select its store.
func (c *cluster) addConductor(program, name string, args ...string) {
	args = append(args,
		"-name", name, "-lease", c.lease.String(), "-demo", "0", "-auth-file", c.users(), "-log-level", "INFO",
		"-fake-delay", fakeDelay.String(), "-fake-restart", "-check-interval", checkInterval.String(), "-shutdown-timeout", fakeDelay.String())
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

// addEmbedded adds conductors with embedded etcd servers.
func (c *cluster) addEmbedded(program string) error {
	var peers []string
	for _, name := range conductorNames {
		at, err := free()
		if err != nil {
			return err
		}
		peers = append(peers, name+"=http://"+at)
	}
	for _, name := range conductorNames {
		at, err := free()
		if err != nil {
			return err
		}
		client := "http://" + at
		c.clients = append(c.clients, client)
		c.addConductor(program, name, "-cluster", strings.Join(peers, ","), "-cluster-client", client, "-data", filepath.Join(c.dir, "data-"+name))
	}
	return nil
}

// free returns an address on which no process listens. Its port is below the ephemeral
// ports, because a restarted server needs the same port again.
func free() (string, error) {
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return "", err
		}
		return l.Addr().String(), l.Close()
	}
}

const (
	fakeDelay     = 2 * time.Second  // long enough that faults happen during a step
	checkInterval = 3 * time.Second  // short enough that timeouts and unstarted work are soon found
	agentTimeout  = 12 * time.Second // of a node whose agent does not send heartbeats; longer than conductors are stopped
)

// dial returns a client of the servers. Faults do not affect the client's links.
func (c *cluster) dial() (*clientv3.Client, error) {
	urls := c.clients
	if len(urls) == 0 {
		var err error
		if urls, err = c.endpoints(c.newLinks()); err != nil {
			return nil, err
		}
	}
	return clientv3.New(clientv3.Config{
		Endpoints: urls, Logger: zap.NewNop(), DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second}, MinConnectTimeout: 3 * time.Second,
		})},
	})
}

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
