// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

func TestTheCallersRecordOfANewNodeStaysAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		given := &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll}
		want := given.Clone()
		made, err := f.CreateNode(f.ctx, given)
		require.NoError(t, err)
		require.Equal(t, want, given)
		require.NotEmpty(t, made.UUID)
		require.False(t, made.CreatedAt.IsZero())

		given.UUID, given.CreatedAt = "00000000-0000-4000-8000-000000000001", made.CreatedAt.AddDate(-1, 0, 0)
		made, err = f.CreateNode(f.ctx, given)
		require.NoError(t, err)
		require.Equal(t, given.UUID, made.UUID)
		require.Equal(t, given.CreatedAt, made.CreatedAt)

		_, err = f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.ServiceWait + 100})
		require.ErrorIs(t, err, conductor.Invalid)
		_, err = f.CreateNode(f.ctx, &conductor.Node{Driver: "none", ProvisionState: states.Enroll})
		require.ErrorIs(t, err, conductor.Invalid)
	})
}

// allocated returns an available node that an allocation has.
func (f *fleet) allocated() (*conductor.Node, *conductor.Allocation) {
	f.t.Helper()
	n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available, Power: states.PowerOff})
	require.NoError(f.t, err)
	made, err := f.allocate(&conductor.Allocation{})
	require.NoError(f.t, err)
	a := f.allocation(made.UUID)
	require.Equal(f.t, n.UUID, a.NodeUUID)
	return f.settle(n), a
}

func TestANodeWhoseInstanceIsRemovedLosesItsAllocation(t *testing.T) {
	withoutInstance := func(n *conductor.Node) error { n.InstanceUUID = ""; return nil }
	owned := func(n *conductor.Node) error { n.Owner = "me"; return nil }

	t.Run("removed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.SkipPowerSync = true })
			n, a := f.allocated()
			n, err := f.UpdateNode(f.ctx, n.UUID, withoutInstance)
			require.NoError(t, err)
			require.Empty(t, n.AllocationUUID)
			_, err = f.Object(f.ctx, conductor.KindAllocation, a.UUID)
			require.ErrorIs(t, err, conductor.NotFound)
		})
	})
	t.Run("another change", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.SkipPowerSync = true })
			n, a := f.allocated()
			n, err := f.UpdateNode(f.ctx, n.UUID, owned)
			require.NoError(t, err)
			require.Equal(t, a.UUID, n.AllocationUUID)
			require.Equal(t, states.AllocationActive, f.allocation(a.UUID).State)
		})
	})
	t.Run("an instance without allocation", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Manageable, InstanceUUID: "an instance"})
			require.NoError(t, err)
			n, err = f.UpdateNode(f.ctx, n.UUID, withoutInstance)
			require.NoError(t, err)
			require.Empty(t, n.InstanceUUID)
		})
	})
	t.Run("an attempt that another write overtook", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.SkipPowerSync = true })
			n, a := f.allocated()
			attempts := 0
			_, err := f.UpdateNode(f.ctx, n.UUID, func(edited *conductor.Node) error {
				if attempts++; attempts > 1 {
					return owned(edited)
				}
				_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Lessee = "another"; return nil })
				require.NoError(t, err)
				return withoutInstance(edited)
			})
			require.NoError(t, err)
			require.Equal(t, 2, attempts)
			require.Equal(t, a.UUID, f.settle(n).AllocationUUID)
			require.Equal(t, states.AllocationActive, f.allocation(a.UUID).State)
		})
	})
}

func TestAReasonIsClearedWithItsField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.SkipPowerSync = true })
		n, err := f.CreateNode(f.ctx, &conductor.Node{
			Driver: "fake-hardware", ProvisionState: states.Active, Maintenance: true, MaintenanceReason: "m", Fault: "power failure",
			Protected: true, ProtectedReason: "p", Retired: true, RetiredReason: "r",
		})
		require.NoError(t, err)
		update := func(change func(*conductor.Node)) *conductor.Node {
			t.Helper()
			got, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { change(n); return nil })
			require.NoError(t, err)
			return got
		}
		reasons := func(n *conductor.Node) []string {
			return []string{n.MaintenanceReason, n.Fault, n.ProtectedReason, n.RetiredReason}
		}
		require.Equal(t, []string{"m", "power failure", "p", "r"}, reasons(update(func(n *conductor.Node) { n.Owner = "me" })))
		require.Equal(t, []string{"", "", "p", "r"}, reasons(update(func(n *conductor.Node) { n.Maintenance = false })))
		require.Equal(t, []string{"", "", "", "r"}, reasons(update(func(n *conductor.Node) { n.Protected = false })))
		require.Equal(t, []string{"", "", "", ""}, reasons(update(func(n *conductor.Node) { n.Retired = false })))

		on := update(func(n *conductor.Node) {
			n.Maintenance, n.Protected, n.Retired = true, true, true
			for _, name := range []string{"maintenance_reason", "protected_reason", "retired_reason"} {
				n.SetEmpty(name, true)
			}
		})
		require.Len(t, on.Empty, 3)
		require.Empty(t, update(func(n *conductor.Node) { n.Maintenance, n.Protected, n.Retired = false, false, false }).Empty)

		for _, change := range []func(*conductor.Node){
			func(n *conductor.Node) { n.ProtectedReason = "p" },
			func(n *conductor.Node) { n.RetiredReason = "r" },
		} {
			_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { change(n); return nil })
			require.ErrorIs(t, err, conductor.Invalid)
		}
	})
}

func TestTheNumberOfProcessorsIsASizeBefore2023_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.Table = states.Antelope.Table() })
		_, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll,
			Properties: map[string]any{"cpus": "many"}})
		require.ErrorContains(t, err, "cpus=many")
	})
}

func TestSizesArePropertiesThatAreNotNegative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		create := func(properties map[string]any) error {
			_, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll, Properties: properties})
			return err
		}
		require.NoError(t, create(map[string]any{"cpus": 0, "local_gb": "10", "memory_mb": json.Number("4096"), "cpu_arch": "x86_64"}))
		require.NoError(t, create(map[string]any{"cpus": nil}))
		require.ErrorIs(t, create(map[string]any{"cpus": nil, "memory_mb": "much"}), conductor.Invalid)
		err := create(map[string]any{"memory_mb": "much", "local_gb": json.Number("-1"), "cpus": -1})
		require.ErrorIs(t, err, conductor.Invalid)
		require.ErrorContains(t, err, "should be non-negative integers, but provided values are: local_gb=-1, memory_mb=much")
		require.NoError(t, create(map[string]any{"memory_mb": json.Number("1.5"), "local_gb": " 100000000000000000000 ", "cpus": "many"}))
		require.NoError(t, create(map[string]any{"memory_mb": json.Number("-0.5"), "local_gb": true}))
		for _, wrong := range []any{"1.5", "", "-1", []any{}, map[string]any{}} {
			require.ErrorIs(t, create(map[string]any{"memory_mb": wrong}), conductor.Invalid, wrong)
		}

		n := f.node(states.Enroll)
		_, err = f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Properties = map[string]any{"local_gb": "1.5"}; return nil })
		require.ErrorIs(t, err, conductor.Invalid)
	})
}

func TestARefusalThatIronicMakesUnderItsLockSetsTheTimeOfTheUpdate(t *testing.T) {
	const allocation = "00000000-0000-4000-8000-000000000009"
	active := conductor.Node{ProvisionState: states.Active}
	for name, test := range map[string]struct {
		node   conductor.Node
		change func(*conductor.Node)
		want   error // nil if the change is accepted
		locked bool
	}{
		"another resource class": {
			conductor.Node{ProvisionState: states.Active, ResourceClass: "a"},
			func(n *conductor.Node) { n.ResourceClass = "b" }, conductor.WrongState, true,
		},
		"the instance of an allocation": {
			conductor.Node{ProvisionState: states.Active, InstanceUUID: allocation, AllocationUUID: allocation},
			func(n *conductor.Node) { n.InstanceUUID = "" }, conductor.WrongState, true,
		},
		"another instance": {
			conductor.Node{ProvisionState: states.Active, InstanceUUID: "a"},
			func(n *conductor.Node) { n.InstanceUUID = "b" }, conductor.Associated, true,
		},
		"a negative size": {active, func(n *conductor.Node) { n.Properties = map[string]any{"local_gb": -1} }, conductor.Invalid, true},
		"protected when available": {
			conductor.Node{ProvisionState: states.Available}, func(n *conductor.Node) { n.Protected = true }, conductor.WrongState, false,
		},
		"another interface when active": {
			active, func(n *conductor.Node) { n.Interfaces = map[string]string{"rescue": "no-rescue"} }, conductor.WrongState, false,
		},
		"another reason while protected": {
			conductor.Node{ProvisionState: states.Active, Protected: true, ProtectedReason: "a"},
			func(n *conductor.Node) { n.ProtectedReason = "b" }, nil, true,
		},
		"another reason while retired": {
			conductor.Node{ProvisionState: states.Active, Retired: true, RetiredReason: "a"},
			func(n *conductor.Node) { n.RetiredReason = "b" }, nil, true,
		},
		"another owner of an allocated node": {
			conductor.Node{ProvisionState: states.Active, InstanceUUID: allocation, AllocationUUID: allocation},
			func(n *conductor.Node) { n.Owner = "me" }, nil, true,
		},
		"another owner of a node that lost its instance": {
			conductor.Node{ProvisionState: states.Active, AllocationUUID: allocation}, func(n *conductor.Node) { n.Owner = "me" }, nil, true,
		},
		"its age": {
			active, func(n *conductor.Node) { n.Revision, n.CreatedAt = 1000, n.CreatedAt.AddDate(1, 0, 0) },
			nil, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(c *conductor.Config) { c.SkipPowerSync = true })
				test.node.Driver = "fake-hardware"
				n, err := f.CreateNode(f.ctx, &test.node)
				require.NoError(t, err)
				bubble.Sleep(time.Minute)
				_, err = f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { test.change(n); return nil })
				require.ErrorIs(t, err, test.want)
				got := f.settle(n)
				require.Equal(t, n.UUID, got.UUID)
				require.Equal(t, n.CreatedAt, got.CreatedAt)
				require.Equal(t, n.AllocationUUID, got.AllocationUUID)
				if test.locked {
					require.NotNil(t, got.UpdatedAt)
					require.Equal(t, time.Minute, got.UpdatedAt.Sub(n.CreatedAt))
					return
				}
				requireUnchanged(t, n, got)
				require.Equal(t, n.UpdatedAt, got.UpdatedAt)
			})
		})
	}
}

// withoutAgent is fake-hardware without the deploy interface "direct".
type withoutAgent struct{ *conductor.Fake }

func (w withoutAgent) Describe() conductor.Description {
	d := w.Fake.Describe()
	d.Interfaces = maps.Clone(d.Interfaces)
	d.Interfaces["deploy"] = []string{"fake"}
	return d
}

func TestANewHardwareTypeMustHaveTheNodesInterfaces(t *testing.T) {
	f := start(t, func(c *conductor.Config) { c.Hardware["another"] = withoutAgent{&conductor.Fake{}} })
	n := f.create(conductor.Node{ProvisionState: states.Enroll, Interfaces: map[string]string{"deploy": "direct"}})
	_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Driver = "another"; return nil })
	require.ErrorIs(t, err, conductor.Invalid)
	require.ErrorContains(t, err, "'ironic.hardware.interfaces.deploy' entrypoint: direct. Valid interfaces are ['fake']")
	n, err = f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error {
		n.Driver, n.Interfaces = "another", map[string]string{"deploy": "fake"}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, "another", n.Driver)
}

func TestAnObjectThatDoesNotChangeIsNotWritten(t *testing.T) {
	store := &interrupted{}
	f := start(t, func(c *conductor.Config) { c.Store = store })
	chassis, err := f.CreateObject(f.ctx, &conductor.Chassis{})
	require.NoError(t, err)
	id := chassis.Meta().UUID
	same := func(conductor.Object) error { return nil }
	describe := func(o conductor.Object) error { o.(*conductor.Chassis).Description = "new"; return nil }
	got, err := f.UpdateObject(f.ctx, conductor.KindChassis, id, same)
	require.NoError(t, err)
	require.Equal(t, chassis, got)

	broken := errors.New("the store does not answer")
	store.beforeUpdate(conductor.KindChassis, func() error { return broken })
	_, err = f.UpdateObject(f.ctx, conductor.KindChassis, id, describe)
	require.ErrorIs(t, err, broken)
	store.beforeUpdate(conductor.KindChassis, func() error {
		_, err := f.UpdateObject(f.ctx, conductor.KindChassis, id, func(o conductor.Object) error {
			o.(*conductor.Chassis).Extra = map[string]any{"a": "b"}
			return nil
		})
		return err
	})
	got, err = f.UpdateObject(f.ctx, conductor.KindChassis, id, describe)
	require.NoError(t, err)
	require.Equal(t, "new", got.(*conductor.Chassis).Description)
	require.Equal(t, map[string]any{"a": "b"}, got.(*conductor.Chassis).Extra, "both changes")
	store.beforeUpdate(conductor.KindChassis, func() error {
		return f.DeleteObject(f.ctx, conductor.KindChassis, id)
	})
	_, err = f.UpdateObject(f.ctx, conductor.KindChassis, id, func(o conductor.Object) error {
		o.(*conductor.Chassis).Description = "newer"
		return nil
	})
	require.ErrorIs(t, err, conductor.NotFound)
}

// Source: story 2005377 of Ironic.
func TestOfALongReasonForMaintenanceTheStartIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Active)
		for length, want := range map[int]int{4095: 4095, 4096: 4096, 4097: 4096, 100000: 4096} {
			after, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error {
				n.Maintenance, n.MaintenanceReason = true, strings.Repeat("\u00e4", length)
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, strings.Repeat("\u00e4", want), after.MaintenanceReason)
		}
	})
}

// Source: commit 4a9a7949c of Ironic, which is in 24.1.0.
func TestARefusedHardwareTypeIsExplainedSince2024_1(t *testing.T) {
	for series, want := range map[states.Series]string{
		states.Bobcat:  `driver absent for conductor group "".`,
		states.Caracal: `driver absent for conductor group "". Ensure the driver is valid and enabled.`,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.Table = series.Table() })
			_, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "absent", ProvisionState: states.Enroll})
			require.EqualError(t, err, "No valid host was found. Reason: No conductor service registered which supports "+want)
			require.ErrorIs(t, err, conductor.Invalid)
		})
	}
}
