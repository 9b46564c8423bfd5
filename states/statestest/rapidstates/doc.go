// Package rapidstates has generators of walks through a table, for property tests
// with pgregory.net/rapid, and for fuzz tests with rapid.MakeFuzz. A [Walk] follows
// a table; a [MixedWalk] also has events that are to be refused:
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
// States, events and series are drawn by rapid itself:
//
//	rapid.SampledFrom(slices.Collect(table.Stable().All()))
//
// When the property is false, rapid prints the values as Ironic's words, and walks
// shrink to few steps, which may begin in any state.
package rapidstates
