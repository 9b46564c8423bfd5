// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/internal/freeport"
	"github.com/ironstate/ironstate/internal/sleep"
)

// A cluster holds the measurements of conductors that share a fleet on one etcd.
type cluster struct {
	nodes  int
	filled time.Duration   // the time in which one conductor filled the etcd
	sizes  []clusterSize   // with one, two and three conductors
	rounds []time.Duration // of the power sync, by conductor
	memory []memory        // by conductor

	// One conductor, with a third of the fleet, is killed.
	orphans  int           // nodes of that third for which clients request provide at once
	noticed  time.Duration // until the other conductors notice
	takeover time.Duration // until the last of the orphans is available
	// All conductors are restarted, one at a time, while clients send requests.
	rolled            time.Duration
	requests, retried int64
	failed            int64 // requests that failed twice
}

// A clusterSize holds the measurements of a number of conductors.
type clusterSize struct {
	started     time.Duration // from the start of the newest conductor until it answers
	joined      time.Duration // from then until all conductors report it as a member
	show, patch rate
}

// clusterWorkers is the number of concurrent clients of the conductors.
const clusterWorkers = 16

// members are the conductors of a cluster.
type members struct {
	program, etcd string
	names         []string
	addresses     []string
	running       []*conductor // nil if the conductor does not run
}

func (m *members) start(ctx context.Context, i int) (err error) {
	m.running[i], err = startConductor(ctx, m.program, "-etcd", m.etcd, "-name", m.names[i], "-listen", m.addresses[i])
	return err
}

func (m *members) stop(i int) error {
	c := m.running[i]
	if c == nil {
		return nil
	}
	m.running[i] = nil
	return c.stop()
}

// awaitAlive waits until each of the first conductors reports the wanted number of live
// conductors.
func (m *members) awaitAlive(ctx context.Context, first, want int) error {
	for _, address := range m.addresses[:first] {
		c := newClient("http://" + address)
		defer c.close()
		for {
			answer, err := c.do(ctx, http.MethodGet, "/conductors", "")
			if err != nil {
				return err
			}
			var list struct{ Conductors []struct{ Alive bool } }
			if err := json.Unmarshal(answer, &list); err != nil {
				return err
			}
			alive := 0
			for _, c := range list.Conductors {
				if c.Alive {
					alive++
				}
			}
			if alive == want {
				break
			}
			if !sleep.For(ctx, 10*time.Millisecond) {
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// measureCluster fills an etcd with nodes through one conductor, adds two conductors,
// kills one, and restarts all of them.
func measureCluster(
	ctx context.Context, program, dir string, nodes int, long time.Duration, short bool, progress progress,
) (c cluster, err error) {
	c.nodes = nodes
	etcd, stop, err := startEtcd(ctx, dir)
	if err != nil {
		return c, err
	}
	defer stop()
	m := &members{program: program, etcd: etcd, names: []string{"alpha", "beta", "gamma"}}
	m.running = make([]*conductor, len(m.names))
	if m.addresses, err = freeport.Addresses(len(m.names)); err != nil {
		return c, err
	}
	defer func() {
		for i := range m.running {
			err = errors.Join(err, m.stop(i))
		}
	}()
	progress("filling an etcd with %d nodes", nodes)
	if err := m.start(ctx, 0); err != nil {
		return c, err
	}
	uuids, took, err := fillNodes(ctx, m.running[0].url, nodes)
	if err != nil {
		return c, err
	}
	c.filled = took
	if err := m.stop(0); err != nil {
		return c, err
	}
	for i := range m.names {
		progress("with %d conductors", i+1)
		size, err := m.grow(ctx, i, uuids, long)
		if err != nil {
			return c, err
		}
		c.sizes = append(c.sizes, size)
	}
	progress("until each has done a round of its power sync")
	if err := c.roundsOf(ctx, m, short); err != nil {
		return c, err
	}
	progress("killing one")
	if err := c.kill(ctx, m); err != nil {
		return c, err
	}
	progress("starting all again, one after the other")
	err = c.roll(ctx, m, uuids)
	return c, err
}

// grow starts one more conductor and measures requests to all running conductors.
func (m *members) grow(ctx context.Context, i int, uuids []string, long time.Duration) (size clusterSize, err error) {
	if err := m.start(ctx, i); err != nil {
		return size, err
	}
	size.started = m.running[i].took
	start := time.Now()
	if err := m.awaitAlive(ctx, i+1, i+1); err != nil {
		return size, err
	}
	size.joined = time.Since(start)
	clients, closeClients := m.clients(i+1, uuids)
	defer closeClients()
	for number, at := range map[int]*rate{show: &size.show, patch: &size.patch} {
		w := workloads[number]
		inTurn := workload{w.name, func(ctx context.Context, _ *seeded, number int) error {
			return w.do(ctx, clients[number%len(clients)], number)
		}}
		if *at, err = load(ctx, nil, inTurn, clusterWorkers, long); err != nil {
			return size, err
		}
	}
	return size, nil
}

// clients returns a client of each of the first conductors, with the UUIDs of nodes, and a function
// that closes the clients.
func (m *members) clients(first int, uuids []string) (all []*seeded, closeAll func()) {
	for _, address := range m.addresses[:first] {
		all = append(all, &seeded{newClient("http://" + address), uuids})
	}
	return all, func() {
		for _, c := range all {
			c.close()
		}
	}
}

// roundsOf waits until each conductor has done another round of power sync, on its third
// of the nodes, and records the memory of each conductor. With short the first round of
// each conductor suffices.
func (c *cluster) roundsOf(ctx context.Context, m *members, short bool) error {
	for _, member := range m.running {
		rounds := len(member.finished()) + 1
		if short {
			rounds = 1
		}
		if err := member.roundsOver(ctx, rounds); err != nil {
			return err
		}
		c.rounds = append(c.rounds, member.finished()[rounds-1].took())
	}
	for _, member := range m.running {
		of, err := memoryOf(member.process.Process.Pid)
		if err != nil {
			return err
		}
		c.memory = append(c.memory, of)
	}
	return nil
}

// maxOrphans is the maximum number of the killed conductor's nodes that are provided.
const maxOrphans = 1000

// kill kills the last conductor and at once sends requests to provide its nodes to the
// first conductor.
func (c *cluster) kill(ctx context.Context, m *members) error {
	last := len(m.names) - 1
	s := newClient("http://" + m.addresses[0])
	defer s.close()
	answer, err := s.do(ctx, http.MethodGet, fmt.Sprintf("/nodes?conductor=%s&fields=uuid&limit=%d", m.names[last], maxOrphans), "")
	if err != nil {
		return err
	}
	var list struct{ Nodes []struct{ UUID string } }
	if err := json.Unmarshal(answer, &list); err != nil {
		return err
	}
	c.orphans = len(list.Nodes)
	dead := m.running[last]
	m.running[last] = nil
	start := time.Now()
	dead.kill()
	err = each(ctx, c.orphans, clusterWorkers, func(ctx context.Context, i int) error {
		return s.provision(ctx, list.Nodes[i].UUID, "provide")
	})
	if err != nil {
		return err
	}
	if err := m.awaitAlive(ctx, last, last); err != nil {
		return err
	}
	c.noticed = time.Since(start)
	err = each(ctx, c.orphans, clusterWorkers, func(ctx context.Context, i int) error {
		return s.settle(ctx, list.Nodes[i].UUID, "available")
	})
	c.takeover = time.Since(start)
	return errors.Join(err, m.start(ctx, last), m.awaitAlive(ctx, last+1, last+1))
}

// roll restarts the conductors, one at a time, while clients send requests. A client
// repeats a failed request once, with the next conductor.
func (c *cluster) roll(ctx context.Context, m *members, uuids []string) error {
	clients, closeClients := m.clients(len(m.names), uuids)
	defer closeClients()
	var requests, retried atomic.Int64
	persistent := workload{"GET and PATCH",
		func(_ context.Context, _ *seeded, number int) error { // without ctx: requests in flight are finished
			requests.Add(1)
			w := workloads[[]int{show, patch}[number%2]]
			err := w.do(ctx, clients[number%len(clients)], number)
			if err != nil {
				retried.Add(1)
				err = w.do(ctx, clients[(number+1)%len(clients)], number)
			}
			return err
		}}
	loading, stopLoad := context.WithCancel(ctx)
	outcome := make(chan rate, 1)
	go func() {
		r, _ := load(loading, nil, persistent, clusterWorkers, time.Hour) // ends with its context
		outcome <- r
	}()
	start := time.Now()
	err := func() error {
		for i := range m.names {
			if err := errors.Join(m.stop(i), m.start(ctx, i)); err != nil {
				return err
			}
			if err := m.awaitAlive(ctx, len(m.names), len(m.names)); err != nil {
				return err
			}
		}
		return nil
	}()
	c.rolled = time.Since(start)
	stopLoad()
	r := <-outcome
	c.requests, c.retried, c.failed = requests.Load(), retried.Load(), int64(r.failed)
	if r.failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d requests failed twice during the rolling restart, the first with: %w", r.failed, r.err))
	}
	return err
}
