package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A fleet is what was measured of a conductor with many nodes.
type fleet struct {
	nodes  int
	filled time.Duration // from the first request until all nodes are manageable
	// The others are of the process that was started again.
	started time.Duration // until it has read all nodes and answers
	round   time.Duration // of the power sync
	memory  memory
	// quiet and busy are the answers without and during a round, by stream.
	quiet, busy []latencies
}

// memory is what a process has, in bytes.
type memory struct {
	most int64 // resident, ever
	now  int64 // resident
	own  int64 // resident, without files: the rest can be read again
}

// fleetWorkers are how many clients fill the fleet at once: many writes share one
// wait for the disk.
const fleetWorkers = 32

// measureFleet fills a conductor with nodes, starts it again, and measures it during
// the first round of its power sync and after it.
func measureFleet(ctx context.Context, program, dir string, nodes int, quiet time.Duration, progress progress) (f fleet, err error) {
	f.nodes = nodes
	data := filepath.Join(dir, "fleet")
	progress("filling a conductor with %d nodes", nodes)
	uuids, err := f.fill(ctx, program, data)
	if err != nil {
		return f, err
	}
	progress("starting it again")
	c, err := startConductor(ctx, program, data)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	f.started = c.took
	s := &seeded{newClient(c.url), uuids}
	defer s.close()
	if f.busy, err = sample(ctx, s, c.firstRound); err != nil {
		return f, err
	}
	rounds := c.finished()
	if len(rounds) == 0 {
		return f, errors.New("the power sync has done no round")
	}
	f.round = rounds[0]
	if f.quiet, err = sample(ctx, s, after(quiet)); err != nil {
		return f, err
	}
	f.memory, err = memoryOf(c.process.Process.Pid)
	return f, err
}

// fill creates nodes and makes them manageable.
func (f *fleet) fill(ctx context.Context, program, data string) (uuids []string, err error) {
	c, err := startConductor(ctx, program, data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	s := newClient(c.url)
	defer s.close()
	uuids = make([]string, f.nodes)
	start := time.Now()
	err = each(ctx, f.nodes, fleetWorkers, func(ctx context.Context, i int) (err error) {
		if uuids[i], err = s.create(ctx, fmt.Sprintf("node-%d", i)); err != nil {
			return err
		}
		if err := s.provision(ctx, uuids[i], "manage"); err != nil {
			return err
		}
		return s.settle(ctx, uuids[i], "manageable")
	})
	f.filled = time.Since(start)
	return uuids, err
}

// memoryOf returns the memory of a process.
func memoryOf(pid int) (m memory, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		field := map[string]*int64{"VmHWM": &m.most, "VmRSS": &m.now, "RssAnon": &m.own}[name]
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

// A stream is one kind of request, made at fixed times whether the last one is
// answered or not, as many independent clients do.
type stream struct {
	workload workload
	every    time.Duration
}

var streams = []stream{
	{workloads[show], 4 * time.Millisecond},
	{workloads[patch], 20 * time.Millisecond},
	{workloads[list], 200 * time.Millisecond},
}

// latencies are the times to answer the requests of a stream.
type latencies struct {
	stream   stream
	requests int
	p50, p99 time.Duration
	most     time.Duration
}

// after returns a function that waits for a time.
func after(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error { return sleep(ctx, d) }
}

// sample makes the requests of all streams until a function returns.
func sample(ctx context.Context, s *seeded, until func(context.Context) error) ([]latencies, error) {
	sampling, stop := context.WithCancel(ctx)
	defer stop()
	times := make([][]time.Duration, len(streams))
	failures := make(chan error, len(streams))
	for i, stream := range streams {
		go func() {
			var err error
			times[i], err = stream.run(ctx, sampling, s)
			failures <- err
		}()
	}
	err := until(ctx)
	stop()
	for range streams {
		err = errors.Join(err, <-failures)
	}
	if err != nil {
		return nil, err
	}
	all := make([]latencies, len(streams))
	for i, stream := range streams {
		slices.Sort(times[i])
		at := func(share float64) time.Duration { return times[i][int(share*float64(len(times[i])-1))] }
		all[i] = latencies{stream, len(times[i]), at(0.5), at(0.99), at(1)}
	}
	return all, nil
}

// run makes requests until sampling ends, and one at least.
func (st stream) run(ctx, sampling context.Context, s *seeded) ([]time.Duration, error) {
	type outcome struct {
		took time.Duration
		err  error
	}
	outcomes := make(chan outcome)
	begun := 0
	ticks := time.NewTicker(st.every)
	defer ticks.Stop()
	var times []time.Duration
	var err error
	take := func(o outcome) {
		begun--
		times = append(times, o.took)
		err = errors.Join(err, o.err)
	}
	for number := 0; sampling.Err() == nil || number == 0; {
		select {
		case <-ticks.C:
			begun++
			number++
			go func() {
				start := time.Now()
				err := st.workload.do(ctx, s, number)
				outcomes <- outcome{time.Since(start), err}
			}()
		case o := <-outcomes:
			take(o)
		case <-sampling.Done():
		}
	}
	for begun > 0 {
		take(<-outcomes)
	}
	return times, err
}
