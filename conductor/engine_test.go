// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// deaf is a store whose watches report no changes, so that a conductor knows only its own writes.
type deaf struct{ unwritable }

func (*deaf) Watch(ctx context.Context, _ conductor.Kind) iter.Seq2[conductor.Change, error] {
	return func(yield func(conductor.Change, error) bool) {
		if yield(conductor.Change{Synced: true}, nil) {
			<-ctx.Done()
		}
	}
}

// write changes the state of a node's record directly in the store, as another process would, and deletes the record if
// the state is NoState.
func (s *deaf) write(t *testing.T, n *conductor.Node, state states.State) {
	ctx := context.Background()
	r, err := s.Get(ctx, conductor.KindNode, n.UUID)
	require.NoError(t, err)
	if state == states.NoState {
		_, err = s.Delete(ctx, conductor.KindNode, n.UUID, r.Revision)
		require.NoError(t, err)
		return
	}
	r.Value = []byte(`{"version":2,"uuid":"` + n.UUID + `","driver":"fake-hardware","provision_state":"` + state.String() + `"}`)
	_, err = s.Memory.Update(ctx, r)
	require.NoError(t, err)
}

func TestWorkThatACheckFindsBeginsAtOnce(t *testing.T) {
	const text = `level=INFO msg="pending work was started" node=`
	for name, test := range map[string]conductor.Node{
		"of nobody":                  {ProvisionState: states.Verifying},
		"of a conductor that died":   {ProvisionState: states.Verifying, Reservation: "beta", Claim: "a process that died"},
		"after a change of power":    {ProvisionState: states.Verifying, Reservation: "alpha", TargetPower: states.PowerOn},
		"although it was begun here": {ProvisionState: states.Verifying, Reservation: "alpha"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			f := start(t, func(c *conductor.Config) {
				c.Store, c.ResumeVerification, c.SkipPowerSync, c.Log = &deaf{}, true, true, slog.New(slog.NewTextHandler(&log, nil))
			})
			if test.Reservation == "alpha" {
				owner, ok := f.Owner(&conductor.Node{Driver: "fake-hardware"})
				require.True(t, ok)
				test.Claim = owner.ID
			}
			synctest.Wait() // the first check finds nothing
			n := f.create(test)
			require.Equal(t, states.Verifying, f.settle(n).ProvisionState, "the watch reports nothing")
			bubble.Sleep(time.Minute)
			got := f.settle(n)
			require.Equal(t, states.Manageable, got.ProvisionState, "%s: %s", name, got.LastError)
			require.Contains(t, log.String(), text+n.UUID+" provision_state=verifying", name)
		})
	}
}

func TestOnlyARecordThatCannotBeStoredForItsWorkIsLogged(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*testing.T, *deaf, *conductor.Node)
		logged bool
	}{
		"the store fails": {func(_ *testing.T, s *deaf, _ *conductor.Node) { s.broken.Store(true) }, true},
		"another process has done the work": {func(t *testing.T, s *deaf, n *conductor.Node) {
			s.write(t, n, states.Manageable)
		}, false},
		"another process has deleted the node": {func(t *testing.T, s *deaf, n *conductor.Node) {
			s.write(t, n, states.NoState)
		}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			store := &deaf{unwritable{lose: func(context.Context) {}}}
			f := start(t, func(c *conductor.Config) {
				c.Store, c.SkipPowerSync, c.Log = store, true, slog.New(slog.NewTextHandler(&log, nil))
			})
			n := f.node(states.Verifying)
			test.change(t, store, n)
			bubble.Sleep(time.Minute)
			const text = `level=WARN msg="a node's record could not be changed for its work" node=`
			if test.logged {
				require.Contains(t, log.String(), text+n.UUID+" action=", name)
			} else {
				require.NotContains(t, log.String(), text, name)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // the membership ends meanwhile
		var log lockedBuffer
		members := &script{steps: make(chan scriptStep)}
		store := &deaf{unwritable{lose: func(ctx context.Context) {
			members.steps <- scriptStep{err: errors.New("the lease has ended")}
			<-ctx.Done()
		}}}
		f := start(t, func(c *conductor.Config) {
			c.Store, c.Membership, c.SkipPowerSync, c.Log = store, members, true, slog.New(slog.NewTextHandler(&log, nil))
			go func() { members.steps <- scriptStep{} }()
		})
		f.node(states.Verifying)
		store.broken.Store(true)
		bubble.Sleep(time.Minute)
		require.Contains(t, log.String(), "the lease has ended")
		require.NotContains(t, log.String(), "could not be changed for its work")
	})
}

// undecided is a membership that does not know whether a member lives.
type undecided struct{ *script }

func (*undecided) Alive(context.Context, string) (bool, error) {
	return false, errors.New("nobody answers")
}

func TestTheReservationOfAConductorThatMayLiveIsKept(t *testing.T) {
	for _, known := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			members := &script{steps: make(chan scriptStep), alive: map[string]bool{otherMember: true}}
			var log lockedBuffer
			f := start(t, func(c *conductor.Config) {
				c.Membership, c.Log = members, slog.New(slog.NewTextHandler(&log, nil))
				if !known {
					c.Membership = &undecided{members}
				}
				go func() { members.steps <- scriptStep{} }()
			})
			n := f.create(conductor.Node{ProvisionState: states.Deploying, Reservation: "beta", Claim: otherMember})
			bubble.Sleep(5 * time.Minute)
			got := f.settle(n)
			require.Equal(t, states.Deploying, got.ProvisionState)
			require.Equal(t, "beta", got.Reservation)
			require.Equal(t, !known, strings.Contains(log.String(), "ask whether conductor beta, which has reserved the node, is alive: "))
		})
	}
}

func TestWorkThatTimesOutIsCleanedUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Manageable, func(c *conductor.Config) { c.Store = &deaf{} })
		m.clean("deploy.erase_devices")
		require.Equal(t, states.PowerOn, m.settle(m.n).Power)
		for m.settle(m.n).ProvisionState == states.CleanWait {
			bubble.Sleep(time.Second)
		}
		n := m.settle(m.n)
		require.Equal(t, states.CleanFail, n.ProvisionState)
		require.Equal(t, states.PowerOff, n.Power)
		require.Nil(t, n.CleanUp)
		require.Empty(t, n.Reservation)
		require.Equal(t, states.EventFail, m.last().Event, "the transition is reported")
	})
}

// last returns the last transition that the conductor has reported.
func (f *fleet) last() (last conductor.Transition) {
	for {
		select {
		case last = <-f.seen:
		default:
			return last
		}
	}
}

func TestTheFailureOfAConductorThatDiedIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.create(conductor.Node{ProvisionState: states.Deploying, Reservation: "beta", Claim: "a process that died"})
		require.Equal(t, states.DeployFail, f.settle(n).ProvisionState)
		require.Equal(t, states.DeployFail, f.last().To)
	})
}

func TestAWaitThatTimesOutWithoutAMachineToCleanUpEndsUnreserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.Store = &deaf{} })
		n := f.waitsInDeployment()
		for f.settle(n).ProvisionState == states.DeployWait {
			bubble.Sleep(time.Second)
		}
		got := f.settle(n)
		require.Equal(t, states.DeployFail, got.ProvisionState)
		require.Empty(t, got.Reservation+got.Claim)
	})
}

func TestACallOfTheHardwareEndsWithTheMembership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members, hangs := &script{steps: make(chan scriptStep)}, make(chan bool)
		f := start(t, func(c *conductor.Config) {
			c.Membership, c.SkipPowerSync = members, true
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": hanging{&conductor.Fake{}, hangs}}
			go func() { members.steps <- scriptStep{} }()
		})
		n := f.node(states.Manageable)
		begun := time.Now()
		go func() {
			<-hangs
			members.steps <- scriptStep{err: errors.New("the lease has ended")}
		}()
		err := f.SetBootDevice(f.ctx, n.UUID, "pxe", false)
		require.ErrorIs(t, err, conductor.NoWorker)
		require.NotErrorAs(t, err, new(*conductor.HardwareError), "the hardware has not failed")
		require.Equal(t, http.StatusServiceUnavailable, conductor.HTTPStatus(err))
		require.Zero(t, time.Since(begun), "the time of the bubble")
	})
}

// during changes the record while the hardware of a node sets its boot device.
type during struct {
	*conductor.Fake
	change func(*conductor.Node)
}

func (d during) SetBootDevice(_ context.Context, n *conductor.Node, _ string, _ bool) error {
	d.change(n)
	return nil
}

func TestOnlyAReservationThatCannotBeDroppedIsLogged(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*testing.T, *deaf, *conductor.Node)
		logged bool
	}{
		"the store fails":                      {func(_ *testing.T, s *deaf, _ *conductor.Node) { s.broken.Store(true) }, true},
		"another process has dropped it":       {func(t *testing.T, s *deaf, n *conductor.Node) { s.write(t, n, states.Manageable) }, false},
		"another process has deleted the node": {func(t *testing.T, s *deaf, n *conductor.Node) { s.write(t, n, states.NoState) }, false},
		"nothing is wrong":                     {func(*testing.T, *deaf, *conductor.Node) {}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log lockedBuffer
			store := &deaf{unwritable{lose: func(context.Context) {}}}
			f := start(t, func(c *conductor.Config) {
				c.Store, c.SkipPowerSync, c.Log = store, true, slog.New(slog.NewTextHandler(&log, nil))
				c.Hardware = map[string]conductor.Hardware{"fake-hardware": during{
					&conductor.Fake{}, func(n *conductor.Node) { test.change(t, store, n) },
				}}
			})
			n := f.node(states.Manageable)
			require.NoError(t, f.SetBootDevice(f.ctx, n.UUID, "pxe", false))
			const text = `level=WARN msg="a reservation could not be dropped" node=`
			if test.logged {
				require.Contains(t, log.String(), text+n.UUID+" error=", name)
			} else {
				require.NotContains(t, log.String(), text, name)
			}
		})
	}
}
