// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

func TestAVerificationStoresThePowerState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.SkipPowerSync = true })
		n := f.node(states.Enroll)
		require.NoError(t, f.fake.SetPower(f.ctx, n, states.PowerOn))
		f.request(n, "manage")
		got := f.settle(n)
		require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
		require.Equal(t, states.PowerOn, got.Power)
	})
}

func TestTheCleaningOfARetiredNodeLeadsToManageable(t *testing.T) {
	for name, test := range map[string]struct {
		before func(context.Context, *conductor.Node, string) error
		want   states.State
	}{
		"that succeeds": {nil, states.Manageable},
		"that waits":    {waiting("bios.cache_bios_settings"), states.CleanWait},
		"that fails":    {failing("bios.cache_bios_settings"), states.CleanFail},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.Hardware = map[string]conductor.Hardware{"fake-hardware": cleans{c.Hardware["fake-hardware"].(*conductor.Fake)}}
			})
			f.before(test.before)
			n := f.create(conductor.Node{ProvisionState: states.Active, Retired: true})
			f.request(n, "deleted")
			require.Equal(t, test.want, f.settle(n).ProvisionState, name)
		})
	}
}

func TestATearDownForgetsTheInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		current := conductor.Step{Interface: "deploy", Step: "boot_instance"}
		n := f.create(conductor.Node{
			ProvisionState: states.Active, InstanceInfo: map[string]any{"image_source": "http://images.example/x.raw"},
			InstanceUUID: "1be26c0b-03f2-4d2e-ae87-c02d7f33c123",
			DeploySteps: &conductor.Steps{
				Current:   &current,
				Begun:     1,
				Planned:   []conductor.Step{current},
				Requested: []conductor.StepRequest{{Interface: "deploy", Step: "deploy"}},
			},
			DriverInternalInfo: map[string]any{"kept": "k"}, Deployment: conductor.DeploymentInfo{WholeDisk: new(bool), Root: "r", BootMode: "uefi"},
		})
		f.request(n, "deleted")
		got := f.settle(n)
		require.Equal(t, states.Available, got.ProvisionState, got.LastError)
		require.Empty(t, got.InstanceInfo)
		require.Empty(t, got.InstanceUUID)
		require.Equal(t, map[string]any{"kept": "k"}, got.DriverInternalInfo)
		require.Empty(t, got.Deployment)
		require.Equal(t, &conductor.Steps{Current: &current}, got.DeploySteps, "Ironic keeps the last step")
	})
}

// undeletable is a store that deletes no allocation.
type undeletable struct{ conductor.Memory }

func (s *undeletable) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
	if kind == conductor.KindAllocation {
		return 0, errors.New("the store does not answer")
	}
	return s.Memory.Delete(ctx, kind, id, revision)
}

func TestAnAllocationThatCannotBeDeletedDoesNotFailTheTearDown(t *testing.T) {
	for _, store := range []conductor.Store{&conductor.Memory{}, &undeletable{}} {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			f := start(t, func(c *conductor.Config) { c.Store, c.Log = store, slog.New(slog.NewTextHandler(&log, nil)) })
			n, allocation := f.allocated()
			require.NoError(t, f.Put(f.ctx, n.UUID, func(n *conductor.Node) { n.ProvisionState = states.Active }))
			f.request(n, "deleted")
			got := f.settle(n)
			require.Equal(t, states.Available, got.ProvisionState, got.LastError)
			require.Empty(t, got.AllocationUUID)
			_, err := f.Object(f.ctx, conductor.KindAllocation, allocation.UUID)
			const text = `level=WARN msg="the allocation of a node was not deleted" node=`
			if _, deletes := store.(*conductor.Memory); deletes {
				require.ErrorIs(t, err, conductor.NotFound)
				require.NotContains(t, log.String(), text)
			} else {
				require.NoError(t, err)
				require.Contains(t, log.String(), text+n.UUID+` error=`)
			}
		})
	}
}

func TestOnlyTheReturnFromRescueForgetsTheRescuePassword(t *testing.T) {
	for target, test := range map[string]struct {
		from states.State
		has  bool
	}{
		"unrescue": {states.Rescue, false}, "service": {states.Active, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n := f.create(conductor.Node{ProvisionState: test.from, InstanceInfo: map[string]any{"rescue_password": "xyzzy"}})
			f.request(n, target)
			got := f.settle(n)
			require.Equal(t, states.Active, got.ProvisionState, got.LastError)
			require.Equal(t, test.has, got.InstanceInfo["rescue_password"] == "xyzzy", target)
		})
	}
}

func TestAnAdoptionSwitchesOffAConsoleThatTheNodeLacks(t *testing.T) {
	const text = "Failed to start console while taking over the node "
	for name, test := range map[string]struct {
		enabled   bool
		console   string
		target    string
		want, err bool
	}{
		"which is on":              {true, "no-console", "adopt", false, true},
		"which is off":             {false, "no-console", "adopt", false, false},
		"but none that it has":     {true, "fake", "adopt", true, false},
		"and an inspection leaves": {true, "no-console", "inspect", true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n := f.create(conductor.Node{
				ProvisionState: states.Manageable, ConsoleEnabled: test.enabled, Interfaces: map[string]string{"console": test.console},
			})
			f.request(n, test.target)
			got := f.settle(n)
			require.Equal(t, test.want, got.ConsoleEnabled, name)
			if !test.err {
				require.Empty(t, got.LastError, name)
				return
			}
			require.Contains(t, got.LastError, text+n.UUID, name)
		})
	}
}

func TestWorkThatIsAbandonedIsLogged(t *testing.T) {
	for name, test := range map[string]struct {
		targets []string
		during  string // the operation in which the node is deleted
		text    string
	}{
		"work": {[]string{"clean"}, "prepare", `level=WARN msg="the node's work was abandoned" node=`},
		"the clean-up after it": {
			[]string{"clean", "abort"}, "power off",
			`level=WARN msg="the clean-up after a node's failed work was abandoned" node=`,
		},
		"but no other": {[]string{"clean", "abort"}, "", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			store := &conductor.Memory{}
			f := start(t, func(c *conductor.Config) {
				c.Store, c.SkipPowerSync, c.Log = store, true, slog.New(slog.NewTextHandler(&log, nil))
			})
			n := f.create(conductor.Node{
				ProvisionState: states.Manageable,
				Interfaces:     map[string]string{"deploy": "direct"},
				InstanceInfo:   instanceInfo(),
			})
			f.before(func(ctx context.Context, n *conductor.Node, did string) error {
				if did != test.during {
					return nil
				}
				r, err := store.Get(ctx, conductor.KindNode, n.UUID)
				if err == nil {
					_, err = store.Delete(ctx, conductor.KindNode, n.UUID, r.Revision)
				}
				return err
			})
			for _, target := range test.targets {
				f.request(n, target)
				synctest.Wait()
			}
			bubble.Sleep(time.Minute)
			if test.text == "" {
				require.NotContains(t, log.String(), "abandoned", name)
				return
			}
			require.Contains(t, log.String(), test.text+n.UUID+" error=", name)
		})
	}
}

func TestTheProjectOfAnInstanceIsTheLesseeUntilItsTearDownSince2024_2(t *testing.T) {
	for name, test := range map[string]struct {
		series                  states.Series
		lessee, target          string
		refused                 bool
		want, automatic, behind string // the lessee in active, its key, and the lessee afterwards
	}{
		"2024.2":              {states.Dalmatian, "", "active", false, "p", "true", ""},
		"2024.1":              {states.Caracal, "", "active", false, "", "<nil>", ""},
		"of another project":  {states.Latest(), "q", "active", false, "q", "<nil>", "q"},
		"a rebuild":           {states.Latest(), "", "rebuild", false, "", "<nil>", ""},
		"a refused one, also": {states.Latest(), "", "active", true, "p", "true", "p"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(c *conductor.Config) { c.Table, c.SkipAutomatedClean = test.series.Table(), true })
				from := map[string]states.State{"active": states.Available, "rebuild": states.Active}[test.target]
				info := map[string]any{"project_id": "p"}
				if test.refused {
					info["traits"] = []any{"CUSTOM_NONE"}
				}
				n := f.create(conductor.Node{ProvisionState: from, Lessee: test.lessee, InstanceInfo: info})
				require.Equal(t, test.refused, f.Provision(f.ctx, n.UUID, f.provision(test.target)) != nil)
				got := f.settle(n)
				require.Equal(t, test.want, got.Lessee)
				require.Equal(t, test.automatic, fmt.Sprint(got.DriverInternalInfo["automatic_lessee"]))
				if test.refused {
					return
				}
				f.request(n, "deleted")
				got = f.settle(n)
				require.Equal(t, states.Available, got.ProvisionState, got.LastError)
				require.Equal(t, test.behind, got.Lessee)
				require.NotContains(t, got.DriverInternalInfo, "automatic_lessee")
			})
		})
	}
}
