// Lockstep compares this module with a real Ironic and prints the result as
// Markdown. It needs the Debian packages ironic-api, ironic-conductor, openipmi
// and ipmitool, and some minutes.
//
//	go run ./internal/lockstep/cmd/lockstep
//
// The exit status is 0 when there is no difference but those on purpose, 1 when
// there is one or the comparison failed, 2 for bad usage, and 130 or 143 when it
// was ended by Ctrl-C or SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/ironstate/ironstate/internal/lockstep"
	"github.com/ironstate/ironstate/internal/program"
)

func main() { program.Main("lockstep", run) }

var errDifferent = errors.New("there are differences, see the report")

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("lockstep", flag.ContinueOnError)
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "`number` that the lives at random are made from")
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	version, err := lockstep.Version(ctx)
	if err != nil {
		return err
	}
	all, err := lockstep.All(ctx, *seed)
	if err != nil {
		return fmt.Errorf("seed %d: %w", *seed, err)
	}
	if err := lockstep.Report(out, version, *seed, all); err != nil {
		return err
	}
	for _, c := range all {
		if len(c.Unexpected()) > 0 || len(c.OutOfDate()) > 0 {
			return errDifferent
		}
	}
	return nil
}
