// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package sleep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/sleep"
)

func TestForWaitsForTheTimeOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		require.True(t, sleep.For(t.Context(), time.Second))
		require.Equal(t, time.Second, time.Since(begun))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, sleep.For(ctx, time.Hour))
		require.Equal(t, 2*time.Second, time.Since(begun))
		require.False(t, sleep.For(ctx, 0))
		require.Equal(t, 2*time.Second, time.Since(begun))
	})
}

func TestUntilCallsUntilItIsDoneOrFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, calls, failure := time.Now(), 0, errors.New("failure")
		count := func(last int, err error) func() (int, bool, error) {
			return func() (int, bool, error) {
				calls++
				if calls == last {
					return calls, err == nil, err
				}
				return calls, false, nil
			}
		}
		v, err := sleep.Until(t.Context(), time.Second, count(3, nil))
		require.NoError(t, err)
		require.Equal(t, 3, v)
		require.Equal(t, 2*time.Second, time.Since(begun))
		v, err = sleep.Until(t.Context(), time.Second, count(5, failure))
		require.ErrorIs(t, err, failure)
		require.Equal(t, 5, v)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 90*time.Second, failure)
		defer cancel()
		v, err = sleep.Until(ctx, time.Minute, count(0, nil))
		require.ErrorIs(t, err, failure)
		require.Equal(t, 7, v)
	})
}
