// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/internal/retry"
)

func TestAPauseIsNotedAndEndsWithinItsContext(t *testing.T) {
	busy := errors.New("busy")
	for _, test := range []struct {
		left, ends time.Duration // until the deadline, and until the end, if not 0
		waits      time.Duration
		again      bool
		noted      int
	}{
		{0, 0, 5 * time.Second, true, 1},
		{5 * time.Second, 0, 5 * time.Second, true, 1},
		{5*time.Second - 1, 0, 0, false, 0},
		{0, time.Second, time.Second, false, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.left > 0 {
				ctx = deadline{ctx, time.Now().Add(test.left)}
			}
			if test.ends > 0 {
				time.AfterFunc(test.ends, cancel)
			}
			noted := 0
			ctx = retry.WithNote(ctx, func(attempt int, err error) {
				noted++
				require.Equal(t, 3, attempt)
				require.Equal(t, busy, err)
			})
			begun := time.Now()
			require.Equal(t, test.again, retry.Wait(ctx, 5*time.Second, 3, busy), "%+v", test)
			require.Equal(t, test.waits, time.Since(begun), "%+v", test)
			require.Equal(t, test.noted, noted, "%+v", test)
			cancel()
			require.False(t, retry.Wait(ctx, 0, 3, busy), "the context has ended")
			require.Equal(t, test.noted, noted, "%+v", test)
		})
	}
}

// deadline is a context with a deadline that does not end by itself.
type deadline struct {
	context.Context
	at time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.at, true }
