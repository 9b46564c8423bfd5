// SPDX-License-Identifier: Apache-2.0

// Apidiff sends the same random requests to a real Ironic and to this module's conductor,
// and prints the answers that differ, by class. It needs the Debian packages ironic-api
// and ironic-conductor.
//
//	go run ./e2e/lockstep/cmd/apidiff -time 1m
//	go run ./e2e/lockstep/cmd/apidiff -paths '^/v1/nodes' -examples 3
//	go run ./e2e/lockstep/cmd/apidiff -seed 7 -round 12 -requests 1 -log exchanges.txt
//
// A seed and a round stand for the same requests each time. The exit status is 0 if all
// differences are intended, 1 if one is not, 2 for wrong usage, and 130 or 143 after
// Ctrl-C or SIGTERM.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/ironstate/ironstate/e2e/lockstep/differ"
	"github.com/ironstate/ironstate/internal/program"
)

func main() { program.Main("apidiff", run) }

var errDifferent = errors.New("there are differences that are not intended")

func run(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	var r differ.Run
	flags := flag.NewFlagSet("apidiff", flag.ContinueOnError)
	flags.StringVar(&r.Root, "root", "", "the `folder` of an Ironic that e2e/ironic has made; without it, the Ironic of this machine")
	flags.Uint64Var(&r.Seed, "seed", uint64(time.Now().UnixNano()), "`seed` of the requests")
	flags.Uint64Var(&r.Round, "round", 1, "the first `round`")
	flags.IntVar(&r.Requests, "requests", 0, "end after this `number` of requests; 0 for no bound")
	flags.DurationVar(&r.Time, "time", 0, "end after this `time`; 0 for no bound")
	flags.IntVar(&r.Workers, "workers", 1, "`number` of Ironics, each beside a conductor of ironstate")
	flags.IntVar(&r.Wide, "wide", 20,
		"`percent` of the requests that go through the API's reference: lives, values at the edge, all parameters, all paths below a node")
	flags.IntVar(&r.Examples, "examples", 1, "`number` of examples for each class")
	paths := flags.String("paths", "", "send only requests whose path, with {} for its variable parts, matches the `expression`")
	log := flags.String("log", "", "write every exchange to the `file`")
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	if r.Requests == 0 && r.Time == 0 {
		r.Time = time.Minute
	}
	if *paths != "" {
		if r.Paths, err = regexp.Compile(*paths); err != nil {
			return err
		}
	}
	if *log != "" {
		file, err := os.Create(*log)
		if err != nil {
			return err
		}
		defer file.Close()
		buffered := bufio.NewWriter(file)
		defer buffered.Flush()
		r.Log = buffered
	}
	fmt.Fprintf(out, "seed %d, from round %d\n", r.Seed, r.Round)
	start := time.Now()
	result, err := r.Do(ctx)
	if result == nil {
		return err
	}
	took := time.Since(start)
	fmt.Fprintf(out, "Ironic %s, compared as series %v\n", result.Ironic.Version, result.Ironic.Series)
	fmt.Fprintf(out, "%.1f requests/s for %v with %d workers\n", float64(result.Requests)/took.Seconds(), took.Round(time.Second), r.Workers)
	if err := errors.Join(err, result.Write(out)); err != nil {
		return err
	}
	if len(result.Unexpected()) > 0 {
		return errDifferent
	}
	return nil
}
