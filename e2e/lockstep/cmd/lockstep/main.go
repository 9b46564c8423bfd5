// SPDX-License-Identifier: Apache-2.0

// Lockstep compares this module with a real Ironic and prints the result as
// Markdown. It needs the Debian packages ironic-api, ironic-conductor, openipmi
// and ipmitool. A run takes some minutes.
//
//	go run ./e2e/lockstep/cmd/lockstep
//	go run ./e2e/lockstep/cmd/lockstep -root /var/cache/ironstate/sid -one-in 20
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
	var r lockstep.Run
	flags := flag.NewFlagSet("lockstep", flag.ContinueOnError)
	flags.Uint64Var(&r.Seed, "seed", uint64(time.Now().UnixNano()), "`seed` of the random lives and of the sample")
	flags.IntVar(&r.OneIn, "one-in", 1, "give one of this `number` of the inputs that are asked in every state")
	root := flags.String("root", "", "the `folder` of an Ironic that e2e/ironic has made; without it, the Ironic of this machine")
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	var err error
	if r.Ironic, err = lockstep.Find(ctx, *root); err != nil {
		return err
	}
	all, err := r.Do(ctx)
	if err != nil {
		return fmt.Errorf("seed %d: %w", r.Seed, err)
	}
	if err := r.Report(out, all); err != nil {
		return err
	}
	for _, c := range all {
		if c.Failed != nil || len(c.Unexpected(r.Ironic.Series)) > 0 || len(c.OutOfDate(r.Ironic.Series)) > 0 {
			return errDifferent
		}
	}
	return nil
}
