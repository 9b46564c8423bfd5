// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

func TestRefusedRequestsChangeNothing(t *testing.T) {
	tests := []struct {
		name   string
		node   conductor.Node
		target string
		reason conductor.Reason
		status int
	}{
		{"deploy in maintenance", conductor.Node{ProvisionState: states.Available, Maintenance: true}, "active", conductor.InMaintenance, 400},
		{"provide a retired node", conductor.Node{ProvisionState: states.Manageable, Retired: true}, "provide", conductor.IsRetired, 400},
		{"rebuild a protected node", conductor.Node{ProvisionState: states.Active, Protected: true}, "rebuild", conductor.IsProtected, 403},
		{"delete a protected node", conductor.Node{ProvisionState: states.Active, Protected: true}, "deleted", conductor.IsProtected, 403},
		{
			"reserved", conductor.Node{ProvisionState: states.Manageable, Reservation: "beta", Claim: otherMember},
			"provide", conductor.Locked, 409,
		},
		{
			"reserved and wrong", conductor.Node{ProvisionState: states.Manageable, Reservation: "beta", Claim: otherMember},
			"unrescue", conductor.Locked, 409,
		},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			test.node.Driver = "fake-hardware"
			n, err := f.CreateNode(f.ctx, &test.node)
			require.NoError(t, err)
			err = f.Provision(f.ctx, n.UUID, f.provision(test.target))
			require.ErrorIs(t, err, test.reason, test.name)
			require.Equal(t, test.status, conductor.HTTPStatus(err))
			requireUnchanged(t, n, f.settle(n))
		})
	}
}

func TestARequestThatIsNotInTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Enroll)
		err := f.Provision(f.ctx, n.UUID, f.provision("provide"))
		require.Equal(t, http.StatusBadRequest, conductor.HTTPStatus(err))
		require.ErrorIs(t, err, states.ErrNotAllowed)
		err = f.Provision(f.ctx, "no-such", f.provision("provide"))
		require.Equal(t, http.StatusNotFound, conductor.HTTPStatus(err))
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, 300, start(t, nil).Stats().Workers, "by default")
		f := start(t, func(c *conductor.Config) { c.MaxDeploying, c.Workers = 2, 3 })
		f.before(func(ctx context.Context, _ *conductor.Node, operation string) error {
			if operation != "verify" {
				sleep.For(ctx, time.Hour)
			}
			return nil
		})
		for range 2 {
			f.request(f.node(states.Available), "active")
		}
		require.ErrorIs(t, f.Provision(f.ctx, f.node(states.Available).UUID, f.provision("active")), conductor.LimitReached)
		f.request(f.node(states.Manageable), "inspect")
		require.ErrorIs(t, f.Provision(f.ctx, f.node(states.Manageable).UUID, f.provision("inspect")), conductor.NoWorker)
		bubble.Sleep(2 * time.Hour)
		f.request(f.node(states.Available), "active")
	})
}

// requireUnchanged checks that a refused request changed nothing but UpdatedAt, see [conductor.Held].
func requireUnchanged(t *testing.T, want, got *conductor.Node) {
	t.Helper()
	got = got.Clone()
	got.UpdatedAt, got.Revision = want.UpdatedAt, want.Revision
	require.Equal(t, want, got)
}

func TestARefusalAfterTheLockSetsUpdatedAt(t *testing.T) {
	const deploys, protects = "active", "deleted"
	for name, test := range map[string]struct {
		node    conductor.Node
		request func(f *fleet, n *conductor.Node) error
		touched bool
	}{
		"a wrong state":          {conductor.Node{ProvisionState: states.Enroll}, provisioned(deploys), false},
		"deploy in maintenance":  {conductor.Node{ProvisionState: states.Available, Maintenance: true}, provisioned(deploys), false},
		"the newer word for it":  {conductor.Node{ProvisionState: states.Available, Maintenance: true}, provisioned("deploy"), true},
		"rebuild in maintenance": {conductor.Node{ProvisionState: states.Active, Maintenance: true}, provisioned("rebuild"), false},
		"rebuild the protected":  {conductor.Node{ProvisionState: states.Active, Protected: true}, provisioned("rebuild"), true},
		"missing traits": {
			conductor.Node{ProvisionState: states.Available, InstanceInfo: map[string]any{"traits": []any{"CUSTOM_A"}}},
			provisioned(deploys), true,
		},
		"tear down the protected": {conductor.Node{ProvisionState: states.Active, Protected: true}, provisioned(protects), true},
		"protect in a wrong state": {
			conductor.Node{ProvisionState: states.Enroll},
			updated(func(n *conductor.Node) { n.Protected = true }), false,
		},
		"an unfit interface": {
			conductor.Node{ProvisionState: states.Enroll},
			updated(func(n *conductor.Node) { n.Interfaces = map[string]string{"bios": "x"} }), false,
		},
		"a bad size": {
			conductor.Node{ProvisionState: states.Enroll},
			updated(func(n *conductor.Node) { n.Properties = map[string]any{"memory_mb": "x"} }), true,
		},
		"another instance": {
			conductor.Node{ProvisionState: states.Enroll, InstanceUUID: "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"},
			updated(func(n *conductor.Node) { n.InstanceUUID = "2be26c0b-03f2-4d2e-ae87-c02d7f33c123" }), true,
		},
		"delete the active": {
			conductor.Node{ProvisionState: states.Active},
			func(f *fleet, n *conductor.Node) error { return f.DeleteNode(f.ctx, n.UUID) }, true,
		},
		"a reserved node": {
			conductor.Node{ProvisionState: states.Manageable, Reservation: "beta", Claim: otherMember},
			provisioned("provide"), false,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			test.node.Driver = "fake-hardware"
			n, err := f.CreateNode(f.ctx, &test.node)
			require.NoError(t, err)
			require.Error(t, test.request(f, n), name)
			got := f.settle(n)
			requireUnchanged(t, n, got)
			require.Equal(t, test.touched, got.UpdatedAt != nil, name)
		})
	}
}

func provisioned(target string) func(*fleet, *conductor.Node) error {
	return func(f *fleet, n *conductor.Node) error { return f.Provision(f.ctx, n.UUID, f.provision(target)) }
}

func updated(change func(*conductor.Node)) func(*fleet, *conductor.Node) error {
	return func(f *fleet, n *conductor.Node) error {
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { change(n); return nil })
		return err
	}
}
