// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"text/tabwriter"
)

// report counts and prints the outcomes.
type report struct {
	out     io.Writer
	verbose bool
	listed  map[string]string          // reasons, by the mutant's String
	counts  map[string]map[outcome]int // of mutants, by package
	errs    []error
}

// columns are the outcomes in the order of the printed table. A listed mutant that lives is equivalent.
var columns = []outcome{killed, timedOut, harmless, lived, uncovered, unviable}

const harmless outcome = "equivalent"

func (r *report) add(m mutant, o outcome) {
	folder := path.Dir(m.file)
	if r.counts[folder] == nil {
		r.counts[folder] = map[outcome]int{}
	}
	_, listed := r.listed[m.String()]
	counted := o
	switch {
	case o.isAlive() && listed:
		counted = harmless
	case o.isAlive():
		r.complain(errLived, m, o)
	case listed:
		r.complain(errOutOfDate, m, o)
	}
	r.counts[folder][counted]++
	if r.verbose {
		fmt.Fprintf(r.out, "%-11s %s\n", o, m)
	}
}

// complain records an error for a mutant's outcome, and prints the mutant.
func (r *report) complain(why error, m mutant, o outcome) {
	if !r.verbose {
		fmt.Fprintf(r.out, "%-11s %s\n", o, m)
	}
	if !slices.Contains(r.errs, why) {
		r.errs = append(r.errs, why)
	}
}

// end prints the counts and returns the recorded errors.
func (r *report) end() error {
	table := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, o := range columns {
		fmt.Fprintf(table, "%s\t", o)
	}
	fmt.Fprintln(table)
	for _, t := range targets {
		for _, folder := range t.code {
			if c := r.counts[folder]; c != nil {
				for _, o := range columns {
					fmt.Fprintf(table, "%d\t", c[o])
				}
				fmt.Fprintf(table, "  %s\n", folder)
			}
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return errors.Join(r.errs...)
}
