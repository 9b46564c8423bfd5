// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

const fleetSize = 100_000

// fleet returns a store of nodes that are on and available.
func fleet(n int) *powersync.Memory {
	store := new(powersync.Memory)
	for i := range n {
		store.Put(nodeNumber(i))
	}
	return store
}

func nodeNumber(i int) powersync.Record {
	return powersync.Record{ID: fmt.Sprintf("node-%06d", i), ProvisionState: states.Available, Power: states.PowerOn}
}

// on is hardware that is on and takes a fixed time to answer.
type on struct{ takes time.Duration }

func (d on) PowerState(context.Context, string) (states.Power, error) {
	if d.takes > 0 {
		time.Sleep(d.takes)
	}
	return states.PowerOn, nil
}

func (d on) SetPower(context.Context, string, states.Power) error { return nil }

// benchmarkRounds reports the cost of a round per node.
func benchmarkRounds(b *testing.B, config powersync.Config) {
	syncer, err := powersync.New(config)
	require.NoError(b, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	nodes := 0
	for b.Loop() {
		report, err := syncer.Sync(b.Context())
		require.NoError(b, err)
		nodes += report.Nodes[powersync.Equal]
	}
	runtime.ReadMemStats(&after)
	require.Equal(b, fleetSize*b.N, nodes)
	b.ReportMetric(float64(nodes)/b.Elapsed().Seconds(), "nodes/s")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(nodes), "allocs/node")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(nodes), "B/node")
}

// The goal is 200,000 nodes/s without latency.
func BenchmarkSync(b *testing.B) {
	benchmarkRounds(b, powersync.Config{Store: fleet(fleetSize), Driver: on{}})
}

// 1,000 workers on 100,000 nodes of 20 ms each would ideally take 2 s; the goal
// is 1.10 times that. BenchmarkSleepsAlone measures the sleeps without a Syncer.
func BenchmarkSyncSlowHardware(b *testing.B) {
	benchmarkRounds(b, powersync.Config{Store: fleet(fleetSize), Driver: on{slow}, Workers: manyWorkers})
	reportIdeal(b)
}

func BenchmarkSleepsAlone(b *testing.B) {
	for b.Loop() {
		var workers sync.WaitGroup
		for range manyWorkers {
			workers.Go(func() {
				for range fleetSize / manyWorkers {
					time.Sleep(slow)
				}
			})
		}
		workers.Wait()
	}
	reportIdeal(b)
}

const (
	slow        = 20 * time.Millisecond
	manyWorkers = 1000
)

func reportIdeal(b *testing.B) {
	const ideal = slow * fleetSize / manyWorkers
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/ideal.Seconds(), "x-ideal")
}

// listed is a fleet that takes no memory: it makes its records on demand.
type listed int

func (n listed) Records(context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		for i := range int(n) {
			if !yield(nodeNumber(i), nil) {
				return
			}
		}
	}
}

func (listed) Load(_ context.Context, id string) (powersync.Record, error) {
	return powersync.Record{ID: id, ProvisionState: states.Available, Power: states.PowerOn}, nil
}

func (listed) Update(context.Context, powersync.Record) error { return nil }

// midway is hardware that measures the heap when half of a fleet was read. All other
// workers wait in their reads meanwhile, so that only live memory is measured.
type midway struct {
	on
	half, workers int64
	seen, reading atomic.Int64
	gate          sync.RWMutex
	heap          uint64
}

func (d *midway) PowerState(ctx context.Context, id string) (states.Power, error) {
	d.reading.Add(1)
	defer d.reading.Add(-1)
	if d.seen.Add(1) == d.half {
		d.gate.Lock()
		defer d.gate.Unlock()
		for d.reading.Load() < d.workers {
			runtime.Gosched()
		}
		d.heap = heap()
		return d.on.PowerState(ctx, id)
	}
	d.gate.RLock()
	defer d.gate.RUnlock()
	return d.on.PowerState(ctx, id)
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // the second collection empties the sync.Pools
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// heapOfRound returns the live heap of a round of n nodes, in bytes.
func heapOfRound(tb testing.TB, n, workers int) int64 {
	driver := &midway{half: int64(n / 2), workers: int64(workers)}
	syncer, err := powersync.New(powersync.Config{Store: listed(n), Driver: driver, Workers: workers})
	require.NoError(tb, err)
	before := heap()
	_, err = syncer.Sync(tb.Context())
	require.NoError(tb, err)
	runtime.KeepAlive(syncer)
	return int64(driver.heap) - int64(before)
}

// Memory grows with the workers and not with the fleet.
func BenchmarkHeapOfARound(b *testing.B) {
	for _, workers := range []int{8, 1000} {
		for _, n := range []int{10_000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("nodes=%d/workers=%d", n, workers), func(b *testing.B) {
				var bytes int64
				for b.Loop() {
					bytes = heapOfRound(b, n, workers)
				}
				b.ReportMetric(float64(bytes)/1024, "KiB-live")
			})
		}
	}
}
