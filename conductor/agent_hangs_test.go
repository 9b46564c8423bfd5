// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// hangsFrom makes a method of a defective hardware type hang from one of its calls on, until the test ends.
func (d *defective) hangsFrom(t *testing.T, method string, call int) {
	release, calls := make(chan struct{}), atomic.Int32{}
	t.Cleanup(func() { close(release) })
	d.breaks(method, func() {
		if int(calls.Add(1)) > call {
			<-release
		}
	})
}

// A node is not kept by a hardware type that begins to hang at any time before the agent is booted.
func TestWorkFailsWheneverAMethodThatTellsOfTheAgentBeginsToHang(t *testing.T) {
	for _, test := range []struct {
		method        string
		from          states.State
		target        string
		fails, passed states.State
	}{
		{"UsesAgent", states.Available, "active", states.DeployFail, states.DeployWait},
		{"WritesImage", states.Available, "active", states.DeployFail, states.DeployWait},
		{"UsesAgent", states.Manageable, "provide", states.CleanFail, states.CleanWait},
	} {
		failed, passed := 0, false
		for call := 0; !passed; call++ {
			synctest.Test(t, func(t *testing.T) {
				f, hardware := startDefective(t)
				n := f.create(conductor.Node{
					ProvisionState: test.from, Driver: "fake-hardware", Power: states.PowerOff,
					Interfaces: map[string]string{"deploy": "direct"}, InstanceInfo: instanceInfo(),
				})
				hardware.hangsFrom(t, test.method, call)
				require.NoError(t, f.Provision(f.ctx, n.UUID, f.provision(test.target)))
				bubble.Sleep(time.Minute)
				n, err := f.Node(f.ctx, n.UUID)
				require.NoError(t, err)
				require.Empty(t, n.Reservation, "%v: call %d", test, call)
				if passed = n.ProvisionState == test.passed; !passed {
					failed++
					require.Equal(t, test.fails, n.ProvisionState, "%v: call %d", test, call)
					require.Contains(t, n.LastError, "the call does not return", "%v: call %d", test, call)
				}
			})
		}
		require.Positive(t, failed, test)
	}
}

// A hardware type that hangs for good keeps one goroutine and one record for each question about a node, however often
// clients and work ask it.
func TestAHardwareTypeIsNotAskedAgainBeforeItHasAnswered(t *testing.T) {
	for method, ask := range map[string]func(f *fleet, n *conductor.Node) error{
		"Validate": func(f *fleet, n *conductor.Node) error {
			all, err := f.Validate(f.ctx, n.UUID)
			require.NoError(t, err)
			return all["power"]
		},
		"NeedsPort": func(f *fleet, n *conductor.Node) error {
			_, err := f.Validate(f.ctx, n.UUID)
			return err
		},
		"SupportsPower": func(f *fleet, n *conductor.Node) error { return f.SetPower(f.ctx, n.UUID, states.PowerOn, 0) },
		"VendorMethods": func(f *fleet, n *conductor.Node) error {
			_, err := f.VendorMethods(f.ctx, n.UUID)
			return err
		},
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, hardware := startDefective(t)
				n, other := f.node(states.Manageable), f.node(states.Manageable)
				release, calls := make(chan struct{}), atomic.Int32{}
				hardware.breaks(method, func() { calls.Add(1); <-release })

				var failure *conductor.HardwareError
				require.ErrorAs(t, ask(f, n), &failure)
				for range 3 {
					asked := time.Now()
					err := ask(f, n)
					require.ErrorAs(t, err, &failure)
					require.ErrorContains(t, err, "an earlier question is not answered yet: the call does not return")
					require.Zero(t, time.Since(asked))
				}
				require.EqualValues(t, 1, calls.Load())
				require.ErrorAs(t, ask(f, other), &failure)
				require.EqualValues(t, 2, calls.Load(), "another node is another question")

				close(release)
				synctest.Wait()
				require.NoError(t, ask(f, n))
				require.NoError(t, ask(f, other))
				require.EqualValues(t, 4, calls.Load())
			})
		})
	}
}

// Clients that do not wait for the answer make no more calls than one that does, once the first is overdue.
func TestImpatientClientsLeaveNoCallForEachQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, hardware := startDefective(t)
		n := f.node(states.Manageable)
		release, calls := make(chan struct{}), atomic.Int32{}
		goOn := sync.OnceFunc(func() { close(release) })
		defer goOn()
		hardware.breaks("Validate", func() { calls.Add(1); <-release })
		for range 50 {
			ctx, leave := context.WithTimeout(f.ctx, 2*time.Second)
			_, _ = f.Validate(ctx, n.UUID)
			leave()
		}
		require.LessOrEqual(t, calls.Load(), int32(2))
		goOn()
		synctest.Wait()
		all, err := f.Validate(f.ctx, n.UUID)
		require.NoError(t, err)
		require.NoError(t, all["power"])
	})
}

// A call that a client cuts short may be in time for the next one.
func TestAClientThatLeavesMakesNoOtherQuestionFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, hardware := startDefective(t)
		n := f.node(states.Manageable)
		hardware.breaks("VendorMethods", func() { time.Sleep(4 * time.Second) })
		ctx, leave := context.WithTimeout(f.ctx, time.Second)
		defer leave()
		_, err := f.VendorMethods(ctx, n.UUID)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = f.VendorMethods(f.ctx, n.UUID)
		require.NoError(t, err)
	})
}

// startDefectiveMember is startDefective with a membership that follows a script.
func startDefectiveMember(t *testing.T) (*fleet, *defective, *script) {
	hardware, members := &defective{}, &script{steps: make(chan scriptStep)}
	f := start(t, func(c *conductor.Config) {
		hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
		c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
		c.Membership, c.SkipPowerSync = members, true
		go func() { members.steps <- scriptStep{} }()
	})
	return f, hardware, members
}

// A call of the hardware that hangs for good keeps one goroutine and one record, however often clients and work repeat
// it. Some calls end with the membership alone.
func TestACallThatHangsIsNotRepeatedBeforeItHasReturned(t *testing.T) {
	const again = "has not returned yet"
	provisions := func(targets ...string) func(*fleet, *conductor.Node) error {
		return func(f *fleet, n *conductor.Node) error {
			if f.settle(n).ProvisionState == states.CleanFail { // after an earlier attempt
				f.request(n, "manage")
			}
			for _, target := range targets {
				f.settle(n)
				f.request(n, target)
			}
			return nil
		}
	}
	for name, test := range map[string]struct {
		method, operation string // that hangs, of the hardware type or of fake-hardware
		from              states.State
		try               func(*fleet, *conductor.Node) error // the error of a request; other failures are the last error
		lost              bool                                // whether the call ends with the membership
		done              states.State
	}{
		"Verify":    {"", "verify", states.Enroll, provisions("manage"), false, states.Manageable},
		"a step":    {"", "inspect.inspect_hardware", states.Manageable, provisions("inspect"), true, states.Manageable},
		"BootAgent": {"", "prepare", states.Manageable, provisions("clean"), true, states.CleanWait},
		"a request": {"SetBootDevice", "", states.Manageable, func(f *fleet, n *conductor.Node) error {
			return f.SetBootDevice(f.ctx, n.UUID, "pxe", true)
		}, false, states.Manageable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, hardware, members := startDefectiveMember(t)
				create := func() *conductor.Node {
					direct := map[string]string{"deploy": "direct"}
					return f.create(conductor.Node{ProvisionState: test.from, Power: states.PowerOff, Interfaces: direct})
				}
				n, other := create(), create()
				release, calls := make(chan struct{}), atomic.Int32{}
				hang := func() { calls.Add(1); <-release }
				returns := sync.OnceFunc(func() { close(release) })
				t.Cleanup(returns)
				hardware.breaks(test.method, hang)
				f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
					if operation == test.operation {
						hang()
					}
					return nil
				})
				try := func(n *conductor.Node) string {
					err := test.try(f, n)
					bubble.Sleep(2 * time.Minute) // the bound of a verification and of a request, with time to return
					if calls.Load() > 0 && test.lost && f.settle(n).Reservation != "" {
						members.steps <- scriptStep{err: errDisk}
						bubble.Sleep(time.Minute)
						members.steps <- scriptStep{}
						bubble.Sleep(time.Minute)
					}
					if err != nil {
						return err.Error()
					}
					require.Empty(t, f.settle(n).Reservation)
					return f.settle(n).LastError
				}

				require.NotEmpty(t, try(n))
				require.EqualValues(t, 1, calls.Load())
				for range 3 {
					require.Contains(t, try(n), again)
				}
				require.EqualValues(t, 1, calls.Load())
				require.NotEmpty(t, try(other))
				require.EqualValues(t, 2, calls.Load(), "another node has another call")

				returns()
				synctest.Wait()
				require.NotContains(t, try(n), again)
				require.EqualValues(t, 3, calls.Load())
				require.Equal(t, test.done, f.settle(n).ProvisionState)
			})
		})
	}
}

// A clean-up ends with the membership. The next one waits for a call that does not end with it.
func TestACleanUpWaitsForAnEarlierOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, hardware, members := startDefectiveMember(t)
		n := f.create(conductor.Node{
			ProvisionState: states.Manageable, Power: states.PowerOff, Interfaces: map[string]string{"deploy": "direct"},
		})
		release, calls := make(chan struct{}), atomic.Int32{}
		hardware.breaks("CleanUpAgent", func() { calls.Add(1); <-release })
		f.request(n, "clean")
		f.settle(n)
		f.request(n, "abort")
		bubble.Sleep(time.Minute)
		members.steps <- scriptStep{err: errDisk}
		bubble.Sleep(time.Minute)
		members.steps <- scriptStep{}
		bubble.Sleep(5 * time.Minute)
		require.EqualValues(t, 1, calls.Load())
		require.NotNil(t, f.settle(n).CleanUp)

		close(release)
		bubble.Sleep(2 * time.Second)
		require.EqualValues(t, 2, calls.Load())
		n = f.settle(n)
		require.Nil(t, n.CleanUp)
		require.Empty(t, n.Reservation)
		require.Equal(t, states.CleanFail, n.ProvisionState)
		require.NotContains(t, n.LastError, "tear down")
	})
}

// A clean-up that fails since its power off hangs has returned itself: the node's next clean-up does not wait for it,
// with the node reserved.
func TestACleanUpWhoseCallHangsHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.SkipPowerSync = true })
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
			if operation == "power off" {
				<-release
			}
			return nil
		})
		n := f.create(conductor.Node{
			ProvisionState: states.Manageable, Power: states.PowerOff, Interfaces: map[string]string{"deploy": "direct"},
		})
		f.request(n, "clean")
		require.Equal(t, states.CleanWait, f.settle(n).ProvisionState)
		f.request(n, "abort")
		bubble.Sleep(10 * time.Minute)
		failed := f.settle(n)
		require.Contains(t, failed.LastError, "the call does not return")
		require.Empty(t, failed.Reservation)

		f.request(n, "manage")
		f.settle(n)
		f.request(n, "clean")
		bubble.Sleep(10 * time.Minute)
		require.Empty(t, f.settle(n).Reservation)
	})
}
