// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// failing is a driver that fails at one call, before which it calls stop.
type failing struct {
	*hardware
	at   string
	stop func()
}

func (f *failing) fail(at string) error {
	if at != f.at {
		return nil
	}
	f.stop()
	return errDead
}

func (f *failing) Validate(context.Context, string) error { return f.fail("validate") }

func (f *failing) PowerState(ctx context.Context, id string) (states.Power, error) {
	if err := f.fail("read"); err != nil {
		return unknown, err
	}
	return f.hardware.PowerState(ctx, id)
}

func (f *failing) canForce(string) bool {
	if err := f.fail("ask"); err != nil {
		panic(err)
	}
	return true
}

func (f *failing) SetPower(ctx context.Context, id string, power states.Power) error {
	if err := f.fail("set"); err != nil {
		return err
	}
	return f.hardware.SetPower(ctx, id, power)
}

func TestACallThatFailsWhenTheRoundEndsIsNoFailureOfTheNode(t *testing.T) {
	sync, recovery := (*fixture).Sync, (*fixture).Recover
	for name, test := range map[string]struct {
		at     string
		round  func(*fixture, context.Context) (powersync.Report, error)
		record powersync.Record
		after  int // the attempts of the next round that failed
	}{
		"the configuration is validated":    {"validate", sync, node(unknown), 0},
		"the power state is read":           {"read", sync, node(isOn), 1},
		"whether it may be forced is asked": {"ask", sync, node(isOn), 1},
		"the hardware is set":               {"set", sync, node(isOn), 1},
		"recovery validates":                {"validate", recovery, powerFailure(isOn), 1},
		"recovery reads":                    {"read", recovery, powerFailure(isOn), 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			driver := &failing{hardware: newHardware(isOff), at: test.at, stop: cancel}
			h := newFixture(t, driver.hardware, nodes(test.record), withDriver(driver), func(c *powersync.Config) { c.CanForce = driver.canForce })
			report, err := test.round(h, ctx)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, powersync.Interrupted, onlyOutcome(t, report))
			require.Zero(t, h.lastEvent().Attempts)
			require.Zero(t, h.Stats().Failing)
			require.Equal(t, test.record, without(h.record(t, "a")))

			_, err = test.round(h, t.Context())
			require.NoError(t, err)
			require.Equal(t, test.after, h.lastEvent().Attempts, "the one before does not count")
		})
	}
}

// A round and Run try it at the same time.
func TestAnOutcomeIsStoredLateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := newFlakyFixture(t, newHardware(isOff), nodes(node(isOn)))
		h.refuse["a"] = errDead
		f.update = noRelease
		require.Equal(t, powersync.ForceFailed, h.round(t))
		f.update = nil
		let, open := gate()
		f.load = func(string) error { <-let; return nil }
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { h.RetryRelease("a") })
			synctest.Wait()
		}
		open()
		all.Wait()
		require.Equal(t, []powersync.Outcome{powersync.ForceFailed, powersync.SavedLate}, h.outcomes())
	})
}
