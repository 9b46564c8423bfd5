// SPDX-License-Identifier: Apache-2.0

// Package statestest tests programs that follow Ironic's provisioning state
// machine. It imports the standard library alone.
//
// [Check] compares an implementation of the machine with a table, as
// testing/slogtest does with log handlers: every event in every state, and random
// walks.
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
// Check also compares the targets of a machine that is [Targeted]. Its report quotes
// the shortest sequence of events that shows a difference, and [Replay] runs such a
// sequence again. [Path] and [Cover] return walks through a table. Package rapidstates
// has generators for property tests and fuzz tests with pgregory.net/rapid.
package statestest
