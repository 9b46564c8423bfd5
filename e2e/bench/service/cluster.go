// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/internal/freeport"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/internal/try"
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

func (m *members) start(ctx context.Context, i int) {
	m.running[i] = startConductor(ctx, m.program, "-etcd", m.etcd, "-name", m.names[i], "-listen", m.addresses[i])
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
func (m *members) awaitAlive(ctx context.Context, first, want int) {
	for _, address := range m.addresses[:first] {
		c := newClient("http://" + address)
		defer c.close()
		try.Get(sleep.Until(ctx, 10*time.Millisecond, func() (alive int, done bool, err error) {
			var list struct{ Conductors []struct{ Alive bool } }
			err = c.get(ctx, "/conductors", &list)
			for _, c := range list.Conductors {
				if c.Alive {
					alive++
				}
			}
			return alive, alive == want, err
		}))
	}
}

// measureCluster fills an etcd with nodes through one conductor, adds two conductors,
// kills one, and restarts all of them.
func measureCluster(
	ctx context.Context, program, dir string, nodes int, long time.Duration, short bool, progress progress,
) (c cluster) {
	c.nodes = nodes
	etcd, stop := startEtcd(ctx, dir)
	defer stop()
	m := &members{program: program, etcd: etcd, names: []string{"alpha", "beta", "gamma"}}
	m.running = make([]*conductor, len(m.names))
	m.addresses = try.Get(freeport.Addresses(len(m.names)))
	for i := range m.running {
		defer try.Finally(func() error { return m.stop(i) })
	}
	progress("filling an etcd with %d nodes", nodes)
	m.start(ctx, 0)
	uuids, took := fillNodes(ctx, m.running[0].url, nodes)
	c.filled = took
	try.OK(m.stop(0))
	for i := range m.names {
		progress("with %d conductors", i+1)
		c.sizes = append(c.sizes, m.grow(ctx, i, uuids, long))
	}
	progress("until each has done a round of its power sync")
	c.roundsOf(ctx, m, short)
	progress("killing one")
	c.kill(ctx, m)
	progress("starting all again, one after the other")
	c.roll(ctx, m, uuids)
	return c
}

// grow starts one more conductor and measures requests to all running conductors.
func (m *members) grow(ctx context.Context, i int, uuids []string, long time.Duration) (size clusterSize) {
	m.start(ctx, i)
	size.started = m.running[i].took
	start := time.Now()
	m.awaitAlive(ctx, i+1, i+1)
	size.joined = time.Since(start)
	clients, closeClients := m.clients(i+1, uuids)
	defer closeClients()
	for number, at := range map[int]*rate{show: &size.show, patch: &size.patch} {
		w := workloads[number]
		inTurn := workload{w.name, func(ctx context.Context, _ *seeded, number int) error {
			return w.do(ctx, clients[number%len(clients)], number)
		}}
		*at = try.Get(load(ctx, nil, inTurn, clusterWorkers, long))
	}
	return size
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
func (c *cluster) roundsOf(ctx context.Context, m *members, short bool) {
	for _, member := range m.running {
		rounds := len(member.finished()) + 1
		if short {
			rounds = 1
		}
		try.OK(member.roundsOver(ctx, rounds))
		c.rounds = append(c.rounds, member.finished()[rounds-1].took())
	}
	for _, member := range m.running {
		c.memory = append(c.memory, memoryOf(member.process.Process.Pid))
	}
}

// maxOrphans is the maximum number of the killed conductor's nodes that are provided.
const maxOrphans = 1000

// kill kills the last conductor and at once sends requests to provide its nodes to the
// first conductor.
func (c *cluster) kill(ctx context.Context, m *members) {
	last := len(m.names) - 1
	s := newClient("http://" + m.addresses[0])
	defer s.close()
	var list struct{ Nodes []struct{ UUID string } }
	try.OK(s.get(ctx, fmt.Sprintf("/nodes?conductor=%s&fields=uuid&limit=%d", m.names[last], maxOrphans), &list))
	c.orphans = len(list.Nodes)
	dead := m.running[last]
	m.running[last] = nil
	start := time.Now()
	dead.kill()
	try.OK(each(ctx, c.orphans, clusterWorkers, func(ctx context.Context, i int) error {
		return s.provision(ctx, list.Nodes[i].UUID, "provide")
	}))
	m.awaitAlive(ctx, last, last)
	c.noticed = time.Since(start)
	try.OK(each(ctx, c.orphans, clusterWorkers, func(ctx context.Context, i int) error {
		return s.settle(ctx, list.Nodes[i].UUID, "available")
	}))
	c.takeover = time.Since(start)
	m.start(ctx, last)
	m.awaitAlive(ctx, last+1, last+1)
}

// roll restarts the conductors, one at a time, while clients send requests. A client
// repeats a failed request once, with the next conductor.
func (c *cluster) roll(ctx context.Context, m *members, uuids []string) {
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
	err := try.Catch(func() {
		for i := range m.names {
			try.OK(m.stop(i))
			m.start(ctx, i)
			m.awaitAlive(ctx, len(m.names), len(m.names))
		}
	})
	c.rolled = time.Since(start)
	stopLoad()
	r := <-outcome
	c.requests, c.retried, c.failed = requests.Load(), retried.Load(), int64(r.failed)
	if r.failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d requests failed twice during the rolling restart, the first with: %w", r.failed, r.err))
	}
	try.OK(err)
}
