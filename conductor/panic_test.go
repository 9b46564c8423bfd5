// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// defective is fake-hardware with a defect in one of its methods that have no context.
type defective struct {
	*conductor.Fake
	defect atomic.Pointer[defect]
}

// defect is what a method does in place of its work.
type defect struct {
	method string
	do     func()
}

// breaks gives the hardware type a defect, or none.
func (d *defective) breaks(method string, do func()) { d.defect.Store(&defect{method, do}) }

func (d *defective) calls(method string) {
	if defect := d.defect.Load(); defect != nil && defect.method == method {
		defect.do()
	}
}

func (d *defective) Validate(n *conductor.Node) map[string]error {
	d.calls("Validate")
	return d.Fake.Validate(n)
}

func (d *defective) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	d.calls("Steps")
	return d.Fake.Steps(n, work)
}

func (d *defective) UsesAgent(n *conductor.Node, work states.Work) bool {
	d.calls("UsesAgent")
	return d.Fake.UsesAgent(n, work)
}

func (d *defective) WritesImage(n *conductor.Node) bool {
	d.calls("WritesImage")
	return d.Fake.WritesImage(n)
}

func (d *defective) CleanUpAgent(ctx context.Context, t *conductor.Task) error {
	d.calls("CleanUpAgent")
	return d.Fake.CleanUpAgent(ctx, t)
}

func (d *defective) SetBootDevice(context.Context, *conductor.Node, string, bool) error {
	d.calls("SetBootDevice")
	return nil
}

func (d *defective) NeedsPort(n *conductor.Node) []string {
	d.calls("NeedsPort")
	return d.Fake.NeedsPort(n)
}

func (d *defective) SupportsPower(*conductor.Node, states.Power) bool {
	d.calls("SupportsPower")
	return true
}

func (d *defective) VendorMethods(n *conductor.Node) map[string]conductor.VendorMethod {
	d.calls("VendorMethods")
	return d.Fake.VendorMethods(n)
}

// startDefective runs a conductor with a defective hardware type.
func startDefective(t *testing.T) (*fleet, *defective) {
	hardware := &defective{}
	f := start(t, func(c *conductor.Config) {
		hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
		c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
		c.SkipPowerSync, c.ShutdownTimeout = true, 300*time.Millisecond
	})
	return f, hardware
}

// panics are the ways in which a method ends without a result.
var panics = map[string]func(){"panic with a value of type string": func() { panic("a defect") }, "ended its goroutine": runtime.Goexit}

// A panic of a hardware type is an error of a request or of work. It keeps no worker, without which no request could
// work on the node again.
func TestWorkFailsWhenAMethodOfTheHardwareTypePanics(t *testing.T) {
	for _, test := range []struct {
		method, deploy string
		from           states.State
		target         string
		want           states.State
	}{
		{"Validate", "fake", states.Manageable, "provide", states.CleanFail},
		{"Steps", "fake", states.Manageable, "provide", states.CleanFail},
		{"Steps", "fake", states.Manageable, "inspect", states.InspectFail},
		{"Steps", "fake", states.Available, "active", states.DeployFail},
		{"Steps", "fake", states.Active, "service", states.ServiceFail},
		{"Steps", "fake", states.Active, "deleted", states.Error},
		{"UsesAgent", "direct", states.Manageable, "provide", states.CleanFail},
		{"UsesAgent", "direct", states.Available, "active", states.DeployFail},
		{"WritesImage", "direct", states.Available, "active", states.DeployFail},
	} {
		for text, panics := range panics {
			synctest.Test(t, func(t *testing.T) {
				f, hardware := startDefective(t)
				n := f.create(conductor.Node{
					ProvisionState: test.from, Driver: "fake-hardware", Power: states.PowerOff,
					Interfaces: map[string]string{"deploy": test.deploy}, InstanceInfo: instanceInfo(),
				})
				hardware.breaks(test.method, panics)
				require.NoError(t, f.Provision(f.ctx, n.UUID, f.provision(test.target)), test)
				failed := f.settle(n)
				require.Equal(t, test.want, failed.ProvisionState, test)
				require.Contains(t, failed.LastError, text, test)
				require.Empty(t, failed.Reservation, test)
				require.Zero(t, f.Stats().BusyWorkers, test)
			})
		}
	}
}

func TestARequestFailsWhenAMethodOfTheHardwareTypePanics(t *testing.T) {
	power := func(f *fleet, n *conductor.Node) error { return f.SetPower(f.ctx, n.UUID, states.PowerOn, 0) }
	validate := func(f *fleet, n *conductor.Node) error { _, err := f.Validate(f.ctx, n.UUID); return err }
	abort := func(f *fleet, n *conductor.Node) error { return f.Provision(f.ctx, n.UUID, f.provision("abort")) }
	for _, test := range []struct {
		method string
		state  states.State
		call   func(*fleet, *conductor.Node) error
	}{
		{"Validate", states.Manageable, power},
		{"SupportsPower", states.Manageable, power},
		{"NeedsPort", states.Manageable, validate},
		{"Steps", states.InspectWait, abort},
		{"Steps", states.Available, func(f *fleet, n *conductor.Node) error {
			r := f.provision("active")
			r.DeploySteps = []conductor.StepRequest{{Interface: "bios", Step: "factory_reset", Priority: new(int)}}
			return f.Provision(f.ctx, n.UUID, r)
		}},
		{"VendorMethods", states.Manageable, func(f *fleet, n *conductor.Node) error {
			_, err := f.VendorMethods(f.ctx, n.UUID)
			return err
		}},
		{"UsesAgent", states.CleanWait, func(f *fleet, n *conductor.Node) error {
			_, token, err := f.Lookup(f.ctx, netip.Addr{}, nil, n.UUID)
			require.NoError(t, err)
			return f.Heartbeat(f.ctx, n.UUID, conductor.Heartbeat{AgentToken: token})
		}},
	} {
		for text, panics := range panics {
			synctest.Test(t, func(t *testing.T) {
				f, hardware := startDefective(t)
				n := f.create(conductor.Node{ProvisionState: test.state, Driver: "fake-hardware", Power: states.PowerOff})
				hardware.breaks(test.method, panics)
				require.ErrorContains(t, test.call(f, n), text, "%s in %s", test.method, test.state)
				after := f.settle(n)
				require.Equal(t, test.state, after.ProvisionState, test.method)
				require.Empty(t, after.Reservation, test.method)
				require.Zero(t, f.Stats().BusyWorkers, test.method)
				hardware.breaks("", nil)
				require.NoError(t, validate(f, n), test.method)
			})
		}
	}
}

// Without the answer a conductor does not know whether an agent is on the machine: it leaves the machine as it is.
func TestAWaitThatIsOverEndsThoughUsesAgentPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, hardware := startDefective(t)
		hardware.breaks("UsesAgent", func() { panic("a defect") })
		at := time.Now().Add(-24 * time.Hour)
		n := f.create(conductor.Node{ProvisionState: states.CleanWait, Driver: "fake-hardware", ProvisionUpdatedAt: &at})
		bubble.Sleep(2 * time.Minute)
		failed := f.settle(n)
		require.Equal(t, states.CleanFail, failed.ProvisionState)
		require.Nil(t, failed.CleanUp)
	})
}

func TestWorkFailsWhenAMethodOfTheHardwareTypeHangs(t *testing.T) {
	for _, method := range []string{"Validate", "Steps", "UsesAgent"} {
		synctest.Test(t, func(t *testing.T) {
			f, hardware := startDefective(t)
			release := make(chan struct{})
			t.Cleanup(func() { close(release) })
			n := f.create(conductor.Node{ProvisionState: states.Manageable, Driver: "fake-hardware"})
			hardware.breaks(method, func() { <-release })
			require.NoError(t, f.Provision(f.ctx, n.UUID, f.provision("provide")))
			bubble.Sleep(time.Minute)
			failed := f.settle(n)
			require.Equal(t, states.CleanFail, failed.ProvisionState, method)
			require.Contains(t, failed.LastError, "the call does not return", method)
		})
	}
}

func TestAHardwareTypeThatHangsDoesNotHoldUpTheEndOfRun(t *testing.T) {
	for _, method := range []string{"Validate", "Steps", "UsesAgent"} {
		synctest.Test(t, func(t *testing.T) {
			hardware := &defective{Fake: &conductor.Fake{}}
			c, err := conductor.New(conductor.Config{
				Store: &conductor.Memory{}, Hardware: map[string]conductor.Hardware{"fake-hardware": hardware}, ShutdownTimeout: 300 * time.Millisecond,
			})
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- c.Run(ctx) }()
			require.NoError(t, c.Ready(ctx))
			n, err := c.CreateNode(ctx, &conductor.Node{ProvisionState: states.Manageable, Driver: "fake-hardware"})
			require.NoError(t, err)
			release := make(chan struct{})
			defer close(release)
			hardware.breaks(method, func() { <-release })
			require.NoError(t, c.Provision(ctx, n.UUID, conductor.ProvisionRequest{Target: "provide", Version: 115}))
			synctest.Wait()
			stop()
			begin := time.Now()
			require.ErrorIs(t, <-ended, context.Canceled)
			require.LessOrEqual(t, time.Since(begin), 5*time.Second, method)
			n, err = c.Node(t.Context(), n.UUID)
			require.NoError(t, err)
			require.Equal(t, states.CleanFail, n.ProvisionState, method)
		})
	}
}

// A client whose context ends waits no longer for a hardware type.
func TestARequestWhoseValidationHangsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, hardware := startDefective(t)
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		n := f.create(conductor.Node{ProvisionState: states.Manageable, Driver: "fake-hardware"})
		hardware.breaks("Validate", func() { <-release })
		ctx, cancel := context.WithTimeout(f.ctx, time.Second)
		defer cancel()
		begin := time.Now()
		require.Error(t, f.SetPower(ctx, n.UUID, states.PowerOn, 0))
		require.LessOrEqual(t, time.Since(begin), 4*time.Second)
		require.Zero(t, f.Stats().BusyWorkers)
	})
}
