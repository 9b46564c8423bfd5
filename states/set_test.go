// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestSetHoldsItsMembers(t *testing.T) {
	set := states.SetOf(states.Rescue, states.NoState, states.Enroll, states.Rescue, states.State(34), states.State(255))
	require.Equal(t, 3, set.Len())
	for n := range 256 {
		s := states.State(n)
		member := s == states.Rescue || s == states.NoState || s == states.Enroll
		require.Equal(t, member, set.Has(s), s)
	}
	require.Equal(t, []states.State{states.NoState, states.Enroll, states.Rescue}, slices.Collect(set.All()))
}

func TestEmptySet(t *testing.T) {
	var set states.Set
	require.Equal(t, states.SetOf(), set)
	require.Zero(t, set.Len())
	require.Empty(t, slices.Collect(set.All()))
	require.Equal(t, "{}", set.String())
	for n := range 256 {
		require.False(t, set.Has(states.State(n)))
	}
}

func TestSetOfEveryState(t *testing.T) {
	want := append([]states.State{states.NoState}, slices.Collect(states.AllStates())...)
	set := states.SetOf(want...)
	require.Equal(t, len(want), set.Len())
	require.Equal(t, want, slices.Collect(set.All()), "not in Ironic's order")
}

func TestSetsCombineAndCompare(t *testing.T) {
	a := states.SetOf(states.Enroll, states.Manageable)
	b := states.SetOf(states.Available, states.Manageable)

	require.Equal(t, "{enroll, manageable, available}", a.Union(b).String())
	require.Equal(t, "{enroll}", a.Minus(b).String())
	require.Equal(t, "{available}", b.Minus(a).String())
	require.Equal(t, "{manageable}", a.Intersect(b).String())
	require.Equal(t, "{enroll, manageable}", a.String(), "a changed")

	require.True(t, a == states.SetOf(states.Manageable, states.Enroll))
	require.False(t, a == b)
	require.True(t, a.Union(b) == b.Union(a))
	require.True(t, a.Minus(a) == states.Set{})
	require.True(t, a.Minus(b).Union(a.Intersect(b)) == a)
}

func TestSetIterationStops(t *testing.T) {
	var seen []states.State
	for s := range states.Latest().Table().Stable().All() {
		seen = append(seen, s)
		if len(seen) == 2 {
			break
		}
	}
	require.Equal(t, []states.State{states.Enroll, states.Manageable}, seen)
}
