// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestANodeIsOverdueAfterTheExpectedTimeOfItsState(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	times := conductor.ExpectedTimes{states.CleanWait: time.Hour, states.Deploying: 0}
	for s := range states.AllStates() {
		for age, overdue := range map[time.Duration]bool{
			-time.Hour: false, 0: false, time.Hour: false, time.Hour + 1: true, 1000 * time.Hour: true,
		} {
			require.Equal(t, overdue && s == states.CleanWait, times.Overdue(s, now.Add(-age), now), "%v for %v", s, age)
		}
	}
	require.False(t, conductor.ExpectedTimes(nil).Overdue(states.CleanWait, time.Time{}, now))
}

// TestWorkingAndWaitingStatesHaveExpectedTimes has one entry for each state of the newest series that a person does not
// end.
func TestWorkingAndWaitingStatesHaveExpectedTimes(t *testing.T) {
	config := func() conductor.Config {
		return conductor.Config{
			Store:         &conductor.Memory{},
			Hardware:      map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
			VerifyTimeout: time.Second,
			Timeouts: &machine.Timeouts{
				Deploy:  2 * time.Second,
				Clean:   3 * time.Second,
				Inspect: 4 * time.Second,
				Rescue:  5 * time.Second,
				Service: -1,
			},
		}
	}
	c, err := conductor.New(config())
	require.NoError(t, err)
	want := conductor.ExpectedTimes{
		states.Verifying: time.Second,
		states.Deploying: 2 * time.Second, states.DeployWait: 2 * time.Second, states.Deleting: 2 * time.Second, states.Adopting: 2 * time.Second,
		states.Cleaning: 3 * time.Second, states.CleanWait: 3 * time.Second,
		states.Inspecting: 4 * time.Second, states.InspectWait: 4 * time.Second,
		states.Rescuing: 5 * time.Second, states.RescueWait: 5 * time.Second, states.Unrescuing: 5 * time.Second,
		states.Servicing: 0, states.ServiceWait: 0,
	}
	require.Equal(t, want, c.ExpectedTimes())
	table := states.Latest().Table()
	for s := range states.AllStates() {
		_, has := want[s]
		require.Equal(t, table.Phase(s) == states.PhaseWorking || table.Phase(s) == states.PhaseWaiting, has, s)
	}
	c.ExpectedTimes()[states.Cleaning] = 0
	require.Equal(t, want, c.ExpectedTimes(), "the caller owns the map")

	chosen := config()
	chosen.ExpectedTimes = conductor.ExpectedTimes{states.CleanWait: 24 * time.Hour, states.Adopting: 0}
	c, err = conductor.New(chosen)
	require.NoError(t, err)
	want[states.CleanWait], want[states.Adopting] = 24*time.Hour, 0
	require.Equal(t, want, c.ExpectedTimes())
	require.Len(t, chosen.ExpectedTimes, 2, "the configuration is the caller's")

	older := config()
	older.Table = states.Kilo.Table()
	c, err = conductor.New(older)
	require.NoError(t, err)
	for s := range c.ExpectedTimes() {
		require.True(t, older.Table.States().Has(s), s)
	}
}

func TestExpectedTimesOfOtherStatesAreRefused(t *testing.T) {
	table := states.Latest().Table()
	refusal := func(table *states.Table, s states.State, limit time.Duration) error {
		_, err := conductor.New(conductor.Config{
			Store: &conductor.Memory{}, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
			Table: table, ExpectedTimes: conductor.ExpectedTimes{s: limit},
		})
		return err
	}
	for s := range states.AllStates() {
		err := refusal(table, s, 0)
		if table.Phase(s) == states.PhaseWorking || table.Phase(s) == states.PhaseWaiting {
			require.NoError(t, err)
			require.EqualError(t, refusal(table, s, -1),
				fmt.Sprintf("conductor: ExpectedTimes: the time -1ns of %q is negative: want 0 or more", s))
			continue
		}
		require.ErrorContains(t, err, fmt.Sprintf("conductor: ExpectedTimes: %q is no working or waiting state of 2026.2, which are ", s))
		require.ErrorContains(t, err, ", clean wait, ")
		require.NotContains(t, strings.ReplaceAll(err.Error(), s.String(), ""), "available")
	}
	require.Error(t, refusal(states.Antelope.Table(), states.ServiceWait, time.Hour), "the series has no such state")
}

func TestSinceWhenANodeIsInItsState(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 25, hour, 0, 0, 0, time.UTC) }
	nine := at(9)
	moved := []conductor.TransitionRecord{
		{Time: at(5), From: states.Cleaning, To: states.CleanWait},
		{Time: at(7), From: states.CleanWait, To: states.Cleaning},
	}
	for name, c := range map[string]struct {
		node conductor.Node
		want int
	}{
		"a heartbeat came later": {conductor.Node{ProvisionState: states.Cleaning, ProvisionUpdatedAt: &nine, Transitions: moved}, 7},
		"one transition": {
			conductor.Node{ProvisionState: states.CleanWait, ProvisionUpdatedAt: &nine, Transitions: moved[:1]}, 5,
		},
		"the transition is not in it":      {conductor.Node{ProvisionState: states.CleanWait, ProvisionUpdatedAt: &nine, Transitions: moved}, 9},
		"without a transition":             {conductor.Node{ProvisionState: states.Enroll, CreatedAt: at(3)}, 3},
		"created in a state, then updated": {conductor.Node{ProvisionState: states.Enroll, CreatedAt: at(3), ProvisionUpdatedAt: &nine}, 9},
	} {
		require.Equal(t, at(c.want), c.node.StateSince(), name)
	}
}
