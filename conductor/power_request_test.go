// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

func TestAPowerRequestIsReportedAndWritesItsBeginningAndItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counting{}
		var mu sync.Mutex
		var events []powersync.Event
		f := start(t, func(c *conductor.Config) {
			c.Store, c.SkipPowerSync = store, true
			c.Power.OnEvent = func(e powersync.Event) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, e)
			}
		})
		n, err := f.CreateNode(f.ctx, &conductor.Node{
			Driver:         "fake-hardware",
			ProvisionState: states.Active,
			Power:          states.PowerOff,
			LastError:      "an older error",
		})
		require.NoError(t, err)
		before := store.updates.Load()
		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
		got := f.settle(n)
		require.Equal(t, states.PowerOn, got.Power)
		require.Empty(t, got.Reservation+got.LastError)
		require.EqualValues(t, 2, store.updates.Load()-before)
		require.Equal(t, []int{2, 1}, []int{f.PowerStats().Reads, f.PowerStats().Sets})

		mu.Lock()
		defer mu.Unlock()
		require.Len(t, events, 2)
		events[0].Time = time.Time{}
		require.Equal(t, powersync.Event{
			ID:           n.UUID,
			Outcome:      powersync.PowerRequested,
			Recorded:     states.PowerOff,
			Asked:        states.PowerOn,
			ClearedError: "an older error",
		}, events[0])
		require.Equal(t, n.UUID, events[1].ID)
		require.NoError(t, events[1].Err)
	})
}

// stuck is hardware whose power does not change.
type stuck struct{ *conductor.Fake }

func (stuck) SetPower(context.Context, *conductor.Node, states.Power) error { return nil }

func TestAPowerRequestWaitsForItsOwnOrTheConfiguredTimeout(t *testing.T) {
	const uuid = "00000000-0000-4000-8000-000000000001"
	for _, test := range []struct {
		target        states.Power
		timeout, want time.Duration
	}{
		{states.PowerOn, 0, 20 * time.Second}, {states.PowerOn, 5 * time.Second, 5 * time.Second},
		{states.PowerOn, 3100 * time.Millisecond, 3100 * time.Millisecond}, // a read at this moment comes in time
		{states.PowerSoftOff, 0, 40 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.SkipPowerSync, c.Power.Timeout, c.Power.SoftTimeout = true, 20*time.Second, 40*time.Second
				fake := &conductor.Fake{}
				if test.target == states.PowerSoftOff {
					require.NoError(t, fake.SetPower(t.Context(), &conductor.Node{UUID: uuid}, states.PowerOn))
				}
				c.Hardware["fake-hardware"] = stuck{fake}
			})
			n, err := f.CreateNode(f.ctx, &conductor.Node{UUID: uuid, Driver: "fake-hardware", ProvisionState: states.Active})
			require.NoError(t, err)
			require.NoError(t, f.SetPower(f.ctx, n.UUID, test.target, test.timeout))
			bubble.Sleep(test.want)
			require.Equal(t, test.target.Target(), f.settle(n).TargetPower)
			bubble.Sleep(10 * time.Second)
			got := f.settle(n)
			require.Equal(t, states.NoPower, got.TargetPower)
			require.Contains(t, got.LastError, "within "+test.want.String())
		})
	}
}

// A BMC that refuses a power on for a minute is asked again meanwhile, and a boot device may be restored before.
func TestAPowerStateMayTakeMinutesToBeAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.SkipPowerSync = true })
		f.before(func(ctx context.Context, _ *conductor.Node, operation string) error {
			if operation == "power on" {
				sleep.For(ctx, 4*time.Minute)
			}
			return ctx.Err()
		})
		n := f.create(conductor.Node{ProvisionState: states.Active, Power: states.PowerOff})
		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
		bubble.Sleep(5 * time.Minute)
		got := f.settle(n)
		require.Equal(t, states.PowerOn, got.Power, got.LastError)
		require.Empty(t, got.LastError)
	})
}

// idlePower is hardware that accepts some requests for power, and does nothing. The requests after these may hang.
type idlePower struct {
	*conductor.Fake
	times int
	hangs chan struct{}
	asked []time.Time
}

func (d *idlePower) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	d.asked = append(d.asked, time.Now())
	if len(d.asked) <= d.times {
		return nil
	}
	if d.hangs != nil {
		<-d.hangs
	}
	return d.Fake.SetPower(ctx, n, power)
}

func TestAMachineThatStaysOffIsSwitchedOnOnceMore(t *testing.T) {
	const uuid = "00000000-0000-4000-8000-000000000001"
	for _, test := range []struct {
		times, asked int
		before       states.Power
		power        states.Power
		want         states.Power
	}{
		{0, 1, states.PowerOff, states.PowerOn, states.PowerOn},
		{1, 2, states.PowerOff, states.PowerOn, states.PowerOn},
		{9, 2, states.PowerOff, states.PowerOn, states.PowerOff},
		{9, 1, states.PowerOn, states.PowerOff, states.PowerOn},
		{9, 1, states.PowerOn, states.PowerSoftOff, states.PowerOn},
	} {
		synctest.Test(t, func(t *testing.T) {
			hardware := &idlePower{Fake: &conductor.Fake{}, times: test.times}
			f := start(t, func(c *conductor.Config) {
				c.SkipPowerSync, c.Power.Timeout, c.Power.SoftTimeout = true, 20*time.Second, 20*time.Second
				require.NoError(t, hardware.Fake.SetPower(t.Context(), &conductor.Node{UUID: uuid}, test.before))
				c.Hardware["fake-hardware"] = hardware
			})
			n, err := f.CreateNode(f.ctx, &conductor.Node{UUID: uuid, Driver: "fake-hardware", ProvisionState: states.Active})
			require.NoError(t, err)
			require.NoError(t, f.SetPower(f.ctx, n.UUID, test.power, 0))
			bubble.Sleep(time.Minute)
			require.Equal(t, states.NoPower, f.settle(n).TargetPower)
			now, err := hardware.PowerState(t.Context(), n)
			require.NoError(t, err)
			require.Equal(t, test.want, now, "%+v", test)
			require.Len(t, hardware.asked, test.asked, "%+v", test)
			if test.asked == 2 {
				waited := hardware.asked[1].Sub(hardware.asked[0])
				require.True(t, waited >= 10*time.Second && waited <= 15*time.Second, waited)
			}
		})
	}
}

func TestAPowerRequestWhoseSecondPowerOnHangsFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware := &idlePower{Fake: &conductor.Fake{}, times: 1, hangs: make(chan struct{})}
		defer close(hardware.hangs)
		f := start(t, func(c *conductor.Config) {
			c.SkipPowerSync, c.Power.Timeout, c.Hardware["fake-hardware"] = true, 20*time.Second, hardware
		})
		n := f.create(conductor.Node{Driver: "fake-hardware", ProvisionState: states.Active, Power: states.PowerOff})
		require.NoError(t, hardware.Fake.SetPower(t.Context(), n, states.PowerOff))
		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
		bubble.Sleep(30 * time.Second) // the timeout, the grace of the call, and a pause between two reads
		got, err := f.Node(f.ctx, n.UUID)
		require.NoError(t, err)
		require.Len(t, hardware.asked, 2)
		require.Empty(t, got.Reservation)
		require.Equal(t, states.NoPower, got.TargetPower)
		require.Equal(t, states.PowerOff, got.Power)
		require.Contains(t, got.LastError,
			`power state not reached: "power on" within 20s: an earlier call for the power has not returned yet`)
	})
}

func TestAPowerRequestThatFailsNamesTheErrorOfTheLastRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.SkipPowerSync = true })
		requested := false
		f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
			if operation == "read power" && requested {
				return errors.New("no answer")
			}
			requested = requested || operation == "power on"
			return nil
		})
		n := f.create(conductor.Node{ProvisionState: states.Active, Power: states.PowerOff})
		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, time.Minute))
		bubble.Sleep(2 * time.Minute)
		require.Contains(t, f.settle(n).LastError, `"power on" within 1m0s: no answer`)
	})
}

func TestTheEndOfAPowerRequestThatCannotBeStoredIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		store := &conductor.Memory{}
		f := start(t, func(c *conductor.Config) {
			c.Store, c.SkipPowerSync, c.Log = store, true, slog.New(slog.NewTextHandler(&out, nil))
		})
		n := f.node(states.Active)
		f.before(func(ctx context.Context, _ *conductor.Node, _ string) error {
			r, err := store.Get(ctx, conductor.KindNode, n.UUID)
			if err == nil {
				_, err = store.Delete(ctx, conductor.KindNode, n.UUID, r.Revision)
			}
			return err
		})
		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
		synctest.Wait()
		require.Equal(t, 1, bytes.Count([]byte(out.String()),
			[]byte(`msg="the end of a power request could not be stored" node=`+n.UUID+` target="power on" error=`)), out.String())
	})
}
