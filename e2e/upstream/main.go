// SPDX-License-Identifier: Apache-2.0

// Upstream reads the facts of a version of Ironic from its source: states, transitions,
// verbs, sets and the newest API version. It prints what states/rows.go lacks, and writes
// the facts of a tag as the entry of a series in states/testdata/series.json:
//
//	go run ./e2e/upstream -ironic DIR -tag 39.0.0
//	go run ./e2e/upstream -ironic DIR -tag 42.0.0 -series 2027.1 -name Ibex
//	go run ./e2e/upstream -ironic DIR -check     # remakes every entry from its tag, and compares
//
// The files in the folder notes have a row for each of Ironic's and sushy's release notes since 2023.1:
//
//	go run ./e2e/upstream -ironic DIR -notes     # prints the notes that have no row
//	go run ./e2e/upstream -sushy DIR -notes      # the same of sushy
//	go run ./e2e/upstream -missing               # writes the table of what is missing in cmd/ironstate/REFERENCE.md
//
// DIR is a git repository of Ironic, or its git directory. Without -tag the files in DIR are read, which may be
// any folder that has the package ironic, and nothing is written. Run it from the root of
// our repository. The Python modules run without their dependencies, so that it needs only
// python3 and git.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/states"
)

func main() { program.Main("upstream", run) }

const seriesFile = "states/testdata/series.json"

var errDiffer = errors.New("entries differ from upstream's source")

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	dir := flags.String("ironic", "", "the `folder` with Ironic's source")
	tag := flags.String("tag", "", "read a `tag` or another revision of the folder's repository")
	series := flags.String("series", "", "the `series` of the entry; without it, the one that has the tag already, or else the newest")
	name := flags.String("name", "", "the `constant` of a series that package states does not have")
	check := flags.Bool("check", false, "compare all entries with their tags, and write nothing")
	sushy := flags.String("sushy", "", "the `folder` of a git repository of sushy, for -notes")
	notes := flags.Bool("notes", false, "print the release notes that have no row, and write nothing")
	missing := flags.Bool("missing", false, "write the table of what is missing in "+reference)
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	if *missing {
		return writeMissing()
	}
	if *notes && *sushy != "" {
		return listNotes(ctx, *sushy, sushyNotes(), out)
	}
	if *dir == "" {
		return program.Usagef("-ironic is missing: want a folder with Ironic's source")
	}
	all, err := readSeries(seriesFile)
	if err != nil {
		return err
	}
	if *notes {
		return listNotes(ctx, *dir, ironicNotes(all), out)
	}
	if *check {
		return compareAll(ctx, *dir, all, out)
	}
	if *series == "" {
		*series = states.Latest().String()
		for word, e := range all.Series {
			if *tag != "" && e.Tag == *tag {
				*series = word
			}
		}
	}
	read, err := readEntry(ctx, *dir, *tag)
	if err != nil {
		return err
	}
	known, err := states.ParseSeries(*series)
	if err != nil {
		if *name == "" {
			return program.Usagef("package states has no series %q: want the name of its constant with -name", *series)
		}
		known = states.Latest()
	}
	words, err := readNames("states")
	if err != nil {
		return err
	}
	if *name == "" {
		*name = words.series[known.String()]
	}
	for _, line := range differences(known.Table(), all.Series[known.String()], read, *name, words) {
		fmt.Fprintln(out, line)
	}
	if *tag == "" {
		return nil
	}
	all.Series[*series] = read
	return all.write(seriesFile)
}

// compareAll reads every entry again from its tag.
func compareAll(ctx context.Context, dir string, all document, out io.Writer) error {
	equal := true
	for _, word := range slices.Sorted(maps.Keys(all.Series)) {
		e := all.Series[word]
		read, err := readEntry(ctx, dir, e.Tag)
		if err != nil {
			return err
		}
		verdict := "equal"
		if !reflect.DeepEqual(read, e) {
			verdict, equal = "different", false
		}
		fmt.Fprintf(out, "%s: Ironic %s: %s\n", word, e.Tag, verdict)
	}
	if !equal {
		return errDiffer
	}
	return nil
}
