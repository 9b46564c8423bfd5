// SPDX-License-Identifier: Apache-2.0

// Lockstep compares this module with a real Ironic and prints the result as
// Markdown. It needs the Debian packages ironic-api, ironic-conductor, openipmi
// and ipmitool. A run takes some minutes.
//
//	go run ./e2e/lockstep/cmd/lockstep
//
// The exit status is 0 if all differences are intended, 1 if one is not or if the
// comparison failed, 2 for wrong usage, and 130 or 143 after Ctrl-C or SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/internal/program"
)

func main() { program.Main("lockstep", run) }

var errDifferent = errors.New("there are differences, see the report")

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("lockstep", flag.ContinueOnError)
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "`seed` of the random lives")
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
