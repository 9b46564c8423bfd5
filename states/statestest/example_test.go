// SPDX-License-Identifier: Apache-2.0

package statestest_test

import (
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest"
)

// A switcher is a machine written by hand as a switch statement.
type switcher struct {
	state states.State
}

func (m *switcher) Current() states.State { return m.state }

func (m *switcher) Fire(event states.Event) error {
	if event == states.EventAbort {
		return errors.New("abort is for later")
	}
	to, ok := states.Liberty.Table().Next(m.state, event)
	if !ok {
		return fmt.Errorf("no %v in %v", event, m.state)
	}
	m.state = to
	return nil
}

func ExampleCheck() {
	err := statestest.Check(states.Liberty.Table(), func(state, _ states.State) (statestest.Machine, error) {
		return &switcher{state}, nil
	})
	fmt.Println(err)
	// Output:
	// liberty: "clean wait: abort": want accepted, in "clean failed"; got refused ("abort is for later"), in "clean wait"
}

// A regression test for a difference that Check reported: the sequence is from its
// report.
func ExampleReplay() {
	start := func(state, _ states.State) (statestest.Machine, error) { return &switcher{state}, nil }
	fmt.Println(statestest.Replay(states.Liberty.Table(), start, "clean wait: resume, fail"))
	// Output: <nil>
}

func ExamplePath() {
	path, ok := statestest.Path(states.Latest().Table(), states.Enroll, states.CleanFail)
	for _, row := range path {
		fmt.Println(row)
	}
	fmt.Println(ok)
	// Output:
	// enroll --manage--> verifying
	// verifying --done--> manageable
	// manageable --provide--> cleaning
	// cleaning --fail--> clean failed
	// true
}

// The walk fires every transition of a series at a machine under test.
func ExampleCover() {
	taken := make(map[states.Transition]bool)
	walks := statestest.Cover(states.Kilo.Table())
	for _, walk := range walks {
		state := walk[0].From // a new node; here the table is the machine under test
		for _, row := range walk {
			state, _ = states.Kilo.Table().Next(state, row.Event)
			taken[row] = true
		}
	}
	fmt.Println(len(walks), "walk,", len(taken), "transitions")
	// Output: 1 walk, 27 transitions
}
