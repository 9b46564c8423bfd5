// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// silent is a store whose watches of ports report nothing.
type silent struct{ conductor.Memory }

func (s *silent) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	if kind != conductor.KindPort {
		return s.Memory.Watch(ctx, kind)
	}
	return func(func(conductor.Change, error) bool) { <-ctx.Done() }
}

// runToEnd runs a conductor, calls during, and ends the run.
func runToEnd(t *testing.T, store conductor.Store, during func(*conductor.Conductor)) *conductor.Conductor {
	c, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	require.NoError(t, c.Ready(ctx))
	during(c)
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
	return c
}

// A kind of objects that nobody has asked for while the conductor ran is never read from then on.
func TestAConductorWhoseRunHasEndedCreatesAndDeletesNodesWithoutAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := runToEnd(t, &conductor.Memory{}, func(*conductor.Conductor) {})
		begin := time.Now()
		given := &conductor.Node{UUID: "6a0a5bc8-4a1c-4a9e-9c0d-0d1f3a1d6c11", Driver: "fake-hardware", ProvisionState: states.Available}
		n, err := c.CreateNode(context.Background(), given)
		require.NoError(t, err)
		require.ErrorContains(t, c.DeleteNode(context.Background(), n.UUID), "the conductor was stopped")
		require.Zero(t, time.Since(begin))
	})
}

func TestTheEndOfRunEndsTheCreationOfANodeThatWaitsForAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		created := make(chan error)
		runToEnd(t, &silent{}, func(c *conductor.Conductor) {
			given := &conductor.Node{UUID: "6a0a5bc8-4a1c-4a9e-9c0d-0d1f3a1d6c11", Driver: "fake-hardware", ProvisionState: states.Available}
			go func() {
				_, err := c.CreateNode(context.Background(), given)
				created <- err
			}()
			synctest.Wait()
		})
		require.ErrorContains(t, <-created, "the conductor was stopped")
	})
}
