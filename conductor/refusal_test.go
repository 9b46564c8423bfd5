// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// create stores a node of fake-hardware.
func (f *fleet) create(n conductor.Node) *conductor.Node {
	n.Driver = "fake-hardware"
	created, err := f.CreateNode(f.ctx, &n)
	require.NoError(f.t, err)
	return created
}

func TestMaintenanceDoesNotKeepANodeFromBeingCleaned(t *testing.T) {
	for target, from := range map[string]states.State{"provide": states.Manageable, "deleted": states.Active} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n := f.create(conductor.Node{ProvisionState: from, Maintenance: true, MaintenanceReason: "a fan is loud"})
			require.NoError(t, f.Provision(f.ctx, n.UUID, f.provision(target)))
			got := f.settle(n)
			require.Equal(t, states.Available, got.ProvisionState, got.LastError)
			require.True(t, got.Maintenance)
			require.Equal(t, "a fan is loud", got.MaintenanceReason)
		})
	}
}

func TestNoProvisioningInMaintenance(t *testing.T) {
	forbid := func(c *conductor.Config) { c.NoProvisioningInMaintenance = true }
	synctest.Test(t, func(t *testing.T) {
		f := start(t, forbid)
		n := f.create(conductor.Node{ProvisionState: states.Manageable, Maintenance: true})
		err := f.Provision(f.ctx, n.UUID, f.provision("provide"))
		require.ErrorIs(t, err, conductor.InMaintenance)
		require.EqualError(t, err, "The providing operation can't be performed on node "+n.UUID+" because it's in maintenance mode.")
		requireUnchanged(t, n, f.settle(n))

		n = f.create(conductor.Node{ProvisionState: states.Active, Maintenance: true})
		require.NoError(t, f.Provision(f.ctx, n.UUID, f.provision("deleted")))
		got := f.settle(n)
		require.Equal(t, states.CleanFail, got.ProvisionState)
		require.Equal(t, "Cleaning a node in maintenance mode is not allowed", got.LastError)
	})
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { forbid(c); c.Table = states.Stein.Table() })
		n := f.create(conductor.Node{ProvisionState: states.Manageable, Maintenance: true})
		require.NoError(t, f.Provision(f.ctx, n.UUID, f.provision("provide")), "Stein has no such option")
		require.Equal(t, states.Available, f.settle(n).ProvisionState)
	})
}

func TestAHeartbeatInMaintenanceContinuesNothing(t *testing.T) {
	for forbid, want := range map[bool]states.State{false: states.CleanWait, true: states.CleanFail} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.NoProvisioningInMaintenance = forbid })
			n := f.create(conductor.Node{
				ProvisionState:       states.CleanWait,
				TargetProvisionState: states.Available,
				Maintenance:          true,
				Agent:                conductor.AgentInfo{Token: "token"},
				CleanSteps:           &conductor.Steps{Current: &conductor.Step{Interface: "deploy", Step: "erase_devices"}},
			})
			require.NoError(t, f.Heartbeat(f.ctx, n.UUID, conductor.Heartbeat{
				From:         agentAt,
				AgentVersion: "9",
				AgentToken:   "token",
				CallbackURL:  "http://10.0.0.7",
			}))
			got := f.settle(n)
			require.Equal(t, want, got.ProvisionState)
			if forbid {
				require.Contains(t, got.LastError, "Cleaning aborted as node is in maintenance mode")
			}
		})
	}
}

func TestAFailedServiceIsNotAbortedInMaintenance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.create(conductor.Node{ProvisionState: states.ServiceFail, TargetProvisionState: states.Active, Maintenance: true})
		err := f.Provision(f.ctx, n.UUID, f.provision("abort"))
		require.ErrorIs(t, err, conductor.InMaintenance)
		require.Equal(t, 409, conductor.HTTPStatus(err))
		require.ErrorContains(t, err, "Can not abort service")
		requireUnchanged(t, n, f.settle(n))
	})
}

func TestAnInterfaceThatTheNodeLacksRefusesTheRequest(t *testing.T) {
	for _, c := range []struct {
		target, kind string
		from         states.State
		status       int
		text         string
	}{
		{"inspect", "inspect", states.Manageable, 400, "Driver fake-hardware does not support inspect (disabled or not implemented)."},
		{
			"rescue", "rescue", states.Active, 500,
			"Failed to rescue instance None for node UUID: Validation failed: Driver fake-hardware does not support rescue " +
				"(disabled or not implemented).",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n := f.create(conductor.Node{
				UUID: "b2b4d1a9-0a3e-4c93-8d8a-6f0c6b8f6b6e", ProvisionState: c.from, Interfaces: map[string]string{c.kind: "no-" + c.kind},
			})
			err := f.Provision(f.ctx, n.UUID, f.provision(c.target))
			require.ErrorIs(t, err, conductor.Unsupported)
			require.Equal(t, c.status, conductor.HTTPStatus(err))
			require.Equal(t, c.text, strings.ReplaceAll(err.Error(), n.UUID, "UUID"))
			requireUnchanged(t, n, f.settle(n))
		})
	}
}

func TestTheInstancesTraitsMustBeTheNodes(t *testing.T) {
	for _, target := range []string{"active", "rebuild"} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			from := map[string]states.State{"active": states.Available, "rebuild": states.Active}[target]
			n := f.create(conductor.Node{
				ProvisionState: from,
				Traits:         []string{"CUSTOM_GOLD"},
				InstanceInfo:   map[string]any{"traits": []any{"CUSTOM_GOLD", "CUSTOM_B", "CUSTOM_A"}},
			})
			err := f.Provision(f.ctx, n.UUID, f.provision(target))
			require.ErrorIs(t, err, conductor.Unsuitable)
			require.Equal(t, 400, conductor.HTTPStatus(err))
			require.EqualError(t, err, "Failed to validate deploy or power info for node "+n.UUID+": Cannot specify instance "+
				"traits that are not also set on the node. Node "+n.UUID+" is missing traits CUSTOM_A, CUSTOM_B")
			requireUnchanged(t, n, f.settle(n))
		})
	}
}

func TestTheTraitsOfAnInstanceAreValidatedWithTheDeployInterface(t *testing.T) {
	f := start(t, nil)
	for traits, want := range map[any]string{
		nil:        "",
		"CUSTOM_A": "Error parsing traits from Node UUID instance_info field. A list of strings is expected.",
		"list":     "Cannot specify instance traits that are not also set on the node. Node UUID is missing traits CUSTOM_A",
	} {
		if traits == "list" {
			traits = []any{"CUSTOM_A"}
		}
		n := f.create(conductor.Node{ProvisionState: states.Available, InstanceInfo: map[string]any{"traits": traits}})
		problems, err := f.Validate(f.ctx, n.UUID)
		require.NoError(t, err)
		if want == "" {
			require.NoError(t, problems["deploy"])
			continue
		}
		require.EqualError(t, problems["deploy"], strings.ReplaceAll(want, "UUID", n.UUID))
	}
}

// unaddressed is hardware without the address of a BMC.
type unaddressed struct{ *conductor.Fake }

func (unaddressed) Validate(*conductor.Node) map[string]error {
	return map[string]error{"power": errors.New("no address")}
}

func TestARequestForANodeWithoutPowerInterfaceTellsWhy(t *testing.T) {
	f := start(t, func(c *conductor.Config) { c.Hardware["fake-hardware"] = unaddressed{&conductor.Fake{}} })
	for _, test := range []struct {
		target string
		in     states.State
		want   string
	}{
		{"active", states.Available, "Failed to validate deploy or power info for node UUID: no address"},
		{"rebuild", states.Active, "Failed to validate deploy or power info for node UUID: no address"},
		{"deleted", states.Active, "Failed to validate power driver interface. Can not delete instance. Error: no address"},
		{"clean", states.Manageable, "Validation of node UUID for cleaning failed: no address"},
		{"service", states.Active, "Validation of node UUID for servicing failed: no address"},
		{"rescue", states.Active, "Failed to rescue instance None for node UUID: Validation failed: no address"},
		{"unrescue", states.Rescue, "Failed to unrescue instance None for node UUID: Validation failed: no address"},
		{"inspect", states.Manageable, "no address"},
	} {
		n := f.create(conductor.Node{ProvisionState: test.in})
		require.EqualError(t, f.Provision(f.ctx, n.UUID, f.provision(test.target)), strings.ReplaceAll(test.want, "UUID", n.UUID), test.target)
	}
	n := f.create(conductor.Node{ProvisionState: states.Active, InstanceUUID: "an instance"})
	require.EqualError(t, f.Provision(f.ctx, n.UUID, f.provision("rescue")),
		"Failed to rescue instance an instance for node "+n.UUID+": Validation failed: no address")
}

func TestTheSameUnfitInterfaceIsNamedEachTime(t *testing.T) {
	f := start(t, nil)
	n := f.create(conductor.Node{ProvisionState: states.Manageable})
	active := f.create(conductor.Node{ProvisionState: states.Active})
	unfit := func(n *conductor.Node) error {
		n.Interfaces = map[string]string{"vendor": "magic", "rescue": "magic", "bios": "magic", "deploy": "magic"}
		return nil
	}
	for range 60 {
		_, err := f.UpdateNode(f.ctx, n.UUID, unfit)
		require.ErrorContains(t, err, "'ironic.hardware.interfaces.deploy'")
		_, err = f.UpdateNode(f.ctx, active.UUID, unfit)
		require.ErrorContains(t, err, "deploy_interface")
	}
}

func TestTheRefusalOfAnUpdateNamesTheCurrentStateSince20252(t *testing.T) {
	for field, change := range map[string]func(*conductor.Node){
		"resource_class": func(n *conductor.Node) { n.ResourceClass = "silver" },
		"instance_uuid":  func(n *conductor.Node) { n.InstanceUUID = "" },
		"bios_interface": func(n *conductor.Node) { n.Interfaces = map[string]string{"bios": "no-bios"} },
	} {
		for series, named := range map[states.Series]bool{states.Epoxy: false, states.Flamingo: true} {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(c *conductor.Config) { c.Table = series.Table() })
				n := f.create(conductor.Node{
					ProvisionState: states.Active, ResourceClass: "gold", InstanceUUID: "2f3a9e0c-7d3b-4a49-8f5e-3c1b6f0d7a11",
					AllocationUUID: "0d8f7a5b-4f5c-4a8e-8f0e-0c1c2b8a9f01",
				})
				_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { change(n); return nil })
				require.ErrorContains(t, err, field)
				require.Equal(t, named, strings.HasSuffix(err.Error(), " Current state is 'active'."), "%s in %v: %v", field, series, err)
			})
		}
	}
}

func TestPowerIsNotChangedWhileANodeIsCleaned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.create(conductor.Node{ProvisionState: states.CleanWait, TargetProvisionState: states.Available})
		require.ErrorIs(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0), conductor.NotAllowed)
	})
}

func TestKeepAvailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.KeepAvailable = true })
		n := f.create(conductor.Node{ProvisionState: states.Available})
		err := f.DeleteNode(f.ctx, n.UUID)
		require.ErrorIs(t, err, conductor.WrongState)
		require.NotContains(t, err.Error(), "are: available")
	})
}

// slotted is fake-hardware with a slot of virtual media.
type slotted struct {
	*conductor.Fake
	conductor.Management // nil
}

func (slotted) VirtualMedia(context.Context, *conductor.Node) ([]conductor.VirtualMedia, error) {
	return []conductor.VirtualMedia{{MediaTypes: []string{"CD"}}}, nil
}

func TestVirtualMediaOfAReservedNodeAreReadSince2026_1(t *testing.T) {
	for series, refused := range map[states.Series]bool{states.Flamingo: true, states.Gazpacho: false} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.Table = series.Table()
				c.Hardware = map[string]conductor.Hardware{"fake-hardware": slotted{Fake: c.Hardware["fake-hardware"].(*conductor.Fake)}}
			})
			n := f.create(conductor.Node{ProvisionState: states.Active, Maintenance: true})
			media, err := f.Management(n.UUID).VirtualMedia(f.ctx)
			require.NoError(t, err)
			require.Len(t, media, 1)
			n = f.create(conductor.Node{ProvisionState: states.Active, Maintenance: true, Reservation: "beta", Claim: otherMember})
			_, err = f.Management(n.UUID).VirtualMedia(f.ctx)
			require.Equal(t, refused, errors.Is(err, conductor.Locked), "%v: %v", series, err)
		})
	}
}

// A service in service failed leads to the states of its steps, and not at once to active.
func TestAFailedServiceIsHeldAndWaits(t *testing.T) {
	for step, want := range map[string]states.State{"hold": states.ServiceHold, "wait": states.ServiceWait} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n := f.create(conductor.Node{ProvisionState: states.ServiceFail})
			r := f.provision("service")
			r.ServiceSteps = []conductor.StepRequest{{Step: step}}
			require.NoError(t, f.Provision(f.ctx, n.UUID, r))
			require.Equal(t, want, f.settle(n).ProvisionState)
		})
	}
}
