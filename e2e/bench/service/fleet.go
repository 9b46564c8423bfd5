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
func measureFleet(ctx context.Context, program, dir string, nodes, rounds int, progress progress) (f fleet, err error) {
	f.nodes = nodes
	data := filepath.Join(dir, "fleet")
	progress("filling a conductor with %d nodes", nodes)
	c, err := startConductor(ctx, program, "-data", data)
	if err != nil {
		return f, err
	}
	uuids, took, err := fillNodes(ctx, c.url, nodes)
	if err = errors.Join(err, c.stop()); err != nil {
		return f, err
	}
	f.filled = took
	progress("starting it again, for %d rounds of its power sync", rounds)
	if c, err = startConductor(ctx, program, "-data", data); err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if f.startedCPU, err = cpuOf(c.process.Process.Pid); err != nil {
		return f, err
	}
	f.started = c.took
	s := &seeded{newClient(c.url), uuids}
	defer s.close()
	answers, err := sample(ctx, s, func(ctx context.Context) error { return c.roundsOver(ctx, rounds) })
	if err != nil {
		return f, err
	}
	f.rounds = c.finished()
	f.quiet, f.busy = split(answers, f.rounds)
	f.memory, err = memoryOf(c.process.Process.Pid)
	return f, err
}

// fillNodes creates nodes, makes them manageable, and returns their UUIDs and the time.
func fillNodes(ctx context.Context, url string, nodes int) (uuids []string, took time.Duration, err error) {
	s := newClient(url)
	defer s.close()
	uuids = make([]string, nodes)
	start := time.Now()
	err = each(ctx, nodes, fleetWorkers, func(ctx context.Context, i int) (err error) {
		if uuids[i], err = s.create(ctx, fmt.Sprintf("node-%d", i)); err != nil {
			return err
		}
		if err := s.provision(ctx, uuids[i], "manage"); err != nil {
			return err
		}
		return s.settle(ctx, uuids[i], "manageable")
	})
	return uuids, time.Since(start), err
}

// ticks is the number of clock ticks per second in /proc.
const ticks = 100

// cpuOf returns the processor time of a process.
func cpuOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the program's name ends with ")"
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields after the name", pid, len(fields))
	}
	var sum time.Duration
	for _, field := range fields[11:13] { // user time and system time
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		sum += time.Duration(n) * time.Second / ticks
	}
	return sum, nil
}

// memoryOf returns the memory of a process.
func memoryOf(pid int) (m memory, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		field := map[string]*int64{"VmHWM": &m.peak, "VmRSS": &m.now, "RssAnon": &m.own}[name]
		if field == nil {
			continue
		}
		kibibytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			return m, fmt.Errorf("/proc/%d/status: %w", pid, err)
		}
		*field = kibibytes << 10
	}
	return m, nil
}
