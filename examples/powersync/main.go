// Powersync syncs the recorded power states of a fleet of machines. It starts its own
// machines with Redfish BMCs: some report a wrong power state, some hang, some are
// dead, and some are switched off behind the syncer's back. Some nodes are in enroll;
// their BMCs get no requests.
//
//	go run ./examples/powersync
//	go run ./examples/powersync -nodes 50 -workers 8 -rounds 6 -metrics 127.0.0.1:9100
//
// After the rounds the broken BMCs are repaired, a recovery round takes their
// nodes out of maintenance, and a last round syncs all nodes. The exit status is 0 if
// then every recorded power state agrees with the hardware and no BMC of a node in
// enroll got a request, 1 if not, 2 for wrong usage, and 130 or 143 after Ctrl-C or
// SIGTERM.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/powersync"
)

// bmcTimeout bounds an operation of a BMC. It is short because the BMCs are local.
const bmcTimeout = 1500 * time.Millisecond

func main() {
	program.Main("powersync", func(ctx context.Context, args []string, out, errOut io.Writer) error {
		return run(ctx, args, out, errOut, isTerminal(os.Stdout))
	})
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

type options struct {
	nodes, workers, rounds int
	metrics                string
}

func parseFlags(args []string, errOut io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("powersync", flag.ContinueOnError)
	flags.IntVar(&o.nodes, "nodes", 200, "number of machines, 1 to 2000")
	flags.IntVar(&o.workers, "workers", 32, "number of machines that are read concurrently, 1 to 2000")
	flags.IntVar(&o.rounds, "rounds", 5, "number of rounds before the BMCs are repaired, 1 to 1000000")
	flags.StringVar(&o.metrics, "metrics", "", "serve /metrics and /debug/vars on this `HOST:PORT` meanwhile")
	if err := program.Parse(flags, args, errOut); err != nil {
		return o, err
	}
	return o, cmp.Or(
		program.Between("nodes", o.nodes, 1, 2000),
		program.Between("workers", o.workers, 1, 2000),
		program.Between("rounds", o.rounds, 1, 1_000_000),
	)
}

func run(ctx context.Context, args []string, out, errOut io.Writer, terminal bool) error {
	o, err := parseFlags(args, errOut)
	if err != nil {
		return err
	}
	return syncFleet(ctx, o, out, terminal)
}

// syncFleet is the example: a store, a driver, a syncer, and rounds.
func syncFleet(ctx context.Context, o options, out io.Writer, terminal bool) error {
	fleet, err := openFleet(o.nodes)
	if err != nil {
		return err
	}
	defer fleet.close()
	fmt.Fprintf(out, "%d machines: %v\n", o.nodes, fleet.roles())

	driver, err := fleet.driver()
	if err != nil {
		return err
	}
	defer driver.Close(context.WithoutCancel(ctx))
	syncer, err := powersync.New(powersync.Config{
		Store:   &fleet.records,
		Driver:  driver,
		Name:    "examples/powersync",
		Workers: o.workers,
		Timeout: 2 * bmcTimeout,
	})
	if err != nil {
		return err
	}
	if o.metrics != "" {
		stop, err := serveMetrics(o.metrics, syncer)
		if err != nil {
			return err
		}
		defer stop()
	}

	show := progress{out: out, terminal: terminal, syncer: syncer, nodes: o.nodes}
	if err := doRounds(ctx, fleet, o.rounds, show); err != nil {
		return err
	}
	printTotals(out, syncer.Stats())
	return fleet.check()
}

// doRounds does rounds with broken BMCs, repairs them, and does a recovery round and a
// last round.
func doRounds(ctx context.Context, fleet *fleet, rounds int, show progress) error {
	for i := range rounds {
		var disturbance sync.WaitGroup
		disturbance.Go(func() { fleet.disturb(i) })
		err := show.round(ctx, fmt.Sprintf("%d of %d", i+1, rounds), show.syncer.Sync)
		disturbance.Wait()
		if err != nil {
			return err
		}
	}
	if err := fleet.repair(); err != nil {
		return err
	}
	fmt.Fprintln(show.out, "The broken BMCs are repaired.")
	if err := show.round(ctx, "repaired", show.syncer.Recover); err != nil {
		return err
	}
	return show.round(ctx, "last", show.syncer.Sync)
}

func printTotals(out io.Writer, s powersync.Stats) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\n%d rounds, %d power states read, %d set\n", s.Rounds+s.Recoveries, s.Reads, s.Sets)
	for _, outcome := range slices.Sorted(maps.Keys(s.Nodes)) {
		if n := s.Nodes[outcome]; n > 0 {
			fmt.Fprintf(table, "%d\t  %s\n", n, outcome)
		}
	}
	table.Flush()
}
