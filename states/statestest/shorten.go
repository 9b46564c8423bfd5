// SPDX-License-Identifier: Apache-2.0

package statestest

import "github.com/ironstate/ironstate/states"

// needsHistory reports whether a difference depends on events before the last one: a
// new machine in the same state does not show it.
func (c *checker) needsHistory(d *difference) bool { return c.run(d.alone()) == nil }

// shortest returns a difference of the same kind with a shorter sequence: two events
// if possible, the fewest that a history can have, otherwise a sequence that does not
// show the difference if any one of its events is left out.
func (c *checker) shortest(d *difference) *difference {
	if c.again(d.sequence, d) == nil {
		d.flaky = true
		return d
	}
	if short := c.twoSteps(d); short != nil {
		return short
	}
	return c.withoutNeedless(d)
}

// again runs a sequence. It returns the sequence's difference if that has the same
// kind as another one and depends on earlier events, otherwise nil.
func (c *checker) again(s sequence, of *difference) *difference {
	d := c.run(s)
	if d == nil || len(d.sequence.steps) == 0 || c.laterCause(d) != c.laterCause(of) || !c.needsHistory(d) {
		return nil
	}
	return d
}

// twoSteps searches for a sequence of two events, from each state.
func (c *checker) twoSteps(of *difference) *difference {
	targets := []states.State{states.NoState}
	named := states.Set{}
	for _, s := range of.sequence.steps {
		if s.target != states.NoState && !named.Has(s.target) && c.table.Stable().Has(s.target) {
			named = named.Union(states.SetOf(s.target))
			targets = append(targets, s.target)
		}
	}
	var steps []step
	for _, target := range targets {
		for _, event := range c.events {
			steps = append(steps, step{event, target})
		}
	}
	for from := range c.table.States().Minus(c.missing).All() {
		for _, first := range steps {
			for _, second := range steps {
				if d := c.again(c.started(from).then(first).then(second), of); d != nil {
					return d
				}
			}
		}
	}
	return nil
}

// withoutNeedless leaves out events, many at once and then fewer, until every
// remaining one is needed. The algorithm is delta debugging.
func (c *checker) withoutNeedless(d *difference) *difference {
	for size := len(d.sequence.steps) / 2; size > 0; {
		left := len(d.sequence.steps)
		for i := 0; i+size <= len(d.sequence.steps); {
			if shorter := c.without(d, i, size); shorter != nil {
				d = shorter
			} else {
				i += size
			}
		}
		if len(d.sequence.steps) == left {
			size /= 2
		}
	}
	return d
}

// without leaves out size events from i on. It returns nil if the remaining events do
// not show the difference. If it leaves out a single event, it also tries other starts
// and other last events.
func (c *checker) without(d *difference, i, size int) *difference {
	all := d.sequence.steps
	steps := append(all[:i:i], all[i+size:]...)
	if shorter := c.again(sequence{d.sequence.start, steps}, d); shorter != nil {
		return shorter
	}
	if size > 1 || len(steps) == 0 {
		return nil
	}
	for from := range c.table.States().Minus(c.missing).All() {
		s := c.started(from)
		s.steps = steps[:len(steps)-1]
		for _, event := range c.events {
			if shorter := c.again(s.then(step{event: event}), d); shorter != nil {
				return shorter
			}
		}
	}
	return nil
}
