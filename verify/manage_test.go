// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package verify_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// newNode makes a machine in a state.
func newNode(t *testing.T, in states.State, set ...func(*machine.Config)) *machine.Machine {
	t.Helper()
	config := machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: in, LastError: "from before"},
		Name:  "node-1",
	}
	for _, s := range set {
		s(&config)
	}
	m, err := machine.New(config)
	require.NoError(t, err)
	return m
}

func answers(power states.Power, err error) verify.Func {
	return func(context.Context) (states.Power, error) { return power, err }
}

func TestANodeWhoseBMCAnswersIsManageable(t *testing.T) {
	for _, power := range []states.Power{states.PowerOn, states.PowerOff} {
		var seen []machine.Node
		m := newNode(t, states.Enroll, func(c *machine.Config) {
			c.Enter = []machine.Hook{func(_ context.Context, tr machine.Transition) error {
				seen = append(seen, tr.To)
				return nil
			}}
		})
		got, err := verify.Manage(t.Context(), m, answers(power, nil))
		require.NoError(t, err)
		require.Equal(t, power, got)
		require.Equal(t, []machine.Node{
			{State: states.Verifying, Target: states.Manageable},
			{State: states.Manageable},
		}, seen)
	}
}

// SECURITY.md: A failed verification leaves the node in `enroll`.
func TestANodeWhoseBMCDoesNotAnswerIsBackInEnroll(t *testing.T) {
	refused := &verify.Error{
		Op: "power state", Kind: verify.Credentials, Protocol: "redfish", Host: "bmc:443", Err: errors.New("401"),
	}
	tests := map[string]struct {
		verifier verify.Verifier
		kind     verify.Kind
		text     string
	}{
		"an error":       {answers(states.NoPower, refused), verify.Credentials, "power state: redfish bmc:443: credentials refused: 401"},
		"a plain error":  {answers(states.NoPower, errors.New("no luck")), verify.Failed, "no luck"},
		"no power state": {answers(states.NoPower, nil), verify.Unsupported, `power state: not supported: the power state read is "none"`},
		"an odd power state": {answers(states.PowerRebooting, nil), verify.Unsupported,
			`power state: not supported: the power state read is "rebooting"`},
		"a panic": {
			verify.Func(func(context.Context) (states.Power, error) { panic("the password is hunter2") }),
			verify.Panicked, "verification: the verifier failed: panic with a value of type string",
		},
		"a runtime panic": {
			verify.Func(func(context.Context) (states.Power, error) { return states.PowerOn, []error{}[len("x")] }),
			verify.Panicked, "verification: the verifier failed: panic: runtime error: index out of range [1] with length 0",
		},
		"a nil function": {verify.Func(nil), verify.Panicked, "verification: the verifier failed: panic: " +
			"runtime error: invalid memory address or nil pointer dereference"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newNode(t, states.Enroll)
			power, err := verify.Manage(t.Context(), m, test.verifier)
			require.Equal(t, states.NoPower, power)
			text := "verification of node node-1 failed: " + test.text
			require.EqualError(t, err, text)
			require.Equal(t, machine.Node{State: states.Enroll, LastError: text}, m.Node())
			require.Equal(t, test.kind != verify.Failed, errors.Is(err, test.kind))
		})
	}
}

func TestErrorsMatchTheirStepKindAndCause(t *testing.T) {
	cause := errors.New("cause")
	m := newNode(t, states.Enroll)
	_, err := verify.Manage(t.Context(), m, answers(states.NoPower, &verify.Error{
		Op: "management interface", Kind: verify.Unsupported, Protocol: "ipmi", Host: "bmc:623", Err: cause,
	}))
	require.ErrorIs(t, err, verify.Unsupported)
	require.NotErrorIs(t, err, verify.Credentials)
	require.ErrorIs(t, err, cause)
	var failed *verify.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "management interface", failed.Op)
	require.Equal(t, "ipmi", failed.Protocol)
	require.Equal(t, "bmc:623", failed.Host)

	require.EqualError(t, &verify.Error{}, "verification: failed")
	require.EqualError(t, verify.Kind(99), "Kind(99)")
}

func TestManageFromAnotherStateVerifiesNothing(t *testing.T) {
	for _, from := range []states.State{states.Available, states.CleanFail, states.InspectFail, states.AdoptFail, states.Cleaning} {
		m := newNode(t, from)
		power, err := verify.Manage(t.Context(), m, verify.Func(func(context.Context) (states.Power, error) {
			t.Errorf("verified from %v", from)
			return states.PowerOn, nil
		}))
		require.NoError(t, err)
		require.Equal(t, states.NoPower, power)
		require.Equal(t, machine.Node{State: states.Manageable, LastError: "from before"}, m.Node())
	}
}

func TestManageRefusesInvalidArguments(t *testing.T) {
	m := newNode(t, states.Enroll)
	_, err := verify.Manage(t.Context(), m, nil)
	require.EqualError(t, err, "no verifier")
	_, err = verify.Manage(t.Context(), newNode(t, states.Active), answers(states.PowerOn, nil))
	require.ErrorIs(t, err, states.ErrNotAllowed)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = verify.Manage(ended, m, answers(states.PowerOn, nil))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, machine.Node{State: states.Enroll, LastError: "from before"}, m.Node(), "nothing has happened")
}

// A verifier that ignores its context does not delay the node, and its late answer is
// discarded. The clock of a synctest bubble advances only while all goroutines block.
func TestALateVerifierIsIgnored(t *testing.T) {
	tests := map[string]struct {
		timeout, verifies, takes time.Duration // timeout 0: no deadline
		late                     error
		kind                     verify.Kind
	}{
		"answers late":             {time.Second, 2 * time.Second, 2 * time.Second, nil, verify.Timeout},
		"hangs":                    {time.Second, time.Hour, 3 * time.Second, nil, verify.Timeout},
		"hangs without a deadline": {0, time.Hour, time.Minute + 2*time.Second, nil, verify.Timeout},
		"says late what it waited for": {time.Second, 2 * time.Second, 2 * time.Second, &verify.Error{Kind: verify.Unreachable},
			verify.Unreachable},
		"is in time without a deadline": {0, 30 * time.Second, 30 * time.Second, nil, verify.Failed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.timeout)
					defer cancel()
				}
				m := newNode(t, states.Enroll)
				begin := time.Now()
				_, err := verify.Manage(ctx, m, verify.Func(func(context.Context) (states.Power, error) {
					time.Sleep(test.verifies)
					return states.PowerOn, test.late
				}))
				require.Equal(t, test.takes, time.Since(begin))
				if test.kind == verify.Failed {
					require.NoError(t, err)
					require.Equal(t, states.Manageable, m.Node().State)
					return
				}
				require.ErrorIs(t, err, test.kind)
				require.Equal(t, machine.Node{State: states.Enroll, LastError: err.Error()}, m.Node())
				bubble.Sleep(test.verifies)
				require.Equal(t, states.Enroll, m.Node().State, "the late answer changes nothing")
			})
		})
	}
}

func TestACancelledVerificationEndsInEnroll(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := newNode(t, states.Enroll)
	_, err := verify.Manage(ctx, m, verify.Func(func(ctx context.Context) (states.Power, error) {
		cancel()
		<-ctx.Done()
		return states.PowerOn, nil
	}))
	if err == nil { // the answer came first
		require.Equal(t, states.Manageable, m.Node().State)
		return
	}
	require.ErrorIs(t, err, verify.Cancelled)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, machine.Node{State: states.Enroll, LastError: err.Error()}, m.Node())
}

func TestContextsEndWithWhatTheyWereFor(t *testing.T) {
	var ofVerifier, ofHook context.Context
	m := newNode(t, states.Enroll, func(c *machine.Config) {
		c.Save = []machine.Hook{func(ctx context.Context, _ machine.Transition) error { ofHook = ctx; return nil }}
	})
	_, err := verify.Manage(context.Background(), m, verify.Func(func(ctx context.Context) (states.Power, error) {
		ofVerifier = ctx
		return states.PowerOn, nil
	}))
	require.NoError(t, err)
	require.ErrorIs(t, ofVerifier.Err(), context.Canceled)
	require.ErrorIs(t, ofHook.Err(), context.Canceled)
}

func TestStartAnswersBeforeTheEnd(t *testing.T) {
	release := make(chan error)
	v := verify.Func(func(context.Context) (states.Power, error) { return states.PowerOn, <-release })
	m := newNode(t, states.Enroll)
	wait, err := verify.Start(t.Context(), m, v)
	require.NoError(t, err)
	require.Equal(t, states.Verifying, m.Node().State)

	_, err = verify.Start(t.Context(), m, v)
	require.ErrorIs(t, err, states.ErrNotAllowed, "a refusal is known at once")
	var refused *states.RequestError
	require.ErrorAs(t, err, &refused)

	release <- nil
	for range 2 {
		power, err := wait()
		require.NoError(t, err)
		require.Equal(t, states.PowerOn, power)
	}
	require.Equal(t, states.Manageable, m.Node().State)

	wait, err = verify.Start(t.Context(), newNode(t, states.Available), v)
	require.NoError(t, err)
	power, err := wait()
	require.NoError(t, err)
	require.Equal(t, states.NoPower, power, "nothing to verify from available")
}

func TestTextsOfAVerifierAreMadeFit(t *testing.T) {
	hostile := strings.Repeat("\x1b[2J\u202epassword\xff", 1<<16)
	for name, answer := range map[string]error{
		"a plain error":    errors.New(hostile),
		"an error of ours": &verify.Error{Kind: verify.Protocol, Err: errors.New(hostile)},
	} {
		t.Run(name, func(t *testing.T) {
			m := newNode(t, states.Enroll)
			_, err := verify.Manage(t.Context(), m, answers(states.NoPower, answer))
			for _, text := range []string{err.Error(), m.Node().LastError} {
				require.LessOrEqual(t, len(text), 2048)
				require.True(t, utf8.ValidString(text))
				require.NotContains(t, text, "\x1b")
				require.NotContains(t, text, "\u202e")
			}
		})
	}
}

func TestOnlyOneOfManyVerifiesANode(t *testing.T) {
	m := newNode(t, states.Enroll)
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		verified int
		good     int
	)
	for range 8 {
		wg.Go(func() {
			_, err := verify.Manage(t.Context(), m, verify.Func(func(context.Context) (states.Power, error) {
				mu.Lock()
				defer mu.Unlock()
				verified++
				return states.PowerOn, nil
			}))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				good++
				return
			}
			require.ErrorIs(t, err, states.ErrNotAllowed)
		})
	}
	wg.Wait()
	require.Equal(t, 1, verified)
	require.Equal(t, 1, good)
}

func BenchmarkManage(b *testing.B) {
	b.ReportAllocs()
	v := answers(states.PowerOn, nil)
	for range b.N {
		m, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := verify.Manage(b.Context(), m, v); err != nil {
			b.Fatal(err)
		}
	}
}

func TestRunReturnsWhatWasReadBesideTheErrorOfAMissingPowerState(t *testing.T) {
	_, err := verify.Run(t.Context(), "node-1", nil)
	require.EqualError(t, err, "verification of node node-1 failed: no verifier")
	power, err := verify.Run(t.Context(), "", answers(states.PowerError, nil))
	require.Equal(t, states.PowerError, power)
	require.ErrorIs(t, err, verify.ErrNoPower)
	require.EqualError(t, err, `verification failed: power state: not supported: the power state read is "error"`)

	power, err = verify.Run(t.Context(), "node-1", answers(states.PowerOff, nil))
	require.Equal(t, states.PowerOff, power)
	require.NoError(t, err)
}
