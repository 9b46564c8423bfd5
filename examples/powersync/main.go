// Powersync keeps the recorded power states of a hall of machines true. It
// brings its own hall: Redfish BMCs of which some lie about their power state,
// some hang, some are dead, and some are switched behind the syncer's back.
// Nodes in enroll are among them, and nobody asks those.
//
//	go run ./examples/powersync
//	go run ./examples/powersync -nodes 50 -workers 8 -rounds 6 -metrics 127.0.0.1:9100
//
// After the rounds the broken BMCs are repaired, a recovery round takes their
// nodes out of maintenance, and a last round puts all in order. The exit status
// is 0 when every recorded power state is true then and no node in enroll was
// asked, 1 when not, and 2 when the command was used wrongly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/ironstate/ironstate/powersync"
)

const (
	exitGood = iota
	exitFailed
	exitUsage
)

// bmcTimeout is how long a BMC may take: those of the hall are near.
const bmcTimeout = 1500 * time.Millisecond

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, isTerminal(os.Stdout))
	stop()
	os.Exit(code)
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
	flags.SetOutput(io.Discard)
	flags.IntVar(&o.nodes, "nodes", 200, "how many machines the hall has, 1 to 2000")
	flags.IntVar(&o.workers, "workers", 32, "how many of them are looked at at a time")
	flags.IntVar(&o.rounds, "rounds", 5, "how many rounds before the BMCs are repaired")
	flags.StringVar(&o.metrics, "metrics", "", "serve /metrics and /debug/vars on this `HOST:PORT` meanwhile")
	flags.Usage = func() {}
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(errOut, "usage: powersync [-nodes N] [-workers N] [-rounds N] [-metrics HOST:PORT]")
		flags.SetOutput(errOut)
		flags.PrintDefaults()
		return o, err
	case err != nil:
		return o, err
	case flags.NArg() > 0:
		return o, fmt.Errorf("there is no argument %q: all is said with flags", flags.Arg(0))
	case o.nodes < 1 || o.nodes > 2000:
		return o, fmt.Errorf("-nodes is %d: want 1 to 2000", o.nodes)
	case o.workers < 1:
		return o, fmt.Errorf("-workers is %d: want 1 or more", o.workers)
	case o.rounds < 1:
		return o, fmt.Errorf("-rounds is %d: want 1 or more", o.rounds)
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, errOut io.Writer, terminal bool) int {
	o, err := parseFlags(args, errOut)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitGood
	case err != nil:
		fmt.Fprintln(errOut, "powersync:", err)
		return exitUsage
	}
	if err := syncHall(ctx, o, out, terminal); err != nil {
		fmt.Fprintln(errOut, "powersync:", err)
		return exitFailed
	}
	return exitGood
}

// syncHall is the example: a store, a driver, a syncer, and rounds.
func syncHall(ctx context.Context, o options, out io.Writer, terminal bool) error {
	hall, err := openHall(o.nodes)
	if err != nil {
		return err
	}
	defer hall.close()
	fmt.Fprintf(out, "%d machines: %v\n", o.nodes, hall.roles())

	driver, err := hall.driver()
	if err != nil {
		return err
	}
	defer driver.Close(context.WithoutCancel(ctx))
	syncer, err := powersync.New(powersync.Config{
		Store:   &hall.records,
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
	for i := range o.rounds {
		var disturbance sync.WaitGroup
		disturbance.Go(func() { hall.disturb(i) })
		err := show.round(ctx, fmt.Sprintf("%d of %d", i+1, o.rounds), syncer.Sync)
		disturbance.Wait()
		if err != nil {
			return err
		}
	}
	if err := hall.repair(); err != nil {
		return err
	}
	fmt.Fprintln(out, "The broken BMCs are repaired.")
	if err := show.round(ctx, "repaired", syncer.Recover); err != nil {
		return err
	}
	if err := show.round(ctx, "last", syncer.Sync); err != nil {
		return err
	}
	printTotals(out, syncer.Stats())
	return hall.check()
}

func printTotals(out io.Writer, s powersync.Stats) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\n%d rounds, %d power states read, %d set\n", s.Rounds+s.Recoveries, s.Reads, s.Sets)
	for outcome, n := range s.Nodes.All() {
		fmt.Fprintf(table, "%d\t  %s\n", n, outcome)
	}
	table.Flush()
}
