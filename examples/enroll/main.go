// Enroll takes nodes from enroll to manageable if their BMC answers, and back to
// enroll if not, and prints every transition.
//
// Without flags it starts its own BMCs: two Redfish BMCs, the second of which gets a
// wrong password. With -bmc it verifies a node by a real BMC:
//
//	BMC_PASSWORD=... go run ./examples/enroll -bmc 10.1.2.3 -user admin
//
// The exit status is 0 if the verification had the expected result (the node of -bmc
// is manageable), 1 if not or if standard output cannot be written, 2 for wrong usage,
// and 130 or 143 after SIGINT or SIGTERM: the node is then back in enroll, and the
// session on the BMC is closed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

const (
	exitGood = iota
	exitFailed
	exitUsage
)

func main() { os.Exit(run(program.UntilSignal(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr)) }

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	out := &output{to: stdout}
	code, err := do(ctx, args, getenv, out)
	if status, ok := program.SignalStatus(context.Cause(ctx)); ok {
		code, err = status, context.Cause(ctx)
	} else if err == nil && out.failure() != nil {
		code, err = exitFailed, out.failure()
	}
	if err != nil {
		fmt.Fprintln(stderr, "enroll:", strings.Join(strings.Fields(err.Error()), " "))
	}
	return code
}

// do carries out the command line and returns the exit status. An error is for standard
// error; it is nil if the output already has the reason of a failure.
func do(ctx context.Context, args []string, getenv func(string) string, out io.Writer) (int, error) {
	opts, err := parseFlags(args, getenv, out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitGood, nil
	case err != nil:
		return exitUsage, err
	case opts.builtIn:
		return runBuiltIn(ctx, out)
	default:
		return runReal(ctx, opts.config, out)
	}
}

func runReal(ctx context.Context, config bmc.Config, out io.Writer) (int, error) {
	verifier, err := bmc.New(config)
	if err != nil {
		return exitUsage, err
	}
	node := enroll(ctx, out, config.Host, verifier)
	printTable(out, node)
	if node.State != states.Manageable {
		return exitFailed, nil
	}
	return exitGood, nil
}

// enrolled is the result of a node's enrolment.
type enrolled struct {
	name  string
	power states.Power
	machine.Node
}

// enroll makes a node in enroll, verifies it, and prints its transitions as they
// happen.
func enroll(ctx context.Context, out io.Writer, name string, verifier verify.Verifier) enrolled {
	node, err := machine.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: states.Enroll},
		Name:  name,
		Enter: []machine.Hook{func(_ context.Context, t machine.Transition) error {
			_, err := fmt.Fprintf(out, "%s  %s  %s --%s--> %s  (target %s)\n",
				t.Time.Format(time.TimeOnly+".000"), t.Node, t.From.State, t.Event, t.To.State, t.To.Target)
			return err
		}},
	})
	if err != nil {
		return enrolled{name: name, Node: machine.Node{LastError: err.Error()}}
	}

	power, err := verify.Manage(ctx, node, verifier)
	result := enrolled{name: name, power: power, Node: node.Node()}
	if err != nil && result.LastError == "" {
		result.LastError = err.Error() // verification did not begin
	}
	return result
}

func printTable(out io.Writer, nodes ...enrolled) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nNODE\tPROVISION STATE\tPOWER STATE\tLAST ERROR")
	for _, n := range nodes {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", n.name, n.State, n.power, n.LastError)
	}
	table.Flush()
}
