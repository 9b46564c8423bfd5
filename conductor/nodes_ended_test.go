// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// silent is a store whose watches of a kind, ports by default, report nothing.
type silent struct {
	conductor.Memory
	kind conductor.Kind
}

func (s *silent) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	if kind != cmp.Or(s.kind, conductor.KindPort) {
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

// The objects of a node that is deleted before Run are deleted when they are read.
func TestANodeIsDeletedWithoutAWaitBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &conductor.Memory{}
		c, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
		require.NoError(t, err)
		n, err := c.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
		require.NoError(t, err)
		_, err = c.CreateObject(t.Context(), &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:00:00:0a"})
		require.NoError(t, err)
		begin := time.Now()
		require.NoError(t, c.DeleteNode(t.Context(), n.UUID))
		require.Zero(t, time.Since(begin))
		runToEnd(t, store, func(c *conductor.Conductor) {
			ports, err := c.ObjectsOf(t.Context(), conductor.KindPort, n.UUID)
			require.NoError(t, err)
			require.Len(t, ports, 1)
			time.Sleep(time.Hour)
			ports, err = c.ObjectsOf(t.Context(), conductor.KindPort, n.UUID)
			require.NoError(t, err)
			require.Empty(t, ports)
		})
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

func TestAKindOfObjectsThatWasNotReadBeforeTheEndOfRunIsNotListed(t *testing.T) {
	lists := map[string]func(context.Context, *conductor.Conductor, conductor.Kind) error{
		"Objects": func(ctx context.Context, c *conductor.Conductor, kind conductor.Kind) error {
			_, err := c.Objects(ctx, kind)
			return err
		},
		"ObjectsIn": func(ctx context.Context, c *conductor.Conductor, kind conductor.Kind) error {
			_, err := c.ObjectsIn(ctx, kind, conductor.Range{})
			return err
		},
		"ObjectsOf": func(ctx context.Context, c *conductor.Conductor, kind conductor.Kind) error {
			_, err := c.ObjectsOf(ctx, kind, "6a0a5bc8-4a1c-4a9e-9c0d-0d1f3a1d6c11")
			return err
		},
	}
	for name, list := range lists {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				waited := make(chan error)
				c := runToEnd(t, &silent{}, func(c *conductor.Conductor) {
					require.NoError(t, list(t.Context(), c, conductor.KindChassis))
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					require.ErrorIs(t, list(ctx, c, conductor.KindPort), context.DeadlineExceeded)
					go func() { waited <- list(context.Background(), c, conductor.KindPort) }()
					synctest.Wait()
				})
				const text = "list the objects of kind %s: the conductor was stopped"
				require.EqualError(t, <-waited, fmt.Sprintf(text, conductor.KindPort))
				begin := time.Now()
				for _, kind := range []conductor.Kind{conductor.KindPort, conductor.KindVolumeTarget} {
					require.EqualError(t, list(context.Background(), c, kind), fmt.Sprintf(text, kind))
				}
				require.NoError(t, list(context.Background(), c, conductor.KindChassis))
				require.Zero(t, time.Since(begin))
			})
		})
	}
}

func TestNodesThatWereNotReadBeforeTheEndOfRunAreNotListed(t *testing.T) {
	for name, list := range map[string]func(context.Context, *conductor.Conductor) error{
		"Nodes": func(ctx context.Context, c *conductor.Conductor) error { _, err := c.Nodes(ctx); return err },
		"NodesIn": func(ctx context.Context, c *conductor.Conductor) error {
			_, err := c.NodesIn(ctx, conductor.Range{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := conductor.Config{
					Store: &silent{kind: conductor.KindNode}, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
				}
				c, err := conductor.New(config)
				require.NoError(t, err)
				ctx, stop := context.WithCancel(t.Context())
				waited, ended := make(chan error), make(chan error)
				go func() { ended <- c.Run(ctx) }()
				go func() { waited <- list(context.Background(), c) }()
				synctest.Wait()
				stop()
				require.ErrorIs(t, <-ended, context.Canceled)
				const text = "list the nodes: the conductor was stopped"
				require.EqualError(t, <-waited, text)
				begin := time.Now()
				require.EqualError(t, list(context.Background(), c), text)
				require.Zero(t, time.Since(begin))
			})
		})
	}
}
