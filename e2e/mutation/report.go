// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"text/tabwriter"
)

// report counts and prints the outcomes.
type report struct {
	out     io.Writer
	verbose bool
	listed  map[string]string // reasons, by the mutant's String
	counts  map[string]*counts
	errs    []error
}

// counts are the numbers of mutants of one package, by outcome.
type counts struct{ killed, timedOut, equivalent, lived, uncovered, unviable int }

func (r *report) add(m mutant, o outcome) {
	folder := path.Dir(m.file)
	if r.counts[folder] == nil {
		r.counts[folder] = &counts{}
	}
	c := r.counts[folder]
	_, listed := r.listed[m.String()]
	switch {
	case o.isAlive() && listed:
		c.equivalent++
	case o == lived:
		c.lived++
	case o == uncovered:
		c.uncovered++
	case o == killed:
		c.killed++
	case o == timedOut:
		c.timedOut++
	case o == unviable:
		c.unviable++
	}
	switch {
	case o.isAlive() && !listed:
		r.complain(errLived, m, o)
	case !o.isAlive() && listed:
		r.complain(errOutOfDate, m, o)
	}
	if r.verbose {
		fmt.Fprintf(r.out, "%-11s %s\n", o, m)
	}
}

// complain records an error for a mutant's outcome, and prints the mutant.
func (r *report) complain(why error, m mutant, o outcome) {
	if !r.verbose {
		fmt.Fprintf(r.out, "%-11s %s\n", o, m)
	}
	for _, err := range r.errs {
		if err == why {
			return
		}
	}
	r.errs = append(r.errs, why)
}

// end prints the counts and returns the recorded errors.
func (r *report) end() error {
	table := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "killed\ttimed out\tequivalent\tlived\tnot covered\tnot viable\t")
	for _, t := range targets {
		for _, folder := range t.code {
			if c := r.counts[folder]; c != nil {
				fmt.Fprintf(table, "%d\t%d\t%d\t%d\t%d\t%d\t  %s\n", c.killed, c.timedOut, c.equivalent, c.lived, c.uncovered, c.unviable, folder)
			}
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return errors.Join(r.errs...)
}
