// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A compare makes one comparison on an Ironic.
type compare = func(context.Context, *Ironic) (Comparison, error)

// compareFake are the comparisons with fake hardware, except the random lives. The last
// one restarts its Ironic.
var compareFake = []compare{
	compareRequests,
	compareRefusals,
	compareFields,
	compareRecords,
	compareCreation,
	compareDisplay,
	compareFilter,
	comparePowerRequests,
	compareRecovery,
}

// compareIPMI are the comparisons with BMCs.
var compareIPMI = []compare{
	compareVerification,
	comparePower,
}

// All makes every comparison, one after the other. The seed determines the random lives.
func All(ctx context.Context, seed uint64) ([]Comparison, error) {
	tables, err := compareTables(ctx)
	if err != nil {
		return nil, err
	}
	walks := func(ctx context.Context, i *Ironic) (Comparison, error) { return compareWalks(ctx, i, seed) }
	fake, err := compareOn(ctx, Options{}, append(slices.Clone(compareFake), walks))
	if err != nil {
		return nil, err
	}
	admitted, err := compareOn(ctx, lockAtOnce, compareAdmission(true))
	if err != nil {
		return nil, err
	}
	ipmi, err := compareOn(ctx, Options{IPMI: true}, compareIPMI)
	steps, stepsErr := compareSteps(ctx)
	return append(slices.Concat(fake, admitted, ipmi), tables, steps), errors.Join(err, stepsErr)
}

// compareOn makes comparisons with one Ironic.
func compareOn(ctx context.Context, options Options, compares []compare) (all []Comparison, err error) {
	ironic, err := Start(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ironic.Close()) }()
	for _, compare := range compares {
		c, err := compare(ctx, ironic)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// Version returns the version of the installed Ironic, such as "21.4.4".
func Version(ctx context.Context) (string, error) {
	said, err := exec.CommandContext(ctx, "ironic", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("lockstep: version of ironic: %w", err)
	}
	return string(bytes.TrimSpace(said)), nil
}

// Report writes comparisons as Markdown: a row for each, then the intended differences
// with their reasons, the unexpected ones, and those of [OnPurpose] that were not found.
func Report(w io.Writer, ironic string, seed uint64, all []Comparison) error {
	var text strings.Builder
	fmt.Fprintf(&text, "| compared with Ironic %s (series %v) | answers | differences | on purpose |\n", ironic, Series)
	fmt.Fprintf(&text, "| --- | ---: | ---: | ---: |\n")
	for _, c := range all {
		unexpected := len(c.Unexpected())
		fmt.Fprintf(&text, "| %s | %d | %d | %d |\n", c.Name, c.Compared, unexpected, len(c.Differences)-unexpected)
	}
	fmt.Fprintf(&text, "\n%s, %s, seed %d.\n", time.Now().Format(time.DateOnly), runtime.Version(), seed)
	for _, p := range OnPurpose {
		fmt.Fprintf(&text, "\nOn purpose: %v. %s.\n", p.Difference, p.Reason)
	}
	for _, c := range all {
		for _, d := range c.Unexpected() {
			fmt.Fprintf(&text, "\nDifference: %v.\n", d)
		}
		for _, p := range c.OutOfDate() {
			fmt.Fprintf(&text, "\nOut of date: %v.\n", p.Difference)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
