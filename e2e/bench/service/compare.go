// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/internal/try"
)

// comparison configures the comparison of the services.
type comparison struct {
	rounds      int
	long        time.Duration // of one measurement
	nodes       int
	concurrency []int
}

// A row has the rates of a workload for Ironic and for the conductor.
type row struct {
	workload     string
	workers      int
	ironic, ours rate
}

func (r row) times() float64 { return r.ours.perSecond / r.ironic.perSecond }

// seedWorkers is the number of clients that create nodes concurrently. SQLite permits
// one write at a time.
const seedWorkers = 2

// compare measures a conductor and an Ironic in turns, and returns the median rates.
func compare(ctx context.Context, program, dir string, how comparison, progress progress) (rows []row) {
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ironic := try.Get(lockstep.Start(starting, lockstep.Options{}))
	defer try.Finally(ironic.Close)
	service := startConductor(ctx, program, "-data", filepath.Join(dir, "compared"))
	defer try.Finally(service.stop)
	var sides [2]*seeded
	for i, url := range []string{ironic.Endpoint(), service.url} {
		progress("creating %d nodes at %s", how.nodes, url)
		side := &seeded{newClient(url), make([]string, how.nodes)}
		defer side.close()
		err := each(ctx, how.nodes, seedWorkers, func(ctx context.Context, n int) (err error) {
			side.nodes[n], err = side.create(ctx, fmt.Sprintf("node-%d", n))
			return err
		})
		try.OKf(err, "create nodes at %s", url)
		sides[i] = side
	}
	for _, w := range workloads {
		for _, workers := range how.concurrency {
			r := row{workload: w.name, workers: workers}
			var rates [2][]rate
			for range how.rounds {
				for i, side := range sides {
					rates[i] = append(rates[i], try.Get(load(ctx, side, w, workers, how.long)))
				}
			}
			r.ironic, r.ours = median(rates[0]), median(rates[1])
			progress("%s, %d at once: %.1f and %.1f a second", w.name, workers, r.ironic.perSecond, r.ours.perSecond)
			rows = append(rows, r)
		}
	}
	return rows
}

// median returns the median rate, with the sum of all failures.
func median(rates []rate) rate {
	slices.SortFunc(rates, func(a, b rate) int { return cmp.Compare(a.perSecond, b.perSecond) })
	middle := rates[len(rates)/2]
	middle.failed, middle.err = 0, nil
	for _, r := range rates {
		middle.failed += r.failed
		middle.err = cmp.Or(middle.err, r.err)
	}
	return middle
}
