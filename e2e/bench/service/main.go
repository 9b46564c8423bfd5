// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ironstate/ironstate/e2e/internal/build"
	"github.com/ironstate/ironstate/e2e/internal/etcdserver"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/try"
)

func main() {
	if !etcdserver.Main() {
		program.Main("service", run)
	}
}

// progress prints a line of progress, with the arguments of Printf.
type progress func(format string, args ...any)

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	rounds := flags.Int("rounds", 5, "measurements of each workload and service, of which the medians are printed, up to 100; "+
		"0 for no comparison")
	long := flags.Duration("time", 2*time.Second, "time of each measurement")
	nodes := flags.Int("nodes", 1000, "nodes of each service that are compared, 1 to 1000")
	many := flags.Int("fleet", 100_000, "nodes of the large fleet, 0 for none, up to 1000000")
	syncs := flags.Int("syncs", 2, "rounds of power sync to measure with the large fleet, one every two minutes, 1 to 100")
	shared := flags.Int("cluster", 0, "nodes of a fleet that three conductors share on one etcd, 0 for none, up to 1000000")
	short := flags.Bool("short", false, "a quick check of this program: one measurement, few nodes")
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	if *short {
		*rounds, *long, *nodes, *many, *syncs, *shared = 1, 50*time.Millisecond, 10, 200, 1, 200
	}
	for _, check := range []struct {
		name             string
		value, min, most int
	}{
		{"rounds", *rounds, 0, 100}, {"nodes", *nodes, 1, 1000}, {"fleet", *many, 0, 1_000_000}, {"syncs", *syncs, 1, 100},
		{"cluster", *shared, 0, 1_000_000},
	} {
		if err := program.Between(check.name, check.value, check.min, check.most); err != nil {
			return err
		}
	}
	return try.Catch(func() {
		dir := try.Get(os.MkdirTemp("", "bench-service-"))
		defer os.RemoveAll(dir)
		built := filepath.Join(dir, "ironstate")
		try.OK(build.Ironstate(ctx, built))
		progress := func(format string, args ...any) { fmt.Fprintf(errOut, format+"\n", args...) }
		before := machineLoad()
		if *rounds > 0 {
			how := comparison{rounds: *rounds, long: *long, nodes: *nodes, concurrency: []int{1, 8}}
			printComparison(out, how, compare(ctx, built, dir, how, progress))
		}
		if *many > 0 {
			printFleet(out, measureFleet(ctx, built, dir, *many, *syncs, progress))
		}
		if *shared > 0 {
			printCluster(out, measureCluster(ctx, built, dir, *shared, *long, *short, progress))
		}
		printMachine(out, dir, before)
	})
}
