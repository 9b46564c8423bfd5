// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package verify_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// start starts a verification whose Verifier returns what is sent to end.
func start(t *testing.T, m *machine.Machine) (end chan<- error, wait func() (states.Power, error)) {
	t.Helper()
	answer := make(chan error)
	wait, err := verify.Start(t.Context(), m, verify.Func(func(context.Context) (states.Power, error) {
		return states.PowerOn, <-answer
	}))
	require.NoError(t, err)
	require.Equal(t, states.Verifying, m.Node().State)
	return answer, wait
}

func TestAVerificationDoesNotMoveANodeThatHasLeftIt(t *testing.T) {
	noAnswer := errors.New("no answer")
	for name, answer := range map[string]error{"that succeeds": nil, "that fails": noAnswer} {
		t.Run(name, func(t *testing.T) {
			m := newNode(t, states.Enroll)
			end, wait := start(t, m)
			cleaning := machine.Node{State: states.Cleaning, Target: states.Available}
			require.NoError(t, m.SetNode(t.Context(), cleaning, 7), "another process has written the record")
			end <- answer
			power, err := wait()
			require.Equal(t, cleaning, m.Node(), "done would make an uncleaned node available")
			require.Equal(t, states.NoPower, power)
			var superseded *machine.SupersededError
			require.ErrorAs(t, err, &superseded)
			require.Equal(t, states.Cleaning, superseded.State)
			require.NotErrorIs(t, err, verify.ErrStillVerifying)
			if answer != nil {
				require.ErrorIs(t, err, answer)
				return
			}
			require.EqualError(t, err, "verification of node node-1 failed: "+superseded.Error(), "it says so once")
		})
	}
}

// The second verification has other credentials than the first, which a client has failed.
func TestAVerificationDoesNotEndALaterOne(t *testing.T) {
	for name, answer := range map[string]error{"by a success": nil, "by a failure": errors.New("no answer")} {
		t.Run(name, func(t *testing.T) {
			m := newNode(t, states.Enroll)
			endFirst, waitFirst := start(t, m)
			require.NoError(t, m.Report(t.Context(), states.EventFail, "aborted"))
			endSecond, waitSecond := start(t, m)

			endFirst <- answer
			_, err := waitFirst()
			require.Equal(t, states.Verifying, m.Node().State)
			require.ErrorAs(t, err, new(*machine.SupersededError))
			require.NotErrorIs(t, err, verify.ErrStillVerifying)

			wrong := errors.New("wrong credentials")
			endSecond <- wrong
			_, err = waitSecond()
			require.ErrorIs(t, err, wrong)
			require.Equal(t, states.Enroll, m.Node().State)
		})
	}
}

// A power sync, for instance, changes the record of a node in verifying.
func TestAVerificationEndsInARecordThatWasReadAgain(t *testing.T) {
	var token any
	m := newNode(t, states.Enroll, func(c *machine.Config) {
		c.Save = []machine.Hook{func(_ context.Context, tr machine.Transition) error { token = tr.Token; return nil }}
	})
	end, wait := start(t, m)
	read := m.Node()
	read.LastError = "power sync failed"
	require.NoError(t, m.SetNode(t.Context(), read, 7))
	end <- nil
	_, err := wait()
	require.NoError(t, err)
	require.Equal(t, states.Manageable, m.Node().State)
	require.Equal(t, 7, token)
}

// The hook is another caller, who moves the node before Start has returned.
func TestAVerificationThatIsSupersededAtOnceHasFailed(t *testing.T) {
	var m *machine.Machine
	m = newNode(t, states.Enroll, func(c *machine.Config) {
		c.Enter = []machine.Hook{func(ctx context.Context, tr machine.Transition) error {
			if tr.To.State != states.Verifying {
				return nil
			}
			return m.Report(ctx, states.EventFail, "stopped by an operator")
		}}
	})
	power, err := verify.Manage(t.Context(), m, answers(states.PowerOn, nil))
	require.ErrorAs(t, err, new(*machine.SupersededError), "the node is not manageable")
	require.Equal(t, states.NoPower, power)
	require.Equal(t, machine.Node{State: states.Enroll, LastError: "stopped by an operator"}, m.Node())
}

func TestAManageThatVerifiesNothingLeavesALaterVerificationAlone(t *testing.T) {
	verifying := machine.Node{State: states.Verifying, Target: states.Manageable}
	var m *machine.Machine
	m = newNode(t, states.Available, func(c *machine.Config) {
		c.Enter = []machine.Hook{func(ctx context.Context, _ machine.Transition) error { return m.SetNode(ctx, verifying, nil) }}
	})
	_, err := verify.Manage(t.Context(), m, verify.Func(func(context.Context) (states.Power, error) {
		t.Error("it has no verification")
		return states.PowerOn, nil
	}))
	require.NoError(t, err)
	require.Equal(t, verifying, m.Node())
}
