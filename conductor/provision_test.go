// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// during returns the node as an operation of fake-hardware sees it, when a request has been served.
func (f *fleet) during(operation string, n *conductor.Node, target string) (seen *conductor.Node) {
	f.before(func(_ context.Context, n *conductor.Node, did string) error {
		if did == operation {
			seen = n
		}
		return nil
	})
	f.request(n, target)
	f.settle(n)
	require.NotNil(f.t, seen)
	return seen
}

func TestATearDownForgetsTheRescuePasswordFirst(t *testing.T) {
	for _, c := range []struct {
		from              states.State
		target, operation string
		has               bool
	}{
		{states.Rescue, "deleted", "deploy.tear_down", false},
		{states.Active, "deleted", "deploy.tear_down", true}, // what a client has stored itself
		{states.Rescue, "unrescue", "rescue.unrescue", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n := f.create(conductor.Node{
				ProvisionState: c.from, InstanceInfo: map[string]any{"rescue_password": "xyzzy", "hashed_rescue_password": "hash"},
			})
			info := f.during(c.operation, n, c.target).InstanceInfo
			for _, key := range []string{"rescue_password", "hashed_rescue_password"} {
				_, has := info[key]
				require.Equal(t, c.has, has, "%s of %s during %s", key, c.from, c.operation)
			}
		})
	}
}

func TestOnlyADeploymentAndARebuildStoreAConfigDrive(t *testing.T) {
	for target, test := range map[string]struct {
		from      states.State
		operation string
		want      any
	}{
		"active":  {states.Available, "deploy.deploy", "H4sI"},
		"rebuild": {states.Active, "deploy.deploy", "H4sI"},
		"deleted": {states.Active, "deploy.tear_down", nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n := f.create(conductor.Node{ProvisionState: test.from})
			var seen any
			f.before(func(_ context.Context, n *conductor.Node, did string) error {
				if did == test.operation {
					seen = n.InstanceInfo["configdrive"]
				}
				return nil
			})
			r := f.provision(target)
			r.ConfigDrive = "H4sI"
			require.NoError(t, f.Provision(f.ctx, n.UUID, r))
			f.settle(n)
			require.Equal(t, test.want, seen, target)
		})
	}
}

func TestNewWorkForgetsTheAgentUnlessItDoesTheWorkByFastTrack(t *testing.T) {
	for name, test := range map[string]struct {
		fastTrack bool
		from      states.State
		target    string
		operation string
		knows     bool
	}{
		"by fast track":                        {true, states.Available, "active", "deploy.deploy", true},
		"without fast track":                   {false, states.Available, "active", "deploy.deploy", false},
		"after another state":                  {true, states.Active, "rebuild", "deploy.deploy", false},
		"work that the agent of a boot does":   {true, states.Manageable, "inspect", "inspect.inspect_hardware", false},
		"work after the instance of a machine": {true, states.Active, "deleted", "deploy.tear_down", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.FastTrack = test.fastTrack })
			n := f.create(conductor.Node{ProvisionState: test.from, Agent: conductor.AgentInfo{Token: "a token"}})
			require.Equal(t, test.knows, f.during(test.operation, n, test.target).Agent.Token != "", name)
		})
	}
}

func TestAnAbortWithoutACurrentStepNamesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.create(conductor.Node{ProvisionState: states.CleanWait, TargetProvisionState: states.Available})
		f.request(n, "abort")
		got := f.settle(n)
		require.Equal(t, states.CleanFail, got.ProvisionState)
		require.NotEmpty(t, got.LastError)
		require.NotContains(t, got.LastError, "during or after the completion of step")
	})
}

func TestUnknownDeployStepsRefuseADeploymentAndARebuild(t *testing.T) {
	for target, from := range map[string]states.State{"active": states.Available, "rebuild": states.Active} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n := f.node(from)
			r := f.provision(target)
			r.DeploySteps = []conductor.StepRequest{{Interface: "deploy", Step: "deploy", Args: map[string]any{"unknown": true}, Priority: new(int)}}
			err := f.Provision(f.ctx, n.UUID, r)
			require.ErrorIs(t, err, conductor.Unsuitable, target)
			require.ErrorContains(t, err, "Failed to validate deploy or power info for node "+n.UUID+": Validation of deploy steps from")
			require.Equal(t, from, f.settle(n).ProvisionState)
		})
	}
}

func TestADeploymentWhoseTemplatesCannotBeReadIsRefused(t *testing.T) {
	store := &interrupted{}
	f := start(t, func(c *conductor.Config) { c.Store = store })
	n := f.create(conductor.Node{
		ProvisionState: states.Available, Traits: []string{"CUSTOM_A"}, InstanceInfo: map[string]any{"traits": []any{"CUSTOM_A"}},
	})
	broken := errors.New("the store does not answer")
	store.beforeGet(conductor.KindDeployTemplate, func() error { return broken })
	request := f.provision("active")
	request.DeploySteps = []conductor.StepRequest{{Interface: "deploy", Step: "deploy", Priority: new(int)}}
	require.ErrorIs(t, f.Provision(f.ctx, n.UUID, request), broken)
	got, err := f.Node(f.ctx, n.UUID)
	require.NoError(t, err)
	require.Equal(t, states.Available, got.ProvisionState)
}

// The conductor that answers the request does not own the node, whose owner has not begun the clean-up.
func TestARequestWithoutWorkLeavesTheCleanUpToTheOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &conductor.Memory{}
		f := start(t, func(c *conductor.Config) {
			c.Store, c.SkipPowerSync, c.Membership = store, true, withBeta{draining: true}
		})
		n := f.node(states.CleanFail)
		r, err := store.Get(f.ctx, conductor.KindNode, n.UUID)
		require.NoError(t, err)
		r.Value = bytes.Replace(r.Value, []byte(`"driver":`), []byte(`"clean_up":{"power_off":true},"driver":`), 1)
		_, err = store.Update(f.ctx, r)
		require.NoError(t, err)
		require.NoError(t, f.Provision(f.ctx, n.UUID, f.provision("manage")))
		n = f.settle(n)
		require.Equal(t, states.Manageable, n.ProvisionState)
		require.Equal(t, &conductor.CleanUp{PowerOff: true}, n.CleanUp)
		require.NoError(t, f.Provision(f.ctx, n.UUID, f.provision("clean")))
		require.Nil(t, f.settle(n).CleanUp)
	})
}
