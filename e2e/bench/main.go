// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"io"
	"testing"

	"github.com/ironstate/ironstate/internal/program"
)

func main() { program.Main("bench", run) }

// run returns when its context ends, and leaves the current benchmark running: package
// testing cannot stop it.
func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	testing.Init()
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	count := flags.Int("count", 5, "runs, of which the medians are printed, 1 to 1000")
	each := flags.String("benchtime", "300ms", "time or iterations of each benchmark, as go test takes it")
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	if err := program.Between("count", *count, 1, 1000); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- report(out, *count, *each) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
