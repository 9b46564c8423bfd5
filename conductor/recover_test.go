// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"bytes"
	"context"
	"errors"
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

func TestTheWorkOfAProcessThatDiedHasFailed(t *testing.T) {
	tests := []struct {
		from, to    states.State
		maintenance bool
		event       string // of the history after a take-over, as in Ironic's _check_orphan_nodes
	}{
		{from: states.Deploying, to: states.DeployFail, maintenance: true, event: "takeover"},
		{from: states.Verifying, to: states.Enroll, event: "transition"},
		{from: states.Inspecting, to: states.InspectFail, event: "transition"},
		{from: states.Cleaning, to: states.CleanFail, event: "cleaning"},
		{from: states.Deploying, to: states.DeployFail, event: "takeover"},
		{from: states.Rescuing, to: states.RescueFail, event: "transition"},
		{from: states.Unrescuing, to: states.UnrescueFail, event: "transition"},
		{from: states.Deleting, to: states.Error, event: "transition"},
		{from: states.Adopting, to: states.AdoptFail, event: "transition"},
		{from: states.Servicing, to: states.ServiceFail, event: "transition"},
		{from: states.CleanWait, to: states.CleanWait},
		{from: states.Active, to: states.Active},
	}
	for _, test := range tests {
		for i, power := range []states.Power{states.NoPower, states.PowerOff, states.NoPower, states.PowerOff} {
			died := []string{"beta", "beta", "alpha", "alpha"}[i]
			synctest.Test(t, func(t *testing.T) {
				store := &conductor.Memory{}
				seed, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
				require.NoError(t, err)
				n, err := seed.CreateNode(context.Background(), &conductor.Node{
					Driver: "fake-hardware", ProvisionState: test.from, Maintenance: test.maintenance,
					Reservation: died, Claim: "a process that died", TargetPower: power, LastError: "an older error",
				})
				require.NoError(t, err)

				f := start(t, func(c *conductor.Config) {
					c.Name, c.Store, c.SkipPowerSync = "alpha", store, true
					c.Hardware["fake-hardware"].(*conductor.Fake).Before = func(context.Context, *conductor.Node, string) error {
						return errors.New("nothing is to be done")
					}
				})
				got := f.settle(n)
				require.Equal(t, test.to, got.ProvisionState)
				require.Empty(t, got.Reservation)
				require.Equal(t, states.NoPower, got.TargetPower)
				var entries []string
				switch {
				case test.event != "" && died == "alpha": // as in _fail_transient_state
					entries = []string{"ERROR transition"}
				case test.event != "":
					entries = []string{"ERROR " + test.event}
				case power != states.NoPower && died == "beta":
					entries = []string{"ERROR takeover"}
				}
				require.Equal(t, entries, f.entries(n), "%v of %s", test.from, died)
				switch {
				case test.event != "":
					require.NotEqual(t, "an older error", got.LastError)
				case power != states.NoPower:
					require.Equal(t, "the power state was being changed when the conductor that did it died", got.LastError)
				default:
					require.Equal(t, "an older error", got.LastError)
				}
			})
		}
	}
}

// A conductor that finds its own work of before its death fails it without a fault, as Ironic's _fail_transient_state
// does; one that takes over a cleaning has the fault of a failed one, as in abort_on_conductor_take_over.
func TestOnlyACleaningThatIsTakenOverPutsItsNodeIntoMaintenance(t *testing.T) {
	current := &conductor.Steps{Current: &conductor.Step{Interface: "deploy", Step: "erase_devices"}}
	for _, test := range []struct {
		from  states.State
		of    string // the conductor that died
		fault string
	}{
		{states.Cleaning, "alpha", ""}, {states.Cleaning, "beta", "clean failure"},
		{states.Servicing, "alpha", ""}, {states.Servicing, "beta", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &conductor.Memory{}
			seed, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
			require.NoError(t, err)
			n, err := seed.CreateNode(context.Background(), &conductor.Node{
				Driver: "fake-hardware", ProvisionState: test.from, CleanSteps: current, ServiceSteps: current,
				Reservation: test.of, Claim: "a process that died",
			})
			require.NoError(t, err)
			f := start(t, func(c *conductor.Config) { c.Name, c.Store, c.SkipPowerSync = "alpha", store, true })
			got := f.settle(n)
			require.Equal(t, states.PhaseFailed, states.Latest().Table().Phase(got.ProvisionState))
			require.Equal(t, test.fault, got.Fault, "%v of %s", test.from, test.of)
			require.Equal(t, test.fault != "", got.Maintenance)
			require.Equal(t, test.fault != "", got.MaintenanceReason != "")
		})
	}
}

func TestAVerificationWhoseConductorDiedMayBeRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &conductor.Memory{}
		seed, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
		require.NoError(t, err)
		n, err := seed.CreateNode(context.Background(), &conductor.Node{
			Driver: "fake-hardware", ProvisionState: states.Verifying, Reservation: "alpha", Claim: "a process that died",
		})
		require.NoError(t, err)
		f := start(t, func(c *conductor.Config) { c.Store, c.ResumeVerification = store, true })
		require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
	})
}

func TestWorkThatNobodyHasBegunIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &conductor.Memory{}
		seed, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
		require.NoError(t, err)
		n, err := seed.CreateNode(context.Background(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Verifying})
		require.NoError(t, err)
		f := start(t, func(c *conductor.Config) { c.Store = store })
		require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
	})
}

func TestRunWaitsForWorkAndThenAbandonsIt(t *testing.T) {
	for _, takes := range []time.Duration{30 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := &conductor.Memory{}
			fake := &conductor.Fake{Before: func(ctx context.Context, _ *conductor.Node, operation string) error {
				sleep.For(ctx, takes)
				return ctx.Err()
			}}
			c, err := conductor.New(conductor.Config{
				Store: store, Name: "alpha", SkipPowerSync: true, Hardware: map[string]conductor.Hardware{"fake-hardware": fake},
			})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error)
			go func() { done <- c.Run(ctx) }()
			synctest.Wait()
			n, err := c.CreateNode(ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
			require.NoError(t, err)
			require.NoError(t, c.Provision(ctx, n.UUID, conductor.ProvisionRequest{Target: "active"}))
			cancel()
			synctest.Wait()
			require.ErrorIs(t, c.Provision(context.Background(), n.UUID, conductor.ProvisionRequest{Target: "active"}), conductor.NoWorker)
			require.ErrorIs(t, <-done, context.Canceled)

			n, err = c.Node(context.Background(), n.UUID)
			require.NoError(t, err)
			require.Empty(t, n.Reservation)
			if takes < time.Minute {
				require.Equal(t, states.Active, n.ProvisionState)
				return
			}
			require.Equal(t, states.DeployFail, n.ProvisionState)
			require.Contains(t, n.LastError, "the conductor was stopped")
		})
	}
}

// faulty is a store whose updates fail, before or after the write, while broken is set.
type faulty struct {
	*conductor.Memory
	before, after atomic.Bool
}

var errDisk = errors.New("no space left on device")

func (s *faulty) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if s.before.Load() {
		return 0, errDisk
	}
	revision, err := s.Memory.Update(ctx, r)
	if s.after.Load() {
		return 0, errDisk
	}
	return revision, err
}

func TestAPowerRequestReservesTheNodeOnlyUntilTheStoreWorksAgain(t *testing.T) {
	for _, skip := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &faulty{Memory: &conductor.Memory{}}
			f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, skip })
			f.before(func(ctx context.Context, _ *conductor.Node, operation string) error {
				if operation == "power on" {
					store.before.Store(true)
				}
				return nil
			})
			n := f.node(states.Manageable)
			require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
			bubble.Sleep(70 * time.Second)
			require.NotEmpty(t, f.settle(n).Reservation)

			store.before.Store(false)
			bubble.Sleep(6 * time.Second)
			got := f.settle(n)
			require.Empty(t, got.Reservation)
			require.Equal(t, states.PowerOn, got.Power)
			require.Equal(t, states.NoPower, got.TargetPower)
		})
	}
}

func TestAStoreThatFailsForATimeLosesNothing(t *testing.T) {
	for _, after := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &faulty{Memory: &conductor.Memory{}}
			f := start(t, func(c *conductor.Config) { c.Store = store })
			f.before(func(ctx context.Context, _ *conductor.Node, operation string) error {
				if operation == "deploy.deploy" {
					store.before.Store(!after)
					store.after.Store(after)
				}
				return nil
			})
			n := f.node(states.Available)
			f.request(n, "active")
			bubble.Sleep(time.Minute / 2)
			if !after {
				require.Equal(t, states.Deploying, f.settle(n).ProvisionState)
			}
			store.before.Store(false)
			store.after.Store(false)
			bubble.Sleep(2 * time.Minute)
			got := f.settle(n)
			require.Equal(t, states.Active, got.ProvisionState, got.LastError)
			require.Empty(t, got.Reservation)
		})
	}
}

func TestARequestWhoseWriteReturnedAnErrorIsStillDone(t *testing.T) {
	for name, outage := range map[string]time.Duration{"a read finds it": 0, "no read is answered": time.Second} {
		synctest.Test(t, func(t *testing.T) {
			store := &interrupted{}
			f := start(t, func(c *conductor.Config) { c.Store = store })
			n := f.node(states.Enroll)
			store.updated.Store(conductor.KindNode, func() error { store.silent(outage); return errNoResponse })
			err := f.Provision(f.ctx, n.UUID, f.provision("manage"))
			require.Equal(t, outage > 0, errors.Is(err, errNoResponse), name)
			require.Equal(t, outage == 0, err == nil, name)
			bubble.Sleep(2 * time.Minute)
			got := f.settle(n)
			require.Equal(t, states.Manageable, got.ProvisionState)
			require.Empty(t, got.Reservation)
		})
	}
}

func TestAStepLosesItsNodeWhenTheReservationIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &conductor.Memory{}
		f := start(t, func(c *conductor.Config) { c.Store = store })
		f.before(func(ctx context.Context, _ *conductor.Node, operation string) error {
			sleep.For(ctx, time.Minute)
			return nil
		})
		n := f.node(states.Available)
		f.request(n, "active")
		bubble.Sleep(time.Second)
		r, err := store.Get(f.ctx, conductor.KindNode, n.UUID)
		require.NoError(t, err)
		r.Value = []byte(`{"version":2,"uuid":"` + n.UUID + `","driver":"fake-hardware","provision_state":"deploy failed",` +
			`"target_provision_state":"active","reservation":"beta","claim":"beta's"}`)
		_, err = store.Update(f.ctx, r)
		require.NoError(t, err)
		bubble.Sleep(2 * time.Minute)
		got := f.settle(n)
		require.Equal(t, states.DeployFail, got.ProvisionState)
		require.Equal(t, "beta", got.Reservation)
	})
}

func TestAStepWhoseWriteReturnedAnErrorIsDone(t *testing.T) {
	for _, after := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &faulty{Memory: &conductor.Memory{}}
			f := start(t, func(c *conductor.Config) { c.Store = store })
			var done []string
			f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
				if operation == "read power" {
					return nil
				}
				done = append(done, operation)
				if len(done) == 1 {
					store.before.Store(!after)
					store.after.Store(after)
					time.AfterFunc(time.Second/2, func() {
						store.before.Store(false)
						store.after.Store(false)
					})
				}
				return nil
			})
			n := f.node(states.Manageable)
			request := f.provision("clean")
			request.CleanSteps = append(request.CleanSteps, conductor.StepRequest{Interface: "bios", Step: "factory_reset"})
			require.NoError(t, f.Provision(f.ctx, n.UUID, request))
			bubble.Sleep(time.Minute)
			got := f.settle(n)
			require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
			require.Empty(t, got.LastError)
			require.Equal(t, []string{"bios.cache_bios_settings", "bios.factory_reset"}, done)
		})
	}
}

// cleans is fake-hardware with an automated clean step.
type cleans struct{ *conductor.Fake }

func (c cleans) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	steps := c.Fake.Steps(n, work)
	if work == states.WorkClean {
		for i := range steps {
			steps[i].Priority = 10
		}
	}
	return steps
}

func TestAReportWhoseResponseWasLostDoesNotEndTheNextWork(t *testing.T) {
	for _, changed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &faulty{Memory: &conductor.Memory{}}
			f := start(t, func(c *conductor.Config) {
				c.Store, c.Hardware = store, map[string]conductor.Hardware{"fake-hardware": cleans{c.Hardware["fake-hardware"].(*conductor.Fake)}}
			})
			n := f.node(states.Active)
			cleaned := 0
			f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
				switch operation {
				case "deploy.tear_down":
				case "read power":
					return nil
				default:
					cleaned++
					return nil
				}
				store.after.Store(true)
				time.AfterFunc(time.Second/2, func() {
					store.after.Store(false)
					if changed { // by an agent, say
						f.touch(store, n.UUID)
					}
				})
				return nil
			})
			f.request(n, "deleted")
			bubble.Sleep(2 * time.Minute)
			got := f.settle(n)
			require.Equal(t, states.Available, got.ProvisionState, got.LastError)
			require.Equal(t, 5, cleaned, "the cleaning was done, once")
		})
	}
}

// touch updates a node's record directly in the store, as another process would.
func (f *fleet) touch(store conductor.Store, id string) {
	r, err := store.Get(f.ctx, conductor.KindNode, id)
	require.NoError(f.t, err)
	require.Contains(f.t, string(r.Value), `"updated_at":"2`)
	r.Value = bytes.Replace(r.Value, []byte(`"updated_at":"2`), []byte(`"updated_at":"3`), 1)
	_, err = store.Update(f.ctx, r)
	require.NoError(f.t, err)
}

// hung is the membership of a process that has been suspended past the end of its lease: Join
// has not yielded an error yet, but Holds reports false while out is set.
type hung struct {
	withBeta
	out atomic.Bool
}

func (h *hung) Holds(string) bool { return !h.out.Load() }

func TestNoOperationBeginsWhileTheLeaseMayHaveEnded(t *testing.T) {
	for _, test := range []struct {
		from   states.State
		ask    func(*fleet, *conductor.Node) error
		during states.State
		after  states.State
	}{
		{states.Enroll, provision("manage"), states.Verifying, states.Manageable},
		{states.Available, provision("active"), states.Deploying, states.Active},
		{
			states.Available,
			func(f *fleet, n *conductor.Node) error { return f.SetPower(f.ctx, n.UUID, states.PowerOn, 0) },
			states.Available, states.Available,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			membership := &hung{}
			f := start(t, func(c *conductor.Config) { c.Membership = membership })
			var begun atomic.Int32
			f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
				if operation != "read power" {
					begun.Add(1)
				}
				return nil
			})
			n := f.node(test.from)
			membership.out.Store(true)
			require.NoError(t, test.ask(f, n))
			bubble.Sleep(5 * time.Second)
			got := f.settle(n)
			require.Equal(t, test.during, got.ProvisionState)
			require.Equal(t, "alpha", got.Reservation)
			require.Zero(t, begun.Load())

			membership.out.Store(false) // the lease was renewed just in time
			bubble.Sleep(5 * time.Second)
			got = f.settle(n)
			require.Equal(t, test.after, got.ProvisionState)
			require.Empty(t, got.Reservation)
			require.EqualValues(t, 1, begun.Load())
		})
	}
}

func provision(target string) func(*fleet, *conductor.Node) error {
	return func(f *fleet, n *conductor.Node) error { return f.Provision(f.ctx, n.UUID, f.provision(target)) }
}
