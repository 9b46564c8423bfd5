// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
)

func TestARoundWhoseNodesWaitForAWorkerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := newFixture(t, newHardware(isOn, isOn, isOn, isOn), nodes(node(isOn), node(isOn), node(isOn), node(isOn)),
			func(c *powersync.Config) { c.Workers = 1 })
		h.onRead = func(ctx context.Context, _ string) { <-ctx.Done() }
		time.AfterFunc(time.Second, cancel) // one node is read, one is in the queue, and two wait for the queue
		begun := time.Now()
		report, err := h.Sync(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, time.Second, time.Since(begun))
		require.Equal(t, 1, report.Seen)
	})
}
