//go:build go1.25

package verify_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

func TestWithTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := verify.Func(func(ctx context.Context) (states.Power, error) {
			<-ctx.Done()
			return states.NoPower, &verify.Error{Kind: verify.KindOf(ctx.Err())}
		})
		begin := time.Now()
		_, err := verify.WithTimeout(waits, time.Minute).Verify(t.Context())
		require.ErrorIs(t, err, verify.Timeout)
		require.Equal(t, time.Minute, time.Since(begin))
	})
	power, err := verify.WithTimeout(answers(states.PowerOn, nil), time.Minute).Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, states.PowerOn, power)
	_, err = verify.WithTimeout(answers(states.PowerOn, nil), -1).Verify(t.Context())
	require.ErrorIs(t, err, verify.Misconfigured)
}

func TestWithRetryAsksAgainOnlyWhereNobodyAnswered(t *testing.T) {
	second := time.Second
	tests := map[string]struct {
		kinds   []verify.Kind // of each try; Failed is success
		backoff verify.Backoff
		tries   int
		takes   time.Duration
		err     verify.Kind
	}{
		"at once good":            {[]verify.Kind{verify.Failed}, verify.Backoff{Tries: 3, First: second}, 1, 0, verify.Failed},
		"good the third time":     {[]verify.Kind{verify.Unreachable, verify.Unreachable, verify.Failed}, verify.Backoff{Tries: 5, First: second}, 3, 3 * second, verify.Failed},
		"never good":              {[]verify.Kind{verify.Unreachable}, verify.Backoff{Tries: 4, First: second, Most: 3 * second}, 4, 6 * second, verify.Unreachable},
		"no tries are one":        {[]verify.Kind{verify.Unreachable}, verify.Backoff{}, 1, 0, verify.Unreachable},
		"credentials are final":   {[]verify.Kind{verify.Credentials}, verify.Backoff{Tries: 5, First: second}, 1, 0, verify.Credentials},
		"a timeout is final":      {[]verify.Kind{verify.Timeout}, verify.Backoff{Tries: 5, First: second}, 1, 0, verify.Timeout},
		"a negative wait is none": {[]verify.Kind{verify.Unreachable}, verify.Backoff{Tries: 3, First: -second, Most: -1}, 3, 0, verify.Unreachable},
		"waits do not overflow":   {[]verify.Kind{verify.Unreachable}, verify.Backoff{Tries: 200, First: 1, Most: 1}, 200, 199, verify.Unreachable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				v := verify.WithRetry(verify.Func(func(context.Context) (states.Power, error) {
					kind := test.kinds[min(tries, len(test.kinds)-1)]
					tries++
					if kind == verify.Failed {
						return states.PowerOn, nil
					}
					return states.NoPower, &verify.Error{Kind: kind}
				}), test.backoff)
				begin := time.Now()
				_, err := v.Verify(t.Context())
				require.Equal(t, test.tries, tries)
				require.Equal(t, test.takes, time.Since(begin))
				require.Equal(t, test.err != verify.Failed, errors.Is(err, test.err))
			})
		})
	}
}

func TestWithRetryStopsWaitingWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		unreachable := answers(states.NoPower, &verify.Error{Kind: verify.Unreachable})
		begin := time.Now()
		_, err := verify.WithRetry(unreachable, verify.Backoff{Tries: 9, First: time.Hour}).Verify(ctx)
		require.ErrorIs(t, err, verify.Unreachable, "why it was waited for says more than that the time was up")
		require.Equal(t, time.Second, time.Since(begin))
	})
}

func TestALimitIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		limit := verify.NewLimit(3)
		v := limit.Verifier(verify.Func(func(context.Context) (states.Power, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return states.PowerOn, nil
		}))
		ended := make(chan error)
		for range 9 {
			go func() {
				_, err := v.Verify(t.Context())
				ended <- err
			}()
		}
		begin := time.Now()
		for range 9 {
			require.NoError(t, <-ended)
		}
		require.Equal(t, 3*time.Second, time.Since(begin))
		require.EqualValues(t, 3, most.Load())
	})

	full := verify.NewLimit(0)
	inner := full.Verifier(answers(states.PowerOn, nil))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := full.Verifier(verify.Func(func(context.Context) (states.Power, error) {
		cancel()
		return inner.Verify(ctx)
	})).Verify(t.Context())
	require.ErrorIs(t, err, verify.Cancelled)
	_, err = inner.Verify(t.Context())
	require.NoError(t, err, "the slot is free again")
}

// A Verifier of one's own, made patient with the package's combinators.
func ExampleFunc() {
	attempt := 0
	console := verify.Func(func(context.Context) (states.Power, error) {
		attempt++
		if attempt == 1 {
			return states.NoPower, &verify.Error{Step: verify.PowerState, Kind: verify.Unreachable, Host: "console-7"}
		}
		return states.PowerOff, nil
	})

	verifier := verify.WithTimeout(verify.WithRetry(console, verify.Backoff{Tries: 3, First: time.Millisecond}), time.Second)
	power, err := verifier.Verify(context.Background())
	fmt.Println(power, err, "after", attempt, "attempts")
	// Output: power off <nil> after 2 attempts
}
