// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package conductor_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// lacking is fake-hardware that lacks some power requests, and lists some. It records those that it carries out.
type lacking struct {
	*conductor.Fake
	without, lists []states.Power
	sets           []states.Power
}

func (l *lacking) SupportsPower(_ *conductor.Node, power states.Power) bool {
	return slices.Contains(l.lists, power)
}

func (l *lacking) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	if slices.Contains(l.without, power) {
		return errors.ErrUnsupported
	}
	l.sets = append(l.sets, power)
	return l.Fake.SetPower(ctx, n, power)
}

var allPower = []states.Power{
	states.PowerOn, states.PowerOff, states.PowerRebooting, states.PowerSoftRebooting, states.PowerSoftOff,
}

func TestARestartThatTheHardwareLacksIsPowerOffAndOn(t *testing.T) {
	for _, test := range []struct {
		power   states.Power
		without []states.Power
		stays   bool // power off is forbidden
		want    []states.Power
	}{
		{states.PowerRebooting, nil, false, []states.Power{states.PowerRebooting}},
		{states.PowerRebooting, []states.Power{states.PowerRebooting}, false, []states.Power{states.PowerOff, states.PowerOn}},
		{states.PowerSoftRebooting, []states.Power{states.PowerSoftRebooting}, false, []states.Power{states.PowerSoftOff, states.PowerOn}},
		{states.PowerSoftRebooting, []states.Power{states.PowerSoftRebooting, states.PowerSoftOff}, false, nil},
		{states.PowerRebooting, []states.Power{states.PowerRebooting}, true, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := &lacking{without: test.without, lists: allPower}
			f := start(t, func(c *conductor.Config) {
				h.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
				c.Hardware = map[string]conductor.Hardware{"fake-hardware": h}
			})
			n := f.node(states.Manageable)
			require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
			require.Equal(t, states.PowerOn, f.settle(n).Power)
			_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.DisablePowerOff = test.stays; return nil })
			require.NoError(t, err)
			h.sets = nil
			require.NoError(t, f.SetPower(f.ctx, n.UUID, test.power, 0))
			n = f.settle(n)
			require.Equal(t, test.want, h.sets, "%+v", test)
			require.Equal(t, states.PowerOn, n.Power)
			require.Equal(t, test.want == nil, n.LastError != "", n.LastError)
		})
	}
}

func TestAPowerStateThatTheHardwareDoesNotListIsInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &lacking{lists: []states.Power{states.PowerOn, states.PowerOff}}
		f := start(t, func(c *conductor.Config) {
			h.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": h}
		})
		n := f.node(states.Manageable)
		before := f.settle(n)
		for _, power := range allPower[2:] {
			err := f.SetPower(f.ctx, n.UUID, power, 0)
			require.ErrorIs(t, err, conductor.Invalid)
			require.EqualError(t, err, "The driver fake-hardware does not support the power state, "+power.String())
			require.Equal(t, before, f.settle(n), "nothing begins")
		}
		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
		require.Equal(t, states.PowerOn, f.settle(n).Power)
	})
}

// unsure is fake-hardware whose machine goes off by itself, and which then refuses a request.
type unsure struct {
	*conductor.Fake
	err error
}

func (u *unsure) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	if u.err == nil {
		return u.Fake.SetPower(ctx, n, power)
	}
	if err := u.Fake.SetPower(ctx, n, states.PowerOff); err != nil {
		return err
	}
	return u.err
}

func TestARefusedPowerRequestHasSucceededIfTheMachineIsInItsState(t *testing.T) {
	for _, test := range []struct {
		power states.Power
		err   error
		now   states.Power // of the record
	}{
		{states.PowerOff, errors.New("409"), states.PowerOff},
		{states.PowerSoftOff, context.DeadlineExceeded, states.PowerOff},
		{states.PowerRebooting, errors.New("409"), states.PowerOn},
		{states.PowerOff, verify.Credentials, states.PowerOn},
	} {
		synctest.Test(t, func(t *testing.T) {
			u := &unsure{}
			f := start(t, func(c *conductor.Config) {
				u.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
				c.Hardware, c.SkipPowerSync = map[string]conductor.Hardware{"fake-hardware": u}, true
			})
			n := f.node(states.Manageable)
			require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
			require.Equal(t, states.PowerOn, f.settle(n).Power)
			u.err = test.err
			require.NoError(t, f.SetPower(f.ctx, n.UUID, test.power, 0))
			n = f.settle(n)
			require.Equal(t, test.now, n.Power, "%+v", test)
			require.Equal(t, test.now == states.PowerOff, n.LastError == "", n.LastError)
		})
	}
}
