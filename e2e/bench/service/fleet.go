// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/try"
)

// A fleet holds the measurements of a conductor with many nodes.
type fleet struct {
	nodes  int
	filled time.Duration // from the first request until all nodes are manageable
	// The fields below describe the restarted process.
	started    time.Duration // until the process has read all nodes and answers
	startedCPU time.Duration // the processor time of the start
	rounds     []round       // of the power sync
	memory     memory
	// quiet and busy are the latencies outside of rounds and during rounds, by stream.
	quiet, busy []latencies
}

// memory is the memory of a process, in bytes.
type memory struct {
	peak int64 // the highest resident size since the start
	now  int64 // the resident size
	own  int64 // the resident size without file pages, which the system can drop
}

// fleetWorkers is the number of clients that fill the fleet concurrently, so that many
// writes share one sync of the disk.
const fleetWorkers = 32

// measureFleet fills a conductor with nodes, restarts it, and measures it during some
// rounds of power sync. The first round begins at the start of the conductor.
func measureFleet(ctx context.Context, program, dir string, nodes, rounds int, progress progress) (f fleet) {
	f.nodes = nodes
	data := filepath.Join(dir, "fleet")
	progress("filling a conductor with %d nodes", nodes)
	c := startConductor(ctx, program, "-data", data)
	var uuids []string
	filled := try.Catch(func() { uuids, f.filled = fillNodes(ctx, c.url, nodes) })
	try.OK(errors.Join(filled, c.stop()))
	progress("starting it again, for %d rounds of its power sync", rounds)
	c = startConductor(ctx, program, "-data", data)
	defer try.Finally(c.stop)
	f.startedCPU, f.started = cpuOf(c.process.Process.Pid), c.took
	s := &seeded{newClient(c.url), uuids}
	defer s.close()
	answers := try.Get(sample(ctx, s, func(ctx context.Context) error { return c.roundsOver(ctx, rounds) }))
	f.rounds = c.finished()
	f.quiet, f.busy = split(answers, f.rounds)
	f.memory = memoryOf(c.process.Process.Pid)
	return f
}

// fillNodes creates nodes, makes them manageable, and returns their UUIDs and the time.
func fillNodes(ctx context.Context, url string, nodes int) (uuids []string, took time.Duration) {
	s := newClient(url)
	defer s.close()
	uuids = make([]string, nodes)
	start := time.Now()
	try.OK(each(ctx, nodes, fleetWorkers, func(ctx context.Context, i int) error {
		return try.Catch(func() {
			uuids[i] = try.Get(s.create(ctx, fmt.Sprintf("node-%d", i)))
			try.OK(s.provision(ctx, uuids[i], "manage"))
			try.OK(s.settle(ctx, uuids[i], "manageable"))
		})
	}))
	return uuids, time.Since(start)
}

// ticks is the number of clock ticks per second in /proc.
const ticks = 100

// cpuOf returns the processor time of a process.
func cpuOf(pid int) (sum time.Duration) {
	stat := try.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))
	_, rest, _ := strings.Cut(string(stat), ") ") // the program's name ends with ")"
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		try.Failf("/proc/%d/stat has %d fields after the name", pid, len(fields))
	}
	for _, field := range fields[11:13] { // user time and system time
		n, err := strconv.ParseInt(field, 10, 64)
		try.OKf(err, "/proc/%d/stat", pid)
		sum += time.Duration(n) * time.Second / ticks
	}
	return sum
}

// memoryOf returns the memory of a process.
func memoryOf(pid int) (m memory) {
	status := try.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		field := map[string]*int64{"VmHWM": &m.peak, "VmRSS": &m.now, "RssAnon": &m.own}[name]
		if field == nil {
			continue
		}
		kibibytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		try.OKf(err, "/proc/%d/status", pid)
		*field = kibibytes << 10
	}
	return m
}
