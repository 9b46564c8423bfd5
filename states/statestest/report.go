// SPDX-License-Identifier: Apache-2.0

package statestest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// maxReported is the number of disagreements that Check reports one by one.
const maxReported = 20

// A Disagreement is a difference between an implementation and a table.
type Disagreement struct {
	Series states.Series
	// Sequence is the shortest sequence found that shows the difference: a start state
	// and the events fired after it. The last event, or the start if there are no
	// events, has the wrong outcome. An example is "manageable: clean (manageable),
	// wait", with a stored or named target in parentheses. [Replay] accepts it.
	Sequence string
	// Also has the other sequences that show the same difference.
	Also []string
	// Want is the outcome that the table requires, Got the implementation's.
	Want, Got string
	// Flaky is true if the same sequence did not show the difference again: the
	// implementation depends on more than its events.
	Flaky bool
}

// Error quotes the sequence, the outcome that the table requires, and the
// implementation's.
func (d *Disagreement) Error() string {
	const most = 3 // sequences of Also that the text quotes
	var text strings.Builder
	fmt.Fprintf(&text, "%v: %q: want %s; got %s", d.Series, d.Sequence, d.Want, d.Got)
	var also []string
	for _, sequence := range d.Also[:min(most, len(d.Also))] {
		also = append(also, strconv.Quote(sequence))
	}
	if len(also) > 0 {
		text.WriteString("; also " + strings.Join(also, ", "))
	}
	if more := len(d.Also) - most; more > 0 {
		fmt.Fprintf(&text, " and %d more", more)
	}
	if d.Flaky {
		text.WriteString("; when repeated it agreed")
	}
	return text.String()
}

// note adds a difference to the report of its cause.
func (c *checker) note(d *difference, of cause) {
	sequence := d.sequence.String()
	if c.noted[sequence] {
		return
	}
	c.noted[sequence] = true
	if report := c.found[of]; report != nil {
		report.Also = append(report.Also, sequence)
		return
	}
	report := &Disagreement{
		Series: c.table.Series(), Sequence: sequence, Want: d.want.String(), Got: d.got.String(), Flaky: d.flaky,
	}
	c.found[of] = report
	c.reports = append(c.reports, report)
}

// report returns the disagreements as an error, nil if there are none.
func (c *checker) report() error {
	var all []error
	for _, report := range c.reports[:min(maxReported, len(c.reports))] {
		all = append(all, report)
	}
	if more := len(c.reports) - maxReported; more > 0 {
		all = append(all, fmt.Errorf("and %d more", more))
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}
