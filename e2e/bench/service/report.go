// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/host"
	"github.com/ironstate/ironstate/internal/try"
)

// printComparison prints the rates of both services.
func printComparison(out io.Writer, how comparison, rows []row) {
	fmt.Fprint(out, "| a second | clients | Ironic | conductor | times |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range rows {
		fmt.Fprintf(out, "| %s | %d | %s | %s | %.0f |\n", r.workload, r.workers, r.ironic, r.ours, r.times())
	}
	fmt.Fprintf(out, "\nMedians of %d measurements of %v, in turns; %d nodes in each service.\n", how.rounds, how.long, how.nodes)
	for _, r := range rows {
		for name, side := range map[string]rate{"Ironic": r.ironic, "the conductor": r.ours} {
			if side.failed > 0 {
				fmt.Fprintf(out, "\n%s by %d clients: %d failed with %s and are not counted; the first: %v\n", r.workload, r.workers,
					side.failed, name, side.err)
			}
		}
	}
}

func (r rate) String() string {
	if r.perSecond < 100 {
		return fmt.Sprintf("%.1f", r.perSecond)
	}
	return fmt.Sprintf("%.0f", r.perSecond)
}

// printFleet prints the figures of a large fleet.
func printFleet(out io.Writer, f fleet) {
	fmt.Fprintf(out, "\n| the conductor with %d nodes | |\n| --- | --- |\n", f.nodes)
	fmt.Fprintf(out, "| created and managed by %d clients | %v |\n", fleetWorkers, rounded(f.filled))
	fmt.Fprintf(out, "| started again, until it answers (of the processors) | %v (%v) |\n", rounded(f.started), rounded(f.startedCPU))
	fmt.Fprintf(out, "| memory: peak, now, without mapped files | %s, %s, %s |\n", mebibytes(f.memory.peak), mebibytes(f.memory.now),
		mebibytes(f.memory.own))
	for i, round := range f.rounds {
		fmt.Fprintf(out, "| round %d of the power sync | %v |\n", i+1, rounded(round.took()))
	}
	fmt.Fprint(out, "\n| answered in | a second | outside of rounds: median, 99%, most | during one: median, 99%, "+
		"most |\n| --- | --- | --- | --- |\n")
	for i, stream := range streams {
		fmt.Fprintf(out, "| %s | %.0f | %v | %v |\n", stream.workload.name, float64(time.Second)/float64(stream.every), f.quiet[i], f.busy[i])
	}
}

// printCluster prints the figures of conductors that share a fleet.
func printCluster(out io.Writer, c cluster) {
	fmt.Fprintf(out, "\n| %d nodes on one etcd, conductors | started in | known to all after | GET a node, a second | PATCH a node, "+
		"a second |\n| --- | --- | --- | --- | --- |\n", c.nodes)
	for i, size := range c.sizes {
		fmt.Fprintf(out, "| %d | %v | %v | %s | %s |\n", i+1, rounded(size.started), rounded(size.joined), size.show, size.patch)
	}
	fmt.Fprintf(out, "\n| three conductors with %d nodes | |\n| --- | --- |\n", c.nodes)
	fmt.Fprintf(out, "| created and managed by %d clients of one | %v |\n", fleetWorkers, rounded(c.filled))
	for i, m := range c.memory {
		fmt.Fprintf(out, "| memory of conductor %d: peak, now | %s, %s |\n", i+1, mebibytes(m.peak), mebibytes(m.now))
	}
	for i, took := range c.rounds {
		fmt.Fprintf(out, "| a round of the power sync of conductor %d | %v |\n", i+1, rounded(took))
	}
	fmt.Fprintf(out, "| one is killed, until the others know | %v |\n", rounded(c.noticed))
	fmt.Fprintf(out, "| one is killed, until %d of its nodes are provided by the others | %v |\n", c.orphans, rounded(c.takeover))
	fmt.Fprintf(out, "| all are started again, one after the other | %v: %d requests, %d made again, %d failed then |\n",
		rounded(c.rolled), c.requests, c.retried, c.failed)
}

func (l latencies) String() string {
	if l.requests == 0 {
		return "-"
	}
	return fmt.Sprintf("%v, %v, %v (%d)", rounded(l.p50), rounded(l.p99), rounded(l.most), l.requests)
}

// rounded returns a time rounded to about three digits.
func rounded(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	default:
		return d.Round(time.Microsecond)
	}
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// printMachine prints the properties of the machine on which the figures depend.
func printMachine(out io.Writer, dir, before string) {
	wait := diskWait(dir)
	try.Get(fmt.Fprintf(out, "\nMeasured on %s with %s on %s (%d cores, which the client shares); "+
		"load averages of the machine before and after: %s and %s. A write of 1 KiB is on its disk after %v, in the median.\n",
		time.Now().Format(time.DateOnly), runtime.Version(), host.CPU(), runtime.NumCPU(), before, machineLoad(), rounded(wait)))
}

// diskWait returns the median time of a synced write to the disk of a folder.
func diskWait(dir string) time.Duration {
	file := try.Get(os.Create(filepath.Join(dir, "disk")))
	defer file.Close()
	times := make([]time.Duration, 500)
	block := make([]byte, 1<<10)
	for i := range times {
		start := time.Now()
		try.Get(file.Write(block))
		try.OK(file.Sync())
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// machineLoad returns the load averages of the last 1, 5 and 15 minutes.
func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 2 {
		return strings.Join(fields[:3], " ")
	}
	return "unknown"
}
