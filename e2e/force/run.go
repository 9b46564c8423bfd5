// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// config has the values of the flags.
type config struct {
	seed         uint64
	duration     time.Duration // for which faults are injected at least, see load
	nodeCount    int           // nodes of fake-hardware
	machineCount int           // nodes with agents
	clients      int
	lease        time.Duration
	store        func(*cluster) store // the constructor of the store
	verbose      bool                 // print each fault
}

// total returns the number of all nodes, with those that only attacks are for.
func (c config) total() int { return c.nodeCount + c.machineCount + 1 + len(victims) }

// progress prints a line of progress, with the arguments of Printf.
type progress func(format string, args ...any)

// run has the cluster, the clients, the attackers, the faults and the recorder of one history.
type run struct {
	config
	table    *states.Table
	progress progress
	cluster  *cluster
	recorder *recorder
	requests requestLog
	attacks  *attackLog
	faults   *faults
	nodes    []string // the UUIDs of the nodes of fake-hardware
	machines *machines
	bmcs     []*bmctest.Redfish // of the victims

	mu       sync.Mutex
	findings []history.Finding // in addition to the findings in the history
}

// execute records one history and checks it. An error means that the run failed or that
// the history is incomplete; violations of the rules are in the findings.
func execute(ctx context.Context, c config, show progress) (result figures, err error) {
	var printing sync.Mutex
	say := progress(func(format string, args ...any) {
		printing.Lock()
		defer printing.Unlock()
		show(format, args...)
	})
	dir, err := os.MkdirTemp("", "force-")
	if err != nil {
		return result, err
	}
	defer func() {
		if ctx.Err() == nil && (err != nil || len(result.findings) > 0) {
			say("the logs are in %s", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	err = try.Catch(func() {
		r := &run{config: c, table: states.Latest().Table(), progress: say, attacks: newAttackLog()}
		result = r.execute(ctx, dir)
	})
	return result, err
}

// execute records the history and checks it, with the files in dir.
func (r *run) execute(ctx context.Context, dir string) figures {
	network, closeNetwork := newNetwork(ctx)
	defer closeNetwork()
	r.cluster = &cluster{dir: dir, network: network, lease: r.lease, fail: func(err error) {
		r.find(history.Finding{Rule: "processes", Text: err.Error()})
	}}
	defer r.cluster.stop()
	r.cluster.start(ctx, r.config)
	var ids []string
	for i := range r.machineCount {
		ids = append(ids, nodeID(r.nodeCount+i))
	}
	r.machines = &machines{images: map[string][]byte{}}
	defer try.Finally(r.machines.close)
	r.machines.start(dir, ids, r.cluster.conductors)
	for i := range victims {
		bmc := victimBMC(i)
		defer try.Finally(bmc.Close)
		r.bmcs = append(r.bmcs, bmc)
	}
	r.faults = &faults{cluster: r.cluster, life: ctx, progress: func(string, ...any) {}}
	if r.verbose {
		r.faults.progress = r.progress
	}
	r.record(ctx)
	return r.check()
}

// find records a finding in addition to the findings in the history.
func (r *run) find(f history.Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.findings = append(r.findings, f)
}

// record runs the clients and the faults, and records the history.
func (r *run) record(ctx context.Context) {
	log := r.cluster.store.dial()
	r.recorder = newRecorder(log, r.table)
	recording, stop := context.WithCancel(ctx)
	recorded := make(chan error, 1)
	go func() { recorded <- r.recorder.run(recording) }()
	defer try.Finally(func() error {
		stop()
		return errors.Join(<-recorded, log.Close())
	})
	r.populate(ctx)
	r.load(ctx)
	try.OK(ctx.Err())
	r.settle(ctx)
	r.install(ctx)
	try.OK(ctx.Err())
}

// operators is the number of the first client that operates a machine.
const operators = 2000

// newClient returns a client with its own random stream.
func (r *run) newClient(id int) *client {
	return &client{
		id: id, random: rand.New(rand.NewPCG(r.seed, uint64(1000+id))), table: r.table, nodes: r.nodes, hosts: r.cluster.conductors,
		limit: requestTimeout, log: &r.requests, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}},
	}
}

// populate creates the nodes.
func (r *run) populate(ctx context.Context) {
	c := r.newClient(0)
	c.limit = 0
	defer c.http.CloseIdleConnections()
	for i := range r.nodeCount {
		id := nodeID(i)
		body := fmt.Sprintf(`{"uuid": %q, "name": "node-%d", "driver": "fake-hardware"}`, id, i)
		try.OKf(c.create(ctx, c.hosts[i%len(c.hosts)], "/v1/nodes", body), "create node %d", i)
		r.nodes = append(r.nodes, id)
	}
	try.OKf(c.create(ctx, c.anyHost(), "/v1/nodes", endlessFiles), "create the node whose file has no end")
	for i := range r.machines.all {
		r.machines.enroll(ctx, c, i)
	}
	r.enrollVictims(ctx, c)
}

// nodeID returns the UUID of a node.
func nodeID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

const (
	progressEvery = 5 * time.Second
	workEvery     = 100 * time.Millisecond // how often the work that was done is counted
)

// load runs the clients and the attackers while faults are injected, for the configured time. On a slow machine it
// takes longer: until the work has happened without which the history shows nothing.
func (r *run) load(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	for id := range r.clients {
		c := r.newClient(id + 1)
		group.Go(func() { c.run(ctx, limited.Done()) })
	}
	for i, m := range r.machines.all {
		c := r.newClient(operators + i)
		c.limit = operatorTimeout
		group.Go(func() { c.operate(ctx, limited.Done(), m) })
	}
	for id := range attackers {
		a := r.newAttacker(id)
		group.Go(func() { a.run(ctx, limited.Done()) })
	}
	for _, i := range r.newInsiders() {
		group.Go(func() { i.run(ctx, limited.Done()) })
	}
	group.Go(func() { r.faults.run(limited, r.seed) })
	begin := time.Now()
	printed := begin
	for ctx.Err() == nil && (time.Since(begin) < r.duration || !r.hasWorked()) {
		sleep.For(ctx, min(workEvery, r.duration))
		if time.Since(printed) > progressEvery {
			printed = time.Now()
			r.progress("%8v  %v", time.Since(begin).Round(time.Second), r.figures())
		}
	}
}

// hasWorked reports whether a request of a client was accepted, a fault was injected, and every attack was made.
func (r *run) hasWorked() bool {
	return r.requests.count()[history.Accepted] > 0 && r.faults.count.Load() > 0 && r.attacks.complete()
}

// stuck is how long nothing is stored after the end of all faults before nodes that are not idle are a finding.
const stuck = 3 * time.Minute

// settle heals the cluster, ends the waits of the victims, waits until every node is idle, sends the attacks that were
// not refused so far, and reads every node from every conductor. The check finds a node that does not become idle.
func (r *run) settle(ctx context.Context) {
	begin := time.Now()
	try.OK(r.cluster.heal(ctx))
	bounded, cancel := r.recorder.whileChanging(ctx, stuck)
	defer cancel()
	all := slices.Concat(r.nodes, r.machines.nodes())
	for _, i := range r.newInsiders() {
		i.finish(bounded)
		all = append(all, i.victim.node)
	}
	r.attacks.requireRefused()
	printed := begin
	_ = r.recorder.await(bounded, func() bool {
		busy := r.recorder.busyNodes()
		if time.Since(printed) > progressEvery {
			printed = time.Now()
			r.progress("%8v  after the last fault: %d nodes are not idle yet %s",
				time.Since(begin).Round(time.Second), len(busy), strings.Join(busy[:min(1, len(busy))], ""))
		}
		return len(busy) == 0 && r.recorder.caughtUp(bounded)
	})
	r.progress("%8v  after the last fault: %d of %d nodes are idle", time.Since(begin).Round(time.Second), r.figures().idle, r.total())
	a := r.newAttacker(attackers)
	a.attackAgain(ctx)
	for _, host := range r.cluster.conductors {
		c := r.newClient(r.clients + 1)
		c.limit = 0
		for _, id := range all {
			if _, ok := c.readAt(ctx, host, id); !ok && ctx.Err() == nil {
				try.Failf("%s does not answer for node %s after the end of all faults", host.name, id)
			}
		}
		c.http.CloseIdleConnections()
	}
	// A round of the power sync may have begun since.
	again, cancelAgain := r.recorder.whileChanging(ctx, stuck)
	defer cancelAgain()
	_ = r.recorder.await(again, func() bool { return len(r.recorder.busyNodes()) == 0 && r.recorder.caughtUp(again) })
	try.OK(ctx.Err())
}
