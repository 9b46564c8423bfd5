// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"fmt"
	"slices"
)

// Comparison is the result of giving the same inputs to Ironic and to this module.
type Comparison struct {
	Name        string // what was compared
	Compared    int    // the number of compared answers
	Differences []Difference
}

// Difference is one answer that differs.
type Difference struct {
	What              string // the input of both sides
	Ironic, Ironstate string // the answers
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: ironic: %s; ironstate: %s", d.What, d.Ironic, d.Ironstate)
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
	Comparison string
	Difference
	Reason string
}

// OnPurpose lists every intended difference.
var OnPurpose = []Purpose{
	{
		powerName,
		Difference{
			"active, as documented, died",
			`recorded none, hardware on, maintenance true, fault "power failure", last error of power sync`,
			`recorded power on, hardware on, maintenance true, fault "power failure", last error of power sync`,
		},
		"Ironic documents that the recorded power state stays when reading fails, and its code forgets it; " +
			"powersync does as documented unless Policy.ForgetUnread is set",
	},
	{
		recoveryName,
		Difference{
			"cleaning to manageable",
			"in clean failed, target available, with last error",
			"in clean failed, target manageable, with last error",
		},
		"A manual cleaning keeps its target to the end, also when its conductor dies",
	},
	{
		stepsName,
		Difference{"a step that waits, in cleaning to manageable", "in clean wait, target available", "in clean wait, target manageable"},
		"Since 2023.2 Ironic has built-in steps that fire without the target of a manual cleaning, which then ends in available",
	},
	{
		stepsName,
		Difference{"a step that has waited, in clean wait to manageable", "in cleaning, target available", "in cleaning, target manageable"},
		"Since 2023.2 Ironic has built-in steps that fire without the target of a manual cleaning, which then ends in available",
	},
	{
		powerName,
		Difference{
			"active, died, switched off, restarted",
			`recorded power off, hardware off, maintenance false, fault "", last error of power sync`,
			`recorded power off, hardware off, maintenance false, fault "", last error none`,
		},
		"Ironic 2023.1 leaves the last error of a power failure that is over; since July 2025 it clears it where its node history " +
			"keeps a copy, and powersync does so with an event that carries it",
	},
	{
		powerName,
		Difference{
			"manageable, with an earlier error, nothing, switched off",
			`recorded power on, hardware on, maintenance false, fault "", last error none`,
			`recorded power on, hardware on, maintenance false, fault "", last error from before`,
		},
		"Ironic clears any last error when it forces a power state, and keeps no copy; powersync's rounds clear none but their own",
	},
}

// Unexpected returns the differences that [OnPurpose] does not list.
func (c *Comparison) Unexpected() []Difference {
	return slices.DeleteFunc(slices.Clone(c.Differences), func(d Difference) bool {
		return slices.ContainsFunc(OnPurpose, func(p Purpose) bool {
			return p.Comparison == c.Name && p.Difference == d
		})
	})
}

// OutOfDate returns the differences that [OnPurpose] lists for the comparison, but that
// the comparison did not find.
func (c *Comparison) OutOfDate() []Purpose {
	return slices.DeleteFunc(slices.Clone(OnPurpose), func(p Purpose) bool {
		return p.Comparison != c.Name || slices.Contains(c.Differences, p.Difference)
	})
}
