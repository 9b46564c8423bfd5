// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/states/statestest"
	"github.com/ironstate/ironstate/states/statestest/rapidstates"
)

func TestTheMachineFollowsTheTable(t *testing.T) {
	require.NoError(t, statestest.Check(table, start(ends)))
}

func TestRestartsChangeNothing(t *testing.T) { rapid.Check(t, restartsChangeNothing(ends)) }

func FuzzRestartsChangeNothing(f *testing.F) {
	rapidstates.AddSeeds(f)
	f.Fuzz(rapid.MakeFuzz(restartsChangeNothing(ends)))
}

// The sequence is from the report that revealed the bug.
func TestWorkThatWasTornDownWhileItWaitedDoesNotComeBack(t *testing.T) {
	const sequence = "wait call-back: delete, clean, wait, resume"
	require.NoError(t, statestest.Replay(table, start(ends), sequence))
	require.EqualError(t, statestest.Replay(table, start(endsAtFirst), sequence),
		`2023.1: "`+sequence+`": want accepted, in "cleaning"; got accepted, in "deploying"`)
}

func TestStatesOfOtherSeriesAreRefused(t *testing.T) {
	_, err := newMachine("servicing", ends)
	require.EqualError(t, err, `unknown state "servicing"`)
}

// restartsChangeNothing is a property of the team's program that does not follow from
// the table: a process that restarts with its stored state after each event behaves like
// one that never restarts.
func restartsChangeNothing(ends []string) func(*rapid.T) {
	walks := rapidstates.Walk(table)
	return func(t *rapid.T) {
		walk := walks.Draw(t, "walk")
		steady, err := newMachine(walk[0].From.String(), ends)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range walk {
			restarted, err := newMachine(steady.State(), ends)
			if err != nil {
				t.Fatal(err)
			}
			event := step.Event.String()
			if err := errors.Join(steady.Fire(event), restarted.Fire(event)); err != nil {
				t.Fatal(err)
			}
			if steady.State() != restarted.State() {
				t.Fatalf("%s leads to %s, and after a restart to %s", event, steady.State(), restarted.State())
			}
		}
	}
}
