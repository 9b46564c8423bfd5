// SPDX-License-Identifier: Apache-2.0

package rapidstates

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/states"
)

// maxSteps is the length of the longest walk.
const maxSteps = 32

// Walk draws a walk of one or more transitions through the table, from any of its
// states: every step is a row of the table and starts where the previous step ended.
// The table must have states.
func Walk(t *states.Table) *rapid.Generator[[]states.Transition] {
	return walk(t, 1)
}

// MixedWalk draws a walk of legal and illegal events. The To of a step is the node's
// state afterwards by the table: an illegal event leaves the node in its state, so that
// From and To are equal, which they are in no row of a table. The table must have
// states.
func MixedWalk(t *states.Table) *rapid.Generator[[]states.Transition] {
	return walk(t, 2)
}

// A choice does not depend on the state of the node, so that rapid can leave out a
// step of a walk without changing the later steps more than the table requires.
type choice struct {
	kind  int // 0 selects among the legal events, 1 among all
	index int
}

// walk draws a start and choices of the given number of kinds.
func walk(t *states.Table, kinds int) *rapid.Generator[[]states.Transition] {
	if t.States().Len() == 0 {
		panic(fmt.Sprintf("rapidstates: the table of series %v has no states to walk", t.Series()))
	}
	every := slices.Collect(states.AllEvents())
	legal := make(map[states.State][]states.Event)
	for s := range t.States().All() {
		legal[s] = slices.Collect(t.Events(s))
	}
	start, kept := rapid.SampledFrom(slices.Collect(t.States().All())), rapid.SampledFrom(counts(maxSteps))
	choices := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) choice {
		return choice{rapid.IntRange(0, kinds-1).Draw(rt, "kind"), rapid.IntRange(0, len(every)-1).Draw(rt, "index")}
	}), 1, maxSteps)
	return rapid.Custom(func(rt *rapid.T) []states.Transition {
		at, kept := start.Draw(rt, "start"), kept.Draw(rt, "kept")
		var steps []states.Transition
		for _, c := range choices.Draw(rt, "choices") {
			step := states.Transition{From: at, Event: every[c.index], To: at}
			to, ok := t.Next(at, step.Event)
			if !ok && c.kind == 0 {
				step.Event = legal[at][c.index%len(legal[at])]
				to, ok = t.Next(at, step.Event)
			}
			if ok {
				step.To = to
			}
			steps = append(steps, step)
			at = step.To
		}
		return steps[max(0, len(steps)-kept):]
	})
}

// counts returns 1 to n: how many of its last steps a walk keeps. With it rapid can
// shrink a walk to begin later, in a state that the removed steps led to.
func counts(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}
