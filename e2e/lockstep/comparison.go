// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
)

// A compare makes one comparison on an Ironic.
type compare = func(context.Context, *Ironic) (Comparison, error)

// named returns a comparison with a name. The function that makes it ends it by package try if it cannot go on.
func named(name string, ask func(*Comparison, context.Context, *Ironic)) compare {
	return func(ctx context.Context, i *Ironic) (c Comparison, err error) {
		c.Name = name
		err = try.Catch(func() { ask(&c, ctx, i) })
		return c, err
	}
}

// compareEvery are the comparisons with fake hardware that ask in every state, which takes minutes.
var compareEvery = []compare{
	compareRequests,
	named("API: updating the record in every state", (*Comparison).updates),
}

// compareFake are the other comparisons with fake hardware, except the random lives.
var compareFake = []compare{
	named("API: providing a node with and without automated cleaning", (*Comparison).cleaning),
	named("API: the state of a new node", (*Comparison).creation),
	named("API: the state that a client is shown", (*Comparison).display),
	compareFilter,
	named("API: power requests, and the power state recorded after them", (*Comparison).powerRequests),
	compareTakeOver,
	compareRecovery, // restarts its Ironic
}

// Names of comparisons that have intended differences.
const (
	recoveryName = "conductor: nodes after its death"
	stepsName    = "conductor: built-in steps of a manual cleaning"
	powerName    = "power sync over IPMI: recorded power, hardware, maintenance, fault and last error"
)

var (
	compareRequests = named("API: status and reason of every request for a provision state", (*Comparison).requests)
	compareFilter   = named("API: listing by state", (*Comparison).filter)
	compareTakeOver = named("conductor: nodes of another conductor after its death", (*Comparison).takeOver)
	compareRecovery = named(recoveryName, (*Comparison).recovery)
	compareTables   = named("conductor: state, target, last error and notification of every event", (*Comparison).tables)
	compareSteps    = named(stepsName, (*Comparison).steps)
)

// compareIPMI are the comparisons with BMCs.
var compareIPMI = []compare{
	named("verification over IPMI, right and wrong password", (*Comparison).verification),
	named(powerName, (*Comparison).power),
}

// Comparison is the result of giving the same inputs to Ironic and to this module.
type Comparison struct {
	Name        string // what was compared
	Compared    int    // the number of compared answers
	Differences []Difference
	Failed      error // why the comparison was not made to its end
}

// Difference is one answer that differs.
type Difference struct {
	What              string // the input of both sides
	Ironic, Ironstate string // the answers
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: ironic: %s; ironstate: %s", d.What, d.Ironic, d.Ironstate)
}

// A sample chooses one of oneIn inputs of the comparisons that ask many. The zero sample chooses all.
type sample struct {
	seed   uint64 // also of the random lives
	oneIn  int
	random *rand.Rand
}

func newSample(seed uint64, oneIn int) sample {
	return sample{seed, oneIn, rand.New(rand.NewPCG(seed, 1))}
}

// leavesOut reports whether the next input is left out.
func (s sample) leavesOut() bool { return s.oneIn > 1 && s.random.IntN(s.oneIn) != 0 }

// add counts a number of comparisons, and records the difference that they have found, nil for none.
func (c *Comparison) add(found *Difference, compared int) {
	c.Compared += compared
	if found != nil {
		c.Differences = append(c.Differences, *found)
	}
}

// compare counts a comparison and records a difference between the two answers. It
// compares the answers with ==, and formats the answers and the input only if they
// differ.
func (c *Comparison) compare(ironic, ironstate any, format string, args ...any) {
	c.Compared++
	if ironic != ironstate {
		c.Differences = append(c.Differences, Difference{fmt.Sprintf(format, args...), fmt.Sprint(ironic), fmt.Sprint(ironstate)})
	}
}

// Purpose is an intended difference.
type Purpose struct {
	From, To   states.Series // the first and the last series that have it; a To of NoSeries is the newest
	Comparison string
	Difference
	Reason string
}

// OnPurpose lists every intended difference.
var OnPurpose = scenarios.OnPurpose

// purposesOf returns the intended differences of a series.
func purposesOf(s states.Series) iter.Seq[Purpose] {
	return func(yield func(Purpose) bool) {
		for _, p := range OnPurpose {
			if s >= p.From && (p.To == states.NoSeries || s <= p.To) && !yield(p) {
				return
			}
		}
	}
}

// Unexpected returns the differences that [OnPurpose] does not list for a series.
func (c *Comparison) Unexpected(s states.Series) []Difference {
	left := slices.Clone(c.Differences)
	for p := range purposesOf(s) {
		left = slices.DeleteFunc(left, func(d Difference) bool { return p.Comparison == c.Name && p.Difference == d })
	}
	return left
}

// OutOfDate returns the differences that [OnPurpose] lists for the comparison and a series, but that
// the comparison did not find.
func (c *Comparison) OutOfDate(s states.Series) []Purpose {
	return slices.DeleteFunc(slices.Collect(purposesOf(s)), func(p Purpose) bool {
		return p.Comparison != c.Name || slices.Contains(c.Differences, p.Difference)
	})
}
