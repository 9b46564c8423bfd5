// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package sleep_test

import (
	"context"
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
