// Package statestest helps to test programs that follow Ironic's provisioning
// state machine.
//
// [Check] compares an implementation of the machine with a table, as
// testing/slogtest does with log handlers: every event in every state, and walks
// of many events.
//
//	func TestMachine(t *testing.T) {
//		err := statestest.Check(states.Latest().Table(), func(state, _ states.State) (statestest.Machine, error) {
//			return newMachine(state)
//		})
//		if err != nil {
//			t.Error(err)
//		}
//	}
//
// [State], [StateIn], [Event], [Series], [Walk] and [Wander] are generators for
// property tests with pgregory.net/rapid.
package statestest
