// SPDX-License-Identifier: Apache-2.0

// Gate reads the output of "go test -json" and prints the result of each package, and the output of the tests that
// failed. It compares the skipped tests with the list in .ci/left-out, so that no test is lost:
//
//	go test -json work | go run ./e2e/gate
//	IRONSTATE_TESTS=systems go test -json work | go run ./e2e/gate -asked systems
//	go run ./e2e/gate -rows load
//
// A line of the list has the part of .ci/search that runs the test (systems, chance or load), the package's folder, the
// test, and for some an environment variable without which the test is skipped there, too. Every test that is skipped
// has a line. A test that was asked for is not skipped, and one that was not asked for is. With -rows the program
// prints the packages of a part, each with a pattern of its tests for go test's -run.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program"
)

func main() {
	program.Main("gate", func(_ context.Context, args []string, out, errOut io.Writer) error {
		return gate(args, os.Stdin, out, errOut)
	})
}

func gate(args []string, in io.Reader, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("gate", flag.ContinueOnError)
	path := flags.String("list", ".ci/left-out", "the `file` with the tests that are left out")
	asked := flags.String("asked", "", "the `value` of "+needs.Variable+" in the tests: systems or search")
	rows := flags.String("rows", "", "print the packages and tests of a `part`, and read no output")
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	file, err := os.ReadFile(*path)
	if err != nil {
		return err
	}
	list, err := parseList(string(file))
	if err != nil {
		return fmt.Errorf("%s: %w", *path, err)
	}
	if *rows != "" {
		return list.write(out, *rows)
	}
	run, err := read(in, out)
	if err != nil {
		return err
	}
	return list.judge(out, run, *asked)
}

// test is the name of a test, subtest or example in a package's folder.
type test struct{ folder, name string }

func (t test) String() string { return t.folder + " " + t.name }

// row says which part runs a test, and which environment variable it needs there.
type row struct{ part, variable string }

// The parts, with the value of IRONSTATE_TESTS for the tests of each.
var parts = map[string]string{"systems": needs.Systems, "chance": needs.Search, "load": needs.Search}

// leftOut has the tests that the gate leaves out.
type leftOut map[test]row

func parseList(text string) (leftOut, error) {
	list := leftOut{}
	for number, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) < 3 || len(fields) > 4 || parts[fields[0]] == "" {
			return nil, fmt.Errorf("line %d is %q: want a part, a folder, a test and perhaps a variable", number+1, line)
		}
		t := test{fields[1], fields[2]}
		if _, twice := list[t]; twice {
			return nil, fmt.Errorf("line %d: %v has a line already", number+1, t)
		}
		list[t] = row{part: fields[0], variable: strings.Join(fields[3:], "")}
	}
	return list, nil
}

// write prints a line for each package of a part: the folder, and a pattern of the top-level tests.
func (l leftOut) write(out io.Writer, part string) error {
	if parts[part] == "" {
		return program.Usagef("no part %q: want one of %v", part, slices.Sorted(maps.Keys(parts)))
	}
	names := map[string]map[string]bool{}
	for t, row := range l {
		if row.part != part {
			continue
		}
		if names[t.folder] == nil {
			names[t.folder] = map[string]bool{}
		}
		top, _, _ := strings.Cut(t.name, "/")
		names[t.folder][regexp.QuoteMeta(top)] = true
	}
	for _, folder := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(out, "%s ^(%s)$\n", folder, strings.Join(slices.Sorted(maps.Keys(names[folder])), "|"))
	}
	return nil
}

// result is what came of the tests of a run.
type result struct {
	actions map[test]string // pass, skip or fail
	failed  bool
}

// testEvent is a line of "go test -json", see "go doc test2json".
type testEvent struct {
	Action, Package, ImportPath, Test, Output string
}

const module = "github.com/ironstate/ironstate"

func folder(pkg string) string {
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/"), ".")
}

// read reads the output of a run, and prints the lines about packages and the output of what failed.
func read(in io.Reader, out io.Writer) (result, error) {
	run := result{actions: map[test]string{}}
	outputs := map[test]*strings.Builder{}
	for decoder := json.NewDecoder(in); ; {
		var e testEvent
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return run, nil
		} else if err != nil {
			return run, fmt.Errorf("this is no output of go test -json: %w", err)
		}
		t := test{folder(e.Package), e.Test}
		switch e.Action {
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "build-fail":
			run.failed = true
		case "output":
			if outputs[t] == nil {
				outputs[t] = &strings.Builder{}
			}
			outputs[t].WriteString(e.Output)
			if e.Test == "" && (strings.HasPrefix(e.Output, "ok  \t") || strings.HasPrefix(e.Output, "FAIL\t")) {
				fmt.Fprint(out, e.Output)
			}
		case "pass", "skip", "fail":
			if e.Test != "" {
				run.actions[t] = e.Action
			}
			if e.Action == "fail" {
				run.failed = true
				if outputs[t] != nil {
					fmt.Fprint(out, outputs[t])
				}
			}
			delete(outputs, t)
		}
	}
}

// errFailed and errLost are the ends of a run that a person has to look at.
var (
	errFailed = errors.New("tests failed")
	errLost   = errors.New("the list of tests that are left out is not true")
)

// judge returns nil if no test failed, and exactly the tests on the list that were not asked for were skipped. It
// prints their number.
func (l leftOut) judge(out io.Writer, run result, asked string) error {
	if run.failed {
		return errFailed
	}
	var lost []string
	skipped := 0
	for t, action := range run.actions {
		row, listed := l[t]
		wanted := asked != "" && parts[row.part] == asked && (row.variable == "" || os.Getenv(row.variable) != "")
		switch {
		case action == "skip" && !listed:
			lost = append(lost, fmt.Sprintf("%v was skipped, and has no line: which part runs it?", t))
		case action == "skip" && wanted:
			lost = append(lost, fmt.Sprintf("%v was skipped, although it was asked for", t))
		case action == "pass" && listed && asked == "":
			lost = append(lost, fmt.Sprintf("%v was not skipped: its line is out of date", t))
		case action == "skip":
			skipped++
		}
	}
	if len(run.actions) == 0 {
		lost = append(lost, "no test ran")
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		return fmt.Errorf("%w:\n%s", errLost, strings.Join(lost, "\n"))
	}
	fmt.Fprintf(out, "%d tests and subtests ran, %d are left out, see .ci/left-out\n", len(run.actions)-skipped, skipped)
	return nil
}
