// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A Run is a run of all comparisons.
type Run struct {
	Ironic Installation
	Seed   uint64 // determines the random lives and the sample
	OneIn  int    // of so many inputs that are asked in every state, one is given; 1 gives all
}

// Do makes every comparison, one after the other. A comparison that fails has the reason.
func (r Run) Do(ctx context.Context) (all []Comparison, err error) {
	lives := compareWalks(walkSteps / max(r.OneIn, 1))
	for _, on := range []struct {
		options  Options
		compares []compare
	}{
		{Options{}, slices.Concat(compareEvery, compareFake, []compare{lives, compareTables, compareSteps})},
		{lockAtOnce, compareAdmission()},
		{Options{IPMI: true}, compareIPMI},
	} {
		on.options.Root = r.Ironic.Root
		found, err := r.compareOn(ctx, on.options, on.compares)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// compareOn makes comparisons with one Ironic.
func (r Run) compareOn(ctx context.Context, options Options, compares []compare) (all []Comparison, err error) {
	ironic, err := Start(ctx, options)
	if err != nil {
		return nil, err
	}
	ironic.sample = newSample(r.Seed, r.OneIn)
	defer func() { err = errors.Join(err, ironic.Close()) }()
	for _, compare := range compares {
		c, err := compare(ctx, ironic)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		c.Failed = err
		all = append(all, c)
	}
	return all, nil
}

// Report writes comparisons as Markdown: a row for each, then the intended differences with their reasons, the
// comparisons that failed, the unexpected differences, and the differences of [OnPurpose] that were not found.
func (r Run) Report(w io.Writer, all []Comparison) error {
	var text strings.Builder
	ironic := r.Ironic
	fmt.Fprintf(&text, "| compared with Ironic %s (series %v) | answers | differences | on purpose |\n", ironic.Version, ironic.Series)
	fmt.Fprintf(&text, "| --- | ---: | ---: | ---: |\n")
	for _, c := range all {
		unexpected := len(c.Unexpected(ironic.Series))
		fmt.Fprintf(&text, "| %s | %d | %d | %d |\n", c.Name, c.Compared, unexpected, len(c.Differences)-unexpected)
	}
	fmt.Fprintf(&text, "\n%s, %s, seed %d", time.Now().Format(time.DateOnly), runtime.Version(), r.Seed)
	if r.OneIn > 1 {
		fmt.Fprintf(&text, ", one of %d inputs that are asked in every state", r.OneIn)
	}
	fmt.Fprintln(&text, ".")
	if ironic.Newer {
		fmt.Fprintf(&text, "\nIronic %s is newer than the newest known series.\n", ironic.Version)
	}
	for p := range purposesOf(ironic.Series) {
		fmt.Fprintf(&text, "\nOn purpose: %v. %s.\n", p.Difference, p.Reason)
	}
	for _, c := range all {
		if c.Failed != nil {
			fmt.Fprintf(&text, "\nNot compared to its end: %s: %v.\n", c.Name, c.Failed)
		}
		for _, d := range c.Unexpected(ironic.Series) {
			fmt.Fprintf(&text, "\nDifference: %v.\n", d)
		}
		for _, p := range c.OutOfDate(ironic.Series) {
			fmt.Fprintf(&text, "\nOut of date: %v.\n", p.Difference)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
