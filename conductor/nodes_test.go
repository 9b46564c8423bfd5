// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

func TestCreateNodeRefusesKeysOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		first, err := f.CreateNode(f.ctx, &conductor.Node{
			Name:           "rack1-1",
			Driver:         "fake-hardware",
			ProvisionState: states.Enroll,
			InstanceUUID:   "i",
		})
		require.NoError(t, err)
		require.NotEmpty(t, first.UUID)
		require.NotZero(t, first.CreatedAt)
		for want, n := range map[string]conductor.Node{
			"A node with UUID " + first.UUID + " already exists.": {UUID: first.UUID},
			"A node with name rack1-1 already exists.":            {Name: "rack1-1"},
		} {
			n.Driver, n.ProvisionState = "fake-hardware", states.Enroll
			_, err := f.CreateNode(f.ctx, &n)
			require.ErrorIs(t, err, conductor.Exists)
			require.EqualError(t, err, want)
		}
		_, err = f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll, InstanceUUID: "i"})
		require.ErrorIs(t, err, conductor.Associated)
		_, err = f.CreateNode(f.ctx, &conductor.Node{Driver: "none", ProvisionState: states.Enroll})
		require.ErrorIs(t, err, conductor.Invalid)
		_, err = f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware"})
		require.ErrorIs(t, err, conductor.Invalid)

		byName, err := f.Node(f.ctx, "rack1-1")
		require.NoError(t, err)
		require.Equal(t, first, byName)
	})
}

func TestUpdateNodeKeepsIronicsRules(t *testing.T) {
	tests := []struct {
		name   string
		node   conductor.Node
		change func(*conductor.Node)
		want   error
	}{
		{"an active node is protected", conductor.Node{ProvisionState: states.Active}, func(n *conductor.Node) { n.Protected = true }, nil},
		{
			"an available node is protected", conductor.Node{ProvisionState: states.Available},
			func(n *conductor.Node) { n.Protected = true }, conductor.WrongState,
		},
		{
			"a reason without protection", conductor.Node{ProvisionState: states.Active},
			func(n *conductor.Node) { n.ProtectedReason = "x" }, conductor.Invalid,
		},
		{
			"an available node is retired", conductor.Node{ProvisionState: states.Available},
			func(n *conductor.Node) { n.Retired = true }, conductor.WrongState,
		},
		{"a manageable node is retired", conductor.Node{ProvisionState: states.Manageable}, func(n *conductor.Node) { n.Retired = true }, nil},
		{
			"another instance", conductor.Node{ProvisionState: states.Active, InstanceUUID: "a"},
			func(n *conductor.Node) { n.InstanceUUID = "b" }, conductor.Associated,
		},
		{
			"another resource class when active", conductor.Node{ProvisionState: states.Active, ResourceClass: "a"},
			func(n *conductor.Node) { n.ResourceClass = "b" }, conductor.WrongState,
		},
		{
			"another interface when active", conductor.Node{ProvisionState: states.Active},
			func(n *conductor.Node) { n.Interfaces = map[string]string{"rescue": "no-rescue"} }, conductor.WrongState,
		},
		{
			"another interface", conductor.Node{ProvisionState: states.Manageable},
			func(n *conductor.Node) { n.Interfaces = map[string]string{"rescue": "no-rescue"} }, nil,
		},
		{
			"an interface that there is not", conductor.Node{ProvisionState: states.Manageable},
			func(n *conductor.Node) { n.Interfaces = map[string]string{"rescue": "magic"} }, conductor.Invalid,
		},
		{"another driver", conductor.Node{ProvisionState: states.Manageable}, func(n *conductor.Node) { n.Driver = "none" }, conductor.Invalid},
		{
			"reserved", conductor.Node{ProvisionState: states.Manageable, Reservation: "beta", Claim: otherMember},
			func(n *conductor.Node) { n.Owner = "me" }, conductor.Locked,
		},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			test.node.Driver = "fake-hardware"
			n, err := f.CreateNode(f.ctx, &test.node)
			require.NoError(t, err)
			_, err = f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { test.change(n); return nil })
			if test.want == nil {
				require.NoError(t, err, test.name)
				return
			}
			require.ErrorIs(t, err, test.want, test.name)
			requireUnchanged(t, n, f.settle(n))
		})
	}
}

func TestLeavingMaintenanceClearsItsReasonAndFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n, err := f.CreateNode(f.ctx, &conductor.Node{
			Driver: "fake-hardware", ProvisionState: states.Manageable, Maintenance: true, MaintenanceReason: "why", Fault: "clean failure",
		})
		require.NoError(t, err)
		n, err = f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance = false; return nil })
		require.NoError(t, err)
		require.Empty(t, n.MaintenanceReason+n.Fault)
	})
}

func TestConcurrentUpdatesLoseNothing(t *testing.T) {
	f := start(t, nil)
	n := f.node(states.Manageable)
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error {
				if n.Extra == nil {
					n.Extra = map[string]any{}
				}
				n.Extra[fmt.Sprint(i)] = true
				return nil
			})
			require.NoError(t, err)
		})
	}
	group.Wait()
	n, err := f.Node(f.ctx, n.UUID)
	require.NoError(t, err)
	require.Len(t, n.Extra, 50)
}

func TestDeleteNode(t *testing.T) {
	tests := []struct {
		name string
		node conductor.Node
		want error
	}{
		{"enroll", conductor.Node{ProvisionState: states.Enroll}, nil},
		{"available", conductor.Node{ProvisionState: states.Available}, nil},
		{"active", conductor.Node{ProvisionState: states.Active}, conductor.WrongState},
		{"active in maintenance", conductor.Node{ProvisionState: states.Active, Maintenance: true, InstanceUUID: "i"}, nil},
		{"with an instance", conductor.Node{ProvisionState: states.Available, InstanceUUID: "i"}, conductor.Associated},
		{"protected", conductor.Node{ProvisionState: states.Active, Maintenance: true, Protected: true}, conductor.IsProtected},
		{"reserved", conductor.Node{ProvisionState: states.Enroll, Reservation: "beta", Claim: otherMember}, conductor.Locked},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			test.node.Driver = "fake-hardware"
			n, err := f.CreateNode(f.ctx, &test.node)
			require.NoError(t, err)
			of := conductor.ObjectMeta{NodeUUID: n.UUID}
			for _, o := range []conductor.Object{&conductor.Port{ObjectMeta: of}, &conductor.VolumeTarget{ObjectMeta: of}} {
				_, err := f.CreateObject(f.ctx, o)
				require.NoError(t, err)
			}
			err = f.DeleteNode(f.ctx, n.UUID)
			ports, listErr := f.ObjectsOf(f.ctx, conductor.KindPort, n.UUID)
			require.NoError(t, listErr)
			if test.want != nil {
				require.ErrorIs(t, err, test.want, test.name)
				require.Len(t, ports, 1)
				return
			}
			require.NoError(t, err, test.name)
			require.Empty(t, ports)
			require.ErrorIs(t, f.DeleteNode(f.ctx, n.UUID), conductor.NotFound)
			nodes, err := f.Nodes(f.ctx)
			require.NoError(t, err)
			require.Empty(t, nodes)
		})
	}
}

func TestPower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		f.before(func(ctx context.Context, _ *conductor.Node, operation string) error {
			if operation == "power on" {
				sleep.For(ctx, 5*time.Second)
			}
			return nil
		})
		n := f.node(states.Manageable)
		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
		n = f.settle(n)
		require.Equal(t, states.PowerOn, n.TargetPower)
		require.Equal(t, "alpha", n.Reservation)
		bubble.Sleep(10 * time.Second)
		n = f.settle(n)
		require.Equal(t, states.PowerOn, n.Power)
		require.Equal(t, states.NoPower, n.TargetPower)
		require.Empty(t, n.Reservation)

		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOff, 0))
		bubble.Sleep(time.Hour) // rounds of the power sync find nothing to do
		n = f.settle(n)
		require.Equal(t, states.PowerOff, n.Power)
		require.False(t, n.Maintenance)
		require.ErrorIs(t, f.SetPower(f.ctx, "no-such", states.PowerOn, 0), conductor.NotFound)
	})
}

func TestPowerOffIsRefusedWhereItIsDisabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n, err := f.CreateNode(f.ctx, &conductor.Node{
			Driver:          "fake-hardware",
			ProvisionState:  states.Active,
			DisablePowerOff: true,
			Power:           states.PowerOn,
		})
		require.NoError(t, err)
		err = f.SetPower(f.ctx, n.UUID, states.PowerOff, 0)
		require.ErrorIs(t, err, conductor.PowerOffDisabled)
		require.Equal(t, 409, conductor.HTTPStatus(err))
		require.EqualError(t, err, "Failed to set node power state to power off.")
	})
}

func TestThePowerSyncPutsAFailingNodeIntoMaintenanceAndTakesItOutAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		var broken atomic.Bool
		broken.Store(true)
		f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
			if broken.Load() && operation == "read power" {
				return errors.New("no route to host")
			}
			return nil
		})
		n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Active, Power: states.PowerOn})
		require.NoError(t, err)
		bubble.Sleep(15 * time.Minute)
		n = f.settle(n)
		require.True(t, n.Maintenance)
		require.Equal(t, "power failure", n.Fault)
		broken.Store(false)
		bubble.Sleep(15 * time.Minute)
		n = f.settle(n)
		require.False(t, n.Maintenance)
	})
}

func TestAllocations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		create := func(class string, traits ...string) *conductor.Allocation {
			a, err := f.allocate(&conductor.Allocation{ResourceClass: class, Traits: traits})
			require.NoError(t, err)
			require.Equal(t, states.Allocating, a.State)
			synctest.Wait()
			o, err := f.Object(f.ctx, conductor.KindAllocation, a.UUID)
			require.NoError(t, err)
			return o.(*conductor.Allocation)
		}
		for _, traits := range [][]string{{"CUSTOM_GOLD"}, nil} {
			_, err := f.CreateNode(f.ctx, &conductor.Node{
				Driver: "fake-hardware", ProvisionState: states.Available, Power: states.PowerOff, ResourceClass: "baremetal", Traits: traits,
			})
			require.NoError(t, err)
		}
		none := create("tiny")
		require.Equal(t, states.AllocationError, none.State)
		require.Contains(t, none.LastError, "no available nodes match the resource class tiny")

		gold := create("baremetal", "CUSTOM_GOLD")
		require.Equal(t, states.AllocationActive, gold.State)
		n, err := f.Node(f.ctx, gold.NodeUUID)
		require.NoError(t, err)
		require.Equal(t, []string{"CUSTOM_GOLD"}, n.Traits)
		require.Equal(t, gold.UUID, n.InstanceUUID)

		other := create("baremetal")
		require.NotEqual(t, gold.NodeUUID, other.NodeUUID)
		require.Equal(t, states.AllocationError, create("baremetal").State)

		f.request(n, "active")
		synctest.Wait()
		require.ErrorIs(t, f.DeleteObject(f.ctx, conductor.KindAllocation, gold.UUID), conductor.WrongState)
		f.request(n, "deleted")
		n = f.settle(n)
		require.Equal(t, states.Available, n.ProvisionState)
		require.Empty(t, n.InstanceUUID+n.AllocationUUID)
		_, err = f.Object(f.ctx, conductor.KindAllocation, gold.UUID)
		require.ErrorIs(t, err, conductor.NotFound)

		require.NoError(t, f.DeleteObject(f.ctx, conductor.KindAllocation, other.UUID))
		n, err = f.Node(f.ctx, other.NodeUUID)
		require.NoError(t, err)
		require.Empty(t, n.InstanceUUID+n.AllocationUUID)
	})
}

// openstacksdk's functional tests power a new node off and request an allocation at once,
// before the node's power state is known.
func TestAnAllocationWaitsForTheFirstPowerStateOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		f.before(func(context.Context, *conductor.Node, string) error {
			time.Sleep(100 * time.Millisecond)
			return nil
		})
		n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available, ResourceClass: "baremetal"})
		require.NoError(t, err)
		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOff, 0))
		a, err := f.allocate(&conductor.Allocation{ResourceClass: "baremetal"})
		require.NoError(t, err)
		bubble.Sleep(time.Minute)
		o, err := f.Object(f.ctx, conductor.KindAllocation, a.UUID)
		require.NoError(t, err)
		a = o.(*conductor.Allocation)
		require.Equal(t, states.AllocationActive, a.State, a.LastError)
		require.Equal(t, n.UUID, a.NodeUUID)
	})
}

// In nodes' records conductor groups are in lower case.
func TestANewNodeHasTheDefaultGroupSince2024_1(t *testing.T) {
	for series, want := range map[states.Series]string{states.Bobcat: "", states.Caracal: "attic", states.Latest(): "attic"} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.Table, c.DefaultGroup, c.Group = series.Table(), "Attic", "Cellar" })
			for given, want := range map[string]string{"": want, "cellar": "cellar"} {
				n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll, ConductorGroup: given})
				require.NoError(t, err)
				require.Equal(t, want, n.ConductorGroup, series)
			}
			members, err := f.Members()
			require.NoError(t, err)
			require.Equal(t, "cellar", members[0].Group)
		})
	}
}
