// Lockstep compares this module with a real Ironic and prints the result as
// Markdown. It needs the Debian packages ironic-api, ironic-conductor, openipmi
// and ipmitool, and some minutes.
//
//	go run ./internal/lockstep/cmd/lockstep
//
// The exit status is 0 when there is no difference but those on purpose, 1 when
// there is one or the comparison failed, 2 for bad usage.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ironstate/ironstate/internal/lockstep"
)

func main() {
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "`number` that the lives at random are made from")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "lockstep: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	same, err := run(ctx, *seed)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if !same || err != nil {
		os.Exit(1)
	}
}

// run prints the report, and tells whether there is no difference but those on
// purpose.
func run(ctx context.Context, seed uint64) (same bool, err error) {
	version, err := lockstep.Version(ctx)
	if err != nil {
		return false, err
	}
	all, err := lockstep.All(ctx, seed)
	if err != nil {
		return false, fmt.Errorf("seed %d: %w", seed, err)
	}
	same = true
	for _, c := range all {
		same = same && len(c.Unexpected()) == 0 && len(c.OutOfDate()) == 0
	}
	return same, lockstep.Report(os.Stdout, version, seed, all)
}
