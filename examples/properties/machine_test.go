package main

import (
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
