// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestOrphanedNodesAreTheStuckOnes(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for s := range table.States().All() {
			n := node(s)
			lastError, ok := n.Orphaned(table)
			require.Equal(t, table.Stuck().Has(s), ok, "%v: %v", series, s)
			if !ok {
				require.Empty(t, lastError)
				continue
			}
			after, err := n.Report(table, states.EventFail, lastError)
			require.NoError(t, err)
			require.False(t, table.Unstable().Has(after.State), "%v: %v is left for %v", series, s, after.State)
			require.Contains(t, after.LastError, s.String())
		}
	}
}

func TestWaitingNodesFailOnceTheirTimeIsUp(t *testing.T) {
	limits := machine.Timeouts{
		Deploy: 1 * time.Second, Clean: 2 * time.Second, Inspect: 3 * time.Second, Rescue: 4 * time.Second, Service: 5 * time.Second,
	}
	tests := []struct {
		node  machine.Node
		limit time.Duration
		want  machine.Node
	}{
		{machine.Node{State: states.DeployWait, Target: states.Active}, limits.Deploy,
			machine.Node{State: states.DeployFail, Target: states.Active}},
		{machine.Node{State: states.CleanWait, Target: states.Available}, limits.Clean,
			machine.Node{State: states.CleanFail, Target: states.Available}},
		{machine.Node{State: states.CleanWait, Target: states.Manageable}, limits.Clean,
			machine.Node{State: states.CleanFail, Target: states.Manageable}},
		{machine.Node{State: states.InspectWait, Target: states.Manageable}, limits.Inspect,
			machine.Node{State: states.InspectFail, Target: states.Manageable}},
		{machine.Node{State: states.RescueWait, Target: states.Rescue}, limits.Rescue,
			machine.Node{State: states.RescueFail, Target: states.Rescue}},
		{machine.Node{State: states.ServiceWait, Target: states.Active}, limits.Service,
			machine.Node{State: states.ServiceFail, Target: states.Active}},
	}
	waiting := states.Set{}
	for _, test := range tests {
		waiting = waiting.Union(states.SetOf(test.node.State))
		_, ok := test.node.TimedOut(test.limit-1, limits)
		require.False(t, ok, "%v may wait", test.node.State)

		lastError, ok := test.node.TimedOut(test.limit, limits)
		require.True(t, ok)
		require.Contains(t, lastError, test.limit.String())
		after, err := test.node.Report(latest, states.EventFail, lastError)
		require.NoError(t, err)
		require.Equal(t, test.want, machine.Node{State: after.State, Target: after.Target})

		_, ok = test.node.TimedOut(time.Hour, machine.Timeouts{})
		require.False(t, ok, "without a limit %v waits for ever", test.node.State)
	}
	for s := range latest.States().All() {
		require.Equal(t, latest.Phase(s) == states.PhaseWaiting, waiting.Has(s),
			"every waiting state has a case, also %v: Timeouts.Of in machine/recover.go, then here", s)
	}
	for s := range latest.States().Minus(waiting).All() {
		_, ok := node(s).TimedOut(time.Hour*24*365, machine.DefaultTimeouts())
		require.False(t, ok, "%v does not wait", s)
	}
	require.Equal(t, 1800*time.Second, machine.DefaultTimeouts().Deploy)
}

func TestNodesOutsideTheTableAreNotOrphaned(t *testing.T) {
	for _, n := range []machine.Node{{}, node(states.Deleted), node(states.UnknownState)} {
		_, ok := n.Orphaned(latest)
		require.False(t, ok)
		_, ok = n.TimedOut(time.Hour, machine.DefaultTimeouts())
		require.False(t, ok)
	}
	_, ok := node(states.Cleaning).Orphaned(nil)
	require.False(t, ok)
}
