// Properties checks a team's own state machine in two ways: with statestest against the
// table of the series that the team runs, and with rapid for a property of the team's
// program. Both find the same bug, shrunk to the few events that show it, and report
// nothing for the repaired machine.
//
//	go run ./examples/properties
//	go run ./examples/properties -seed 7
//
// The team itself has these checks as tests, see machine_test.go.
//
// The exit status is 0 if both find the bug and accept the repaired machine, 1 if not or
// if standard output cannot be written, and 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/states/statestest"
)

func main() { program.Main("properties", run) }

func run(_ context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("properties", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "the `SEED` of rapid's walks, 0 for another one in each run")
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	if right := check(out, *seed, endsAtFirst); right {
		return errors.New("the bug was not found")
	}
	if right := check(out, *seed, ends); !right {
		return errors.New("the repaired machine is wrong")
	}
	return nil
}

// check checks the machine in which these events end work, prints both reports, and
// reports whether the machine is correct.
func check(out io.Writer, seed uint64, ends []string) bool {
	fmt.Fprintf(out, "The machine in which work ends with %s:\n", strings.Join(ends, ", "))
	difference := statestest.Check(table, start(ends))
	if difference != nil {
		fmt.Fprintf(out, "  [statestest] %v\n", difference)
	} else {
		fmt.Fprintf(out, "  [statestest] OK, as the table of %v\n", table.Series())
	}
	r := checkProperty(seed, restartsChangeNothing(ends))
	for _, line := range r.lines {
		fmt.Fprintf(out, "  %s\n", line)
	}
	return difference == nil && !r.failed
}
