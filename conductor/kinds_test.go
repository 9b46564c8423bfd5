// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// kinds are three conductors with one hardware type each, by the name of both.
type kinds struct {
	t          *testing.T
	ctx        context.Context
	conductors map[string]*conductor.Conductor
	stop       map[string]context.CancelFunc
	fakes      map[string]*conductor.Fake
}

var kindNames = []string{"alpha", "beta", "gamma"}

// startKinds starts the conductors. Each hardware type refuses a node whose driver_info has "bad".
func startKinds(t *testing.T, change func(*conductor.Config)) *kinds {
	k := &kinds{
		t:          t,
		conductors: map[string]*conductor.Conductor{},
		stop:       map[string]context.CancelFunc{},
		fakes:      map[string]*conductor.Fake{},
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	k.ctx = ctx
	members, store := newLocalMembership(), &conductor.Memory{}
	for _, name := range kindNames {
		k.fakes[name] = &conductor.Fake{}
		config := conductor.Config{
			Store: store, Membership: members, Name: name, LockedRetries: 10, ShutdownTimeout: time.Second,
			Hardware: map[string]conductor.Hardware{name: strict{k.fakes[name]}},
		}
		if change != nil {
			change(&config)
		}
		c, err := conductor.New(config)
		require.NoError(t, err)
		run, stop := context.WithCancel(ctx)
		k.conductors[name], k.stop[name] = c, stop
		done := make(chan error)
		go func() { done <- c.Run(run) }()
		t.Cleanup(func() {
			cancel()
			require.ErrorIs(t, <-done, context.Canceled)
		})
		require.NoError(t, c.Ready(ctx))
	}
	synctest.Wait() // each knows the others
	return k
}

// strict is fake-hardware that refuses a node whose driver_info has "bad".
type strict struct{ *conductor.Fake }

var errBad = &conductor.Error{Reason: conductor.Invalid, Text: "the node is bad"}

func (s strict) Validate(n *conductor.Node) map[string]error {
	problems := s.Fake.Validate(n)
	if n.DriverInfo["bad"] != nil {
		problems["power"] = errBad
	}
	return problems
}

// each calls f with each conductor and with a node of each hardware type that it creates.
func (k *kinds) each(state states.State, f func(by *conductor.Conductor, n *conductor.Node)) {
	for _, by := range kindNames {
		for _, of := range kindNames {
			n, err := k.conductors[by].CreateNode(k.ctx, &conductor.Node{Driver: of, ProvisionState: state, Power: states.PowerOff})
			require.NoError(k.t, err, "a node of %s by %s", of, by)
			f(k.conductors[by], n)
		}
	}
}

// settled waits and returns a node.
func (k *kinds) settled(by *conductor.Conductor, n *conductor.Node) *conductor.Node {
	bubble.Sleep(10 * time.Second)
	n, err := by.Node(k.ctx, n.UUID)
	require.NoError(k.t, err)
	require.Empty(k.t, n.Reservation)
	return n
}

func TestEachConductorAcceptsRequestsForNodesOfEachHardwareType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := startKinds(t, nil)
		version := states.Latest().MaxAPIVersion()
		k.each(states.Enroll, func(by *conductor.Conductor, n *conductor.Node) {
			steps := []conductor.StepRequest{{Interface: "bios", Step: "factory_reset"}}
			for _, test := range []struct {
				target string
				after  states.State
			}{
				{"manage", states.Manageable}, {"inspect", states.Manageable}, {"clean", states.Manageable},
				{"provide", states.Available}, {"active", states.Active}, {"rescue", states.Rescue}, {"unrescue", states.Active},
				{"service", states.Active}, {"rebuild", states.Active}, {"deleted", states.Available},
			} {
				completed := false
				require.NoError(t, by.Provision(k.ctx, n.UUID, conductor.ProvisionRequest{
					Target: test.target, Version: version,
					Complete: func(n *conductor.Node, r *conductor.ProvisionRequest) error {
						completed = true
						r.CleanSteps, r.ServiceSteps, r.RescuePassword = steps, steps, "xyzzy"
						return nil
					},
				}), "%s of a node of %s by %s", test.target, n.Driver, by.Name())
				require.True(t, completed)
				got := k.settled(by, n)
				require.Equal(t, test.after, got.ProvisionState, "%s: %s", test.target, got.LastError)
				require.Equal(t, n.Driver, got.Conductor)
			}

			require.NoError(t, by.SetPower(k.ctx, n.UUID, states.PowerOn, 0))
			require.Equal(t, states.PowerOn, k.settled(by, n).Power)

			_, err := by.UpdateNode(k.ctx, n.UUID, func(n *conductor.Node) error {
				n.Interfaces = map[string]string{"deploy": "direct"}
				return nil
			})
			require.NoError(t, err)
			_, err = by.UpdateNode(k.ctx, n.UUID, func(n *conductor.Node) error {
				n.Interfaces = map[string]string{"deploy": "none"}
				return nil
			})
			require.ErrorIs(t, err, conductor.Invalid)

			problems, err := by.Validate(k.ctx, n.UUID)
			require.NoError(t, err)
			require.Contains(t, problems, "power")
			require.NoError(t, problems["power"])

			devices, err := by.BootDevices(k.ctx, n.UUID)
			require.NoError(t, err)
			require.Equal(t, []string{"pxe"}, devices)
			device, _, err := by.BootDevice(k.ctx, n.UUID)
			require.NoError(t, err)
			require.Equal(t, "pxe", device)
			require.NoError(t, by.SetBootDevice(k.ctx, n.UUID, "pxe", true))
			require.ErrorIs(t, by.SetBootDevice(k.ctx, n.UUID, "moon", true), conductor.Invalid)

			indicators, err := by.Management(n.UUID).Indicators(k.ctx)
			require.NoError(t, err)
			require.Len(t, indicators, 2)
			state, err := by.Management(n.UUID).IndicatorState(k.ctx, "system", "led")
			require.NoError(t, err)
			require.Equal(t, "on", state)

			methods, err := by.VendorMethods(k.ctx, n.UUID)
			require.NoError(t, err)
			require.Contains(t, methods, "third_method_sync")
			answer, err := by.CallVendor(k.ctx, n.UUID, "third_method_sync", map[string]any{"bar": "meow"})
			require.NoError(t, err)
			require.Equal(t, true, answer)
			_, err = by.CallVendor(k.ctx, n.UUID, "no_method", nil)
			require.ErrorIs(t, err, conductor.Unsupported)

			require.NoError(t, by.DeleteNode(k.ctx, n.UUID))
			require.ErrorIs(t, by.SetPower(k.ctx, n.UUID, states.PowerOn, 0), conductor.NotFound)
		})
	})
}

func TestARefusalIsTheSameThroughEachConductor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := startKinds(t, nil)
		k.each(states.Available, func(by *conductor.Conductor, n *conductor.Node) {
			request := conductor.ProvisionRequest{Target: "active", Version: states.Latest().MaxAPIVersion()}
			_, err := by.UpdateNode(k.ctx, n.UUID, func(n *conductor.Node) error {
				n.DriverInfo = map[string]any{"bad": true}
				return nil
			})
			require.NoError(t, err)
			problems, err := by.Validate(k.ctx, n.UUID)
			require.NoError(t, err)
			require.ErrorIs(t, problems["power"], conductor.Invalid)
			require.EqualError(t, problems["power"], "the node is bad")
			require.NoError(t, problems["deploy"])

			owner := k.conductors[n.Driver]
			for _, ask := range []func(c *conductor.Conductor) error{
				func(c *conductor.Conductor) error { return c.Provision(k.ctx, n.UUID, request) },
				func(c *conductor.Conductor) error { return c.SetPower(k.ctx, n.UUID, states.PowerOn, 0) },
				func(c *conductor.Conductor) error { return c.SetPower(k.ctx, n.UUID, states.PowerError, 0) },
				func(c *conductor.Conductor) error {
					wrong := request
					wrong.Target = "unrescue"
					return c.Provision(k.ctx, n.UUID, wrong)
				},
				func(c *conductor.Conductor) error {
					completing := request
					completing.Complete = func(*conductor.Node, *conductor.ProvisionRequest) error { return errBad }
					return c.Provision(k.ctx, n.UUID, completing)
				},
			} {
				want, got := ask(owner), ask(by)
				require.Error(t, want)
				require.EqualError(t, got, want.Error())
				require.Equal(t, conductor.HTTPStatus(want), conductor.HTTPStatus(got))
				for _, reason := range []error{conductor.Unsuitable, conductor.Invalid, states.ErrNotAllowed} {
					require.Equal(t, errors.Is(want, reason), errors.Is(got, reason), "%v: %v", reason, want)
				}
			}
			got := k.settled(by, n)
			require.Equal(t, states.Available, got.ProvisionState)
			require.Equal(t, states.PowerOff, got.Power)
		})
	})
}

// hanging is fake-hardware that does not set a boot device.
type hanging struct {
	*conductor.Fake
	hangs chan bool
}

func (h hanging) SetBootDevice(ctx context.Context, _ *conductor.Node, _ string, _ bool) error {
	close(h.hangs)
	<-ctx.Done()
	return ctx.Err()
}

func TestARequestFailsIfTheConductorWithTheHardwareTypeDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan bool)
		k := startKinds(t, func(c *conductor.Config) {
			if c.Name == "beta" {
				c.Hardware["beta"] = hanging{&conductor.Fake{}, hangs}
			}
		})
		alpha := k.conductors["alpha"]
		n, err := alpha.CreateNode(k.ctx, &conductor.Node{Driver: "beta", ProvisionState: states.Manageable})
		require.NoError(t, err)
		go func() {
			<-hangs
			k.stop["beta"]()
		}()
		err = alpha.SetBootDevice(k.ctx, n.UUID, "pxe", false)
		require.ErrorIs(t, err, conductor.NoWorker)

		require.ErrorIs(t, alpha.SetBootDevice(k.ctx, n.UUID, "pxe", false), conductor.NotFound, "no conductor has the type")
		calls, err := alpha.Objects(k.ctx, "calls")
		require.NoError(t, err)
		require.Empty(t, calls, "no call is left in the store")
	})
}

func TestNodesOfAnotherConductorGroupAreServedByTheirOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &conductor.Fake{}
		k := startKinds(t, func(c *conductor.Config) {
			c.Group, c.Hardware = c.Name, map[string]conductor.Hardware{"fake-hardware": shared}
		})
		for _, by := range kindNames {
			for _, group := range kindNames {
				c := k.conductors[by]
				n, err := c.CreateNode(k.ctx, &conductor.Node{Driver: "fake-hardware", ConductorGroup: group, ProvisionState: states.Available})
				require.NoError(t, err)
				require.NoError(t, c.SetPower(k.ctx, n.UUID, states.PowerOn, 0))
				require.Equal(t, group, k.settled(c, n).Conductor)
			}
		}
	})
}

// A conductor of another group may not reach the node's BMC. Source: get_conductor_for in ironic/conductor/rpcapi.py.
func TestAConductorServesNoNodeOfAGroupWithoutConductors(t *testing.T) {
	for name, members := range map[string]conductor.Membership{"alone": nil, "beside another": withBeta{}} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.Group, c.Membership = "east", members })
			f.hook.Store(beforeOperation(func(_ context.Context, n *conductor.Node, operation string) error {
				t.Errorf("%s: %s of the node of the group %s", name, operation, n.ConductorGroup)
				return nil
			}))
			n := f.create(conductor.Node{ConductorGroup: "west", ProvisionState: states.Enroll})
			_, _, bootDevice := f.BootDevice(f.ctx, n.UUID)
			for operation, err := range map[string]error{
				"power": f.SetPower(f.ctx, n.UUID, states.PowerOn, 0), "boot device": bootDevice,
				"manage": f.Provision(f.ctx, n.UUID, f.provision("manage")),
			} {
				require.ErrorIs(t, err, conductor.NotFound, operation)
				require.EqualError(t, err, "No valid host was found. Reason: No conductor service registered which supports driver "+
					`fake-hardware for conductor group "west". Ensure the driver is valid and enabled.`, operation)
			}
			_, media := f.Management(n.UUID).VirtualMedia(f.ctx)
			require.ErrorIs(t, media, conductor.Invalid)
			require.Equal(t, n, f.settle(n))
		})
	}
}

// The refusals of Ironic's API come before the search for a conductor. Source: provision and _do_provision_action in
// ironic/api/controllers/v1/node.py.
func TestARequestThatTheStateRefusesIsRefusedAlsoWithoutAConductor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.Group = "east" })
		n := f.create(conductor.Node{ConductorGroup: "west", ProvisionState: states.Deploying, TargetProvisionState: states.Active})
		require.ErrorIs(t, f.Provision(f.ctx, n.UUID, f.provision("active")), states.ErrNotAllowed)
		n = f.create(conductor.Node{ConductorGroup: "west", ProvisionState: states.Available, Maintenance: true})
		require.ErrorIs(t, f.Provision(f.ctx, n.UUID, f.provision("active")), conductor.InMaintenance)
		require.ErrorIs(t, f.Provision(f.ctx, n.UUID, f.provision("manage")), conductor.NotFound)
	})
}

// The index of a conductor learns later than the store that another one has moved a node.
func TestANodeThatAnotherProcessHasMovedIsServedInItsNewGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &late{}
		f := start(t, func(c *conductor.Config) { c.Store, c.Group, c.Membership = store, "east", withBeta{} })
		n := f.create(conductor.Node{ConductorGroup: "west", ProvisionState: states.Enroll})
		require.ErrorIs(t, f.Provision(f.ctx, n.UUID, f.provision("manage")), conductor.NotFound)
		store.rewrite(t, conductor.KindNode, n.UUID, `"west"`, `"east"`)
		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
		f.settle(n)
		store.rewrite(t, conductor.KindNode, n.UUID, `"east"`, `"west"`)
		require.ErrorIs(t, f.SetPower(f.ctx, n.UUID, states.PowerOff, 0), conductor.NotFound, "this conductor may not reach the BMC any more")
	})
}

func TestAConductorThatIsNoMemberServesNoNodeOfAnotherGroup(t *testing.T) {
	c, err := conductor.New(conductor.Config{
		Store: &conductor.Memory{}, Group: "east", Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
	})
	require.NoError(t, err)
	for group, want := range map[string]error{"east": nil, "west": conductor.NoWorker} {
		n, err := c.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ConductorGroup: group, ProvisionState: states.Enroll})
		require.NoError(t, err)
		_, err = c.BootDevices(t.Context(), n.UUID)
		require.ErrorIs(t, err, want, group)
	}
}

func TestAHeartbeatIsRefusedWhileTheOnlyConductorOfTheHardwareTypeStops(t *testing.T) {
	for _, status := range []string{"", "error"} {
		synctest.Test(t, func(t *testing.T) {
			var members *localMembership
			k := startKinds(t, func(c *conductor.Config) { members = c.Membership.(*localMembership) })
			alpha := k.conductors["alpha"]
			n, err := alpha.CreateNode(k.ctx, &conductor.Node{
				Driver: "beta", Interfaces: map[string]string{"deploy": "direct"}, Agent: conductor.AgentInfo{Token: "T"},
				ProvisionState: states.DeployWait, TargetProvisionState: states.Active,
			})
			require.NoError(t, err)
			owner, _ := alpha.Owner(n)
			require.Equal(t, "beta", owner.Hostname)
			require.NoError(t, members.Drain(k.ctx, owner.ID))
			synctest.Wait()
			_, described := alpha.Description("beta")
			require.True(t, described)
			err = alpha.Heartbeat(k.ctx, n.UUID, conductor.Heartbeat{
				From: agentAt, CallbackURL: "https://10.0.0.7:9999", AgentVersion: "9", AgentToken: "T", AgentStatus: status,
			})
			require.ErrorIs(t, err, conductor.Invalid)
			require.EqualError(t, err, "No valid host was found. Reason: No conductor service registered which supports driver "+
				`beta for conductor group "". Ensure the driver is valid and enabled.`)
			synctest.Wait()
			got, err := alpha.Node(k.ctx, n.UUID)
			require.NoError(t, err)
			require.Equal(t, n, got)
		})
	}
}
