// SPDX-License-Identifier: Apache-2.0

// Package rapidstates has generators of walks through a table, for property tests
// with pgregory.net/rapid, and for fuzz tests with rapid.MakeFuzz. A [Walk] follows
// a table; a [MixedWalk] also has events that a machine must refuse:
//
//	func TestMachine(t *testing.T) {
//		walks := rapidstates.MixedWalk(states.Latest().Table())
//		rapid.Check(t, func(t *rapid.T) {
//			walk := walks.Draw(t, "walk")
//			m := newMachine(walk[0].From)
//			for _, step := range walk {
//				m.Fire(step.Event)
//				if m.State() != step.To {
//					t.Fatalf("%v: in %v", step, m.State())
//				}
//			}
//		})
//	}
//
// A fuzz test of the same property, in which Go's fuzzer looks for new walks, needs seeds:
//
//	func FuzzMachine(f *testing.F) {
//		rapidstates.AddSeeds(f)
//		f.Fuzz(rapid.MakeFuzz(property))
//	}
//
// For states, events and series use rapid's own generators:
//
//	rapid.SampledFrom(slices.Collect(table.Stable().All()))
//
// If the property is false, rapid prints the values as Ironic's words, and shrinks a
// walk to few steps, which may begin in any state.
package rapidstates
