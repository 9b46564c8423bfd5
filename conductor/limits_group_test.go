// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

func TestTheLimitsCountTheNodesOfAGroupIfConfigured(t *testing.T) {
	for _, c := range []struct {
		series  states.Series
		byGroup bool
		refused bool // a deployment beside two of another group
	}{
		{states.Latest(), false, true}, {states.Flamingo, true, true}, {states.Gazpacho, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(by *conductor.Config) {
				by.MaxDeploying, by.LimitsByGroup, by.Table, by.Group = 2, c.byGroup, c.series.Table(), "rack"
			})
			create := func(state states.State, group string) *conductor.Node {
				n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: state, ConductorGroup: group})
				require.NoError(t, err)
				return n
			}
			create(states.DeployWait, "other")
			create(states.DeployWait, "other")
			err := f.Provision(f.ctx, create(states.Available, "rack").UUID, f.provision("active"))
			require.Equal(t, c.refused, err != nil, "%v: %v", c.series, err)
			if err != nil {
				require.ErrorIs(t, err, conductor.LimitReached)
				return
			}
			create(states.DeployWait, "rack")
			create(states.DeployWait, "rack")
			err = f.Provision(f.ctx, create(states.Available, "rack").UUID, f.provision("active"))
			require.ErrorIs(t, err, conductor.LimitReached, "two of its own group")
		})
	}
}
