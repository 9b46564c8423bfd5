// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package verify_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// failSave makes the machine's save hook refuse to store the given states.
func failSave(refused ...states.State) func(*machine.Config) {
	return func(c *machine.Config) {
		c.Save = []machine.Hook{func(_ context.Context, tr machine.Transition) error {
			if states.SetOf(refused...).Has(tr.To.State) {
				return fmt.Errorf("%v is not saved", tr.To.State)
			}
			return nil
		}}
	}
}

func TestAFailedSaveIsReportedAndNeverLost(t *testing.T) {
	tests := map[string]struct {
		refused []states.State
		answer  error
		ends    states.State
		stuck   bool
	}{
		"of verifying":             {[]states.State{states.Verifying}, nil, states.Enroll, false},
		"of manageable":            {[]states.State{states.Manageable}, nil, states.Enroll, false},
		"of enroll":                {[]states.State{states.Enroll}, errors.New("no answer"), states.Verifying, true},
		"of manageable and enroll": {[]states.State{states.Manageable, states.Enroll}, nil, states.Verifying, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newNode(t, states.Enroll, failSave(test.refused...))
			power, err := verify.Manage(t.Context(), m, answers(states.PowerOn, test.answer))
			require.Equal(t, states.NoPower, power)
			require.ErrorContains(t, err, test.refused[0].String()+" is not saved")
			require.Equal(t, test.ends, m.Node().State)
			require.Equal(t, test.stuck, errors.Is(err, verify.ErrStillVerifying))
			if test.stuck {
				_, ok := m.Node().Orphaned(states.Latest().Table())
				require.True(t, ok, "recovery knows what to do")
			}
		})
	}
}

func TestANodeThatWasMovedMeanwhileIsNotCalledStuck(t *testing.T) {
	m := newNode(t, states.Enroll)
	_, err := verify.Manage(t.Context(), m, verify.Func(func(ctx context.Context) (states.Power, error) {
		return states.PowerOn, m.SetNode(ctx, machine.Node{State: states.Enroll}, nil)
	}))
	require.ErrorIs(t, err, states.ErrNotAllowed)
	require.NotErrorIs(t, err, verify.ErrStillVerifying)
	require.Equal(t, machine.Node{State: states.Enroll}, m.Node())
}

func TestAHookThatFailsAfterTheMoveDoesNotStopVerification(t *testing.T) {
	broken := errors.New("broken hook")
	m := newNode(t, states.Enroll, func(c *machine.Config) {
		c.Enter = []machine.Hook{func(context.Context, machine.Transition) error { return broken }}
	})
	power, err := verify.Manage(t.Context(), m, answers(states.PowerOff, nil))
	require.ErrorIs(t, err, broken)
	require.Equal(t, states.PowerOff, power)
	require.Equal(t, states.Manageable, m.Node().State)
}

func TestThePowerStateIsSavedWithTheEndOfVerification(t *testing.T) {
	for answer, want := range map[error]states.Power{nil: states.PowerOff, errors.New("no answer"): states.NoPower} {
		var last machine.Transition
		m := newNode(t, states.Enroll, func(c *machine.Config) {
			c.Save = []machine.Hook{func(_ context.Context, tr machine.Transition) error { last = tr; return nil }}
		})
		_, err := verify.Manage(t.Context(), m, answers(states.PowerOff, answer))
		require.ErrorIs(t, err, answer)
		require.Equal(t, states.Verifying, last.From.State)
		require.Equal(t, want, last.Power)
	}
}

func TestAHookThatEndsItsGoroutineIsAnError(t *testing.T) {
	exits := func(_ context.Context, tr machine.Transition) error {
		if tr.To.State == states.Manageable {
			runtime.Goexit()
		}
		return nil
	}
	m := newNode(t, states.Enroll, func(c *machine.Config) { c.Enter = []machine.Hook{exits} })
	_, err := verify.Manage(t.Context(), m, answers(states.PowerOn, nil))
	require.ErrorContains(t, err, "the call ended its goroutine")
	require.Equal(t, states.Manageable, m.Node().State)
}
