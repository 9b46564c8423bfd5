// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// lacking is hardware without some requests.
type lacking struct {
	*hardware
	without []states.Power
}

func (l lacking) SetPower(_ context.Context, id string, power states.Power) error {
	if slices.Contains(l.without, power) {
		return fmt.Errorf("no %v: %w", power, errors.ErrUnsupported)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sets = append(l.sets, id+" "+power.String())
	if !l.deaf[id] {
		l.power[id] = power.Target()
	}
	return nil
}

func TestARestartThatTheHardwareLacksIsPowerOffAndOn(t *testing.T) {
	const hard, soft, softOff = states.PowerRebooting, states.PowerSoftRebooting, states.PowerSoftOff
	for _, test := range []struct {
		power   states.Power
		without []states.Power
		stays   bool // power off is forbidden
		want    []string
	}{
		{hard, nil, false, []string{"a rebooting"}},
		{hard, []states.Power{hard}, false, []string{"a power off", "a power on"}},
		{soft, []states.Power{soft}, false, []string{"a soft power off", "a power on"}},
		{soft, []states.Power{hard, soft}, false, []string{"a soft power off", "a power on"}},
		{soft, []states.Power{soft, softOff}, false, nil}, // it does not become a hard one
		{softOff, []states.Power{softOff}, false, nil},
		{hard, []states.Power{hard}, true, nil},
		{soft, []states.Power{soft}, true, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := node(isOn)
			r.DisablePowerOff = test.stays
			machines := newHardware(isOn)
			h := newFixture(t, machines, nodes(r), func(c *powersync.Config) { c.Driver = lacking{machines, test.without} })
			err := h.Set(t.Context(), "a", test.power, 0)
			_, sets := h.calls()
			require.Equal(t, test.want, sets, "%+v", test)
			require.Equal(t, isOn, h.record(t, "a").Power)
			if test.want == nil {
				require.ErrorIs(t, err, errors.ErrUnsupported)
				return
			}
			require.NoError(t, err)
		})
	}
}

// unsure is hardware whose machine goes off by itself before a request, which then fails.
type unsure struct {
	*hardware
	err error
}

func (u unsure) SetPower(_ context.Context, id string, power states.Power) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sets = append(u.sets, id+" "+power.String())
	u.power[id] = isOff
	return u.err
}

func TestARefusedPowerRequestHasSucceededIfTheMachineIsInItsState(t *testing.T) {
	refused := errors.New("409")
	for _, test := range []struct {
		power states.Power
		err   error
		now   states.Power // of the record
		reads int
	}{
		{isOff, refused, isOff, 3},
		{states.PowerSoftOff, context.DeadlineExceeded, isOff, 3},
		{states.PowerRebooting, refused, isOn, 1},
		{states.PowerSoftRebooting, context.DeadlineExceeded, isOn, 1},
		{isOff, verify.Credentials, isOn, 1},
		{isOff, verify.Locked, isOn, 1},
		{isOff, errors.ErrUnsupported, isOn, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			machines := newHardware(isOn)
			h := newFixture(t, machines, nodes(node(isOn)), func(c *powersync.Config) { c.Driver = unsure{machines, test.err} })
			err := h.Set(t.Context(), "a", test.power, 0)
			require.Equal(t, test.now == isOff, err == nil, "%+v: %v", test, err)
			require.Equal(t, test.now, h.record(t, "a").Power, "%+v", test)
			reads, sets := h.calls()
			require.Len(t, reads, test.reads, "%+v", test)
			require.Equal(t, []string{"a " + test.power.String()}, sets)
		})
	}
}

func TestARoundThatIsRefusedHasForcedTheStateIfTheMachineIsInIt(t *testing.T) {
	for _, test := range []struct {
		recorded, is states.Power
		want         powersync.Outcome
	}{
		{isOff, isOn, powersync.Forced},
		{isOn, isOff, powersync.ForceFailed},
	} {
		machines := newHardware(test.is)
		h := newFixture(t, machines, nodes(node(test.recorded)), func(c *powersync.Config) { c.Driver = unsure{machines, errors.New("409")} })
		require.Equal(t, test.want, h.round(t))
		require.Equal(t, test.recorded, h.record(t, "a").Power)
		require.Equal(t, test.want == powersync.Forced, h.record(t, "a").LastError == "")
		reads, sets := h.calls()
		require.Len(t, reads, 2)
		require.Len(t, sets, 1)
	}
}

func TestNothingIsReadAfterTheEndOfAPowerRequest(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	read := func() powersync.Reading { panic("read") }
	require.ErrorIs(t, powersync.Confirm(ended, isOff, errDead, read), errDead)
	require.ErrorIs(t, powersync.Confirm(t.Context(), states.NoPower, errDead, read), errDead, "an NMI")
	require.NoError(t, powersync.Confirm(t.Context(), isOff, nil, read))
}

func TestTheOffOfARestartMustBeReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machines := newHardware(isOn)
		machines.deaf["a"] = true
		h := newFixture(t, machines, nodes(node(isOn)), func(c *powersync.Config) {
			c.Driver = lacking{machines, []states.Power{states.PowerRebooting}}
		})
		begun := time.Now()
		require.ErrorIs(t, h.Set(t.Context(), "a", states.PowerRebooting, time.Minute), powersync.ErrNotReached)
		require.Equal(t, time.Minute, time.Since(begun))
		_, sets := h.calls()
		require.Equal(t, []string{"a power off"}, sets)
	})
}

func TestRefusedCredentialsAreNotSentAgainForARestart(t *testing.T) {
	for _, power := range []states.Power{states.PowerOn, states.PowerRebooting, states.PowerSoftRebooting} {
		for _, kind := range []verify.Kind{verify.Credentials, verify.Locked} {
			_, err := powersync.DecideRequest(power, powersync.Reading{Err: kind})
			require.ErrorIs(t, err, kind, "%v", power)
		}
	}
}

// lockedOut is hardware whose BMC refuses the credentials once a power state was set.
type lockedOut struct {
	*hardware
	refused error
	sent    int // refused credentials
}

func (l *lockedOut) SetPower(ctx context.Context, id string, power states.Power) error {
	l.refused = verify.Credentials
	return l.hardware.SetPower(ctx, id, power)
}

func (l *lockedOut) PowerState(ctx context.Context, id string) (states.Power, error) {
	if l.refused != nil {
		l.sent++
		return states.NoPower, l.refused
	}
	return l.hardware.PowerState(ctx, id)
}

func TestTheWaitForAPowerStateEndsWithRefusedCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machines := &lockedOut{hardware: newHardware(isOn)}
		h := newFixture(t, machines.hardware, nodes(node(isOn)), func(c *powersync.Config) { c.Driver = machines })
		begun := time.Now()
		err := h.Set(t.Context(), "a", isOff, 0)
		require.ErrorIs(t, err, verify.Credentials)
		require.NotErrorIs(t, err, powersync.ErrNotReached)
		require.Equal(t, 1, machines.sent)
		require.Zero(t, time.Since(begun))
	})
}
