// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
)

// TestManyWatchesEndAtOnce has as many watches of one store as several conductors that share it.
// A deadlock of the client and the server shows as a test that does not end.
func TestManyWatchesEndAtOnce(t *testing.T) {
	s := openLocal(t, t.TempDir(), "")
	changes := make(chan conductor.Change, 100)
	var staying sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	staying.Go(func() {
		for change := range s.Watch(ctx, etcdtest.Kind) {
			changes <- change
		}
	})
	require.True(t, (<-changes).Synced)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		ctx, cancel := context.WithCancel(t.Context())
		var begun, running sync.WaitGroup
		for range 200 {
			begun.Add(1)
			running.Go(func() {
				for change := range s.Watch(ctx, etcdtest.Kind) {
					if change.Record.ID == id {
						begun.Done()
					}
				}
			})
		}
		etcdtest.Create(t, s, id)
		begun.Wait()
		cancel()
		running.Wait()
		require.Equal(t, id, (<-changes).Record.ID, "the watch that stays has the change")
	}
	stop()
	staying.Wait()
}
