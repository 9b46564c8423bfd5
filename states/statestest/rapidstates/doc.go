// Package rapidstates has generators of states, events, series and walks for
// property tests with pgregory.net/rapid, and for fuzz tests with rapid.MakeFuzz. A
// [Walk] follows a table; a [MixedWalk] also has events that are to be refused:
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
// When the property is false, rapid prints the values as Ironic's words. Values
// shrink to those that come first in [states.AllStates] and the like, and walks to
// few steps, which may begin in any state.
package rapidstates
