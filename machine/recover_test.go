package machine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestRecoverFailsStuckNodesAndNoOthers(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for s := range table.States().All() {
			n := node(s)
			in, err := n.Recover(table)
			require.NoError(t, err)
			if !table.Stuck().Has(s) {
				require.Zero(t, in, "%v: %v", series, s)
				continue
			}
			require.Equal(t, states.EventFail, in.Event)
			after, err := n.Apply(table, in)
			require.NoError(t, err)
			require.False(t, table.Unstable().Has(after.State), "%v: %v is left for %v", series, s, after.State)
			require.Contains(t, after.LastError, s.String())
		}
	}
}

func TestExpireFailsWaitingNodesOnceTheirTimeIsUp(t *testing.T) {
	limits := machine.Timeouts{
		Deploy: 1 * time.Second, Clean: 2 * time.Second, Inspect: 3 * time.Second, Rescue: 4 * time.Second, Service: 5 * time.Second,
	}
	tests := []struct {
		node  machine.Node
		limit time.Duration
		want  machine.Node
	}{
		{machine.Node{State: states.DeployWait, Target: states.Active}, limits.Deploy, machine.Node{State: states.DeployFail, Target: states.Active}},
		{machine.Node{State: states.CleanWait, Target: states.Available}, limits.Clean, machine.Node{State: states.CleanFail, Target: states.Available}},
		{machine.Node{State: states.CleanWait, Target: states.Manageable}, limits.Clean, machine.Node{State: states.CleanFail, Target: states.Manageable}},
		{machine.Node{State: states.InspectWait, Target: states.Manageable}, limits.Inspect, machine.Node{State: states.InspectFail, Target: states.Manageable}},
		{machine.Node{State: states.RescueWait, Target: states.Rescue}, limits.Rescue, machine.Node{State: states.RescueFail, Target: states.Rescue}},
		{machine.Node{State: states.ServiceWait, Target: states.Active}, limits.Service, machine.Node{State: states.ServiceFail, Target: states.Active}},
	}
	waiting := states.Set{}
	for _, test := range tests {
		waiting = waiting.Union(states.SetOf(test.node.State))
		in, err := test.node.Expire(latest, test.limit-1, limits)
		require.NoError(t, err)
		require.Zero(t, in, "%v may wait", test.node.State)

		in, err = test.node.Expire(latest, test.limit, limits)
		require.NoError(t, err)
		require.Contains(t, in.LastError, test.limit.String())
		after, err := test.node.Apply(latest, in)
		require.NoError(t, err)
		require.Equal(t, test.want, machine.Node{State: after.State, Target: after.Target})

		in, err = test.node.Expire(latest, time.Hour, machine.Timeouts{})
		require.NoError(t, err)
		require.Zero(t, in, "without a limit %v waits for ever", test.node.State)
	}
	require.Equal(t, latest.Waiting(), waiting, "every waiting state has a case")
	for s := range latest.States().Minus(waiting).All() {
		in, err := node(s).Expire(latest, time.Hour*24*365, machine.DefaultTimeouts())
		require.NoError(t, err)
		require.Zero(t, in, "%v does not wait", s)
	}
	require.Equal(t, 1800*time.Second, machine.DefaultTimeouts().Deploy)
}

func TestRecoveryRefusesWhatApplyRefuses(t *testing.T) {
	_, err := node(states.Deleted).Recover(latest)
	require.ErrorIs(t, err, machine.ErrNoSuchState)
	_, err = node(states.Cleaning).Recover(nil)
	require.ErrorIs(t, err, machine.ErrNoTable)
	_, err = machine.Node{State: states.CleanWait, Target: states.CleanWait}.Expire(latest, time.Hour, machine.DefaultTimeouts())
	require.ErrorIs(t, err, machine.ErrTarget)
}
