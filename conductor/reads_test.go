// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"bytes"
	"context"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// late is a store whose watches report the records that exist when they begin, and no change after these.
type late struct{ conductor.Memory }

func (s *late) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	return func(yield func(conductor.Change, error) bool) {
		for c, err := range s.Memory.Watch(ctx, kind) {
			if !yield(c, err) {
				return
			}
			if c.Synced {
				<-ctx.Done()
				return
			}
		}
	}
}

// rewrite replaces a text in a record as another process does.
func (s *late) rewrite(t *testing.T, kind conductor.Kind, id, old, now string) {
	r, err := s.Get(t.Context(), kind, id)
	require.NoError(t, err)
	r.Value = bytes.ReplaceAll(r.Value, []byte(old), []byte(now))
	_, err = s.Memory.Update(t.Context(), r)
	require.NoError(t, err)
}

// A client that has waited for an allocation asks next for the allocation of its node.
func TestAListHasWhatAnEarlierRequestHasShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &late{}
		f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true })
		n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available, Description: "before"})
		require.NoError(t, err)
		port, err := f.CreateObject(f.ctx, &conductor.Port{
			ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:00:01:00", Description: "before",
		})
		require.NoError(t, err)
		ports, err := f.ObjectsOf(f.ctx, conductor.KindPort, n.UUID)
		require.NoError(t, err)
		require.Len(t, ports, 1)

		store.rewrite(t, conductor.KindNode, n.UUID, "before", "after")
		n, err = f.Node(f.ctx, n.UUID)
		require.NoError(t, err)
		require.Equal(t, "after", n.Description)
		nodes, err := f.Nodes(f.ctx)
		require.NoError(t, err)
		require.Equal(t, []*conductor.Node{n}, nodes)

		store.rewrite(t, conductor.KindPort, port.Meta().UUID, "before", "after")
		port, err = f.Object(f.ctx, conductor.KindPort, port.Meta().UUID)
		require.NoError(t, err)
		require.Equal(t, "after", port.(*conductor.Port).Description)
		ports, err = f.ObjectsOf(f.ctx, conductor.KindPort, n.UUID)
		require.NoError(t, err)
		require.Equal(t, []conductor.Object{port}, ports)
		require.NotSame(t, port, ports[0], "the caller may modify its own")
	})
}

// Nobody could delete the node of such a record.
func TestARecordThatCannotBeDecodedCanBeDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &conductor.Memory{}
		f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true })
		n := f.node(states.Enroll)
		_, err := store.Create(f.ctx, conductor.Record{Kind: conductor.KindInventory, ID: n.UUID, Value: []byte("{")})
		require.NoError(t, err)
		_, err = f.Object(f.ctx, conductor.KindInventory, n.UUID)
		require.Error(t, err)
		require.NoError(t, f.DeleteNode(f.ctx, n.UUID))
		_, err = store.Get(f.ctx, conductor.KindInventory, n.UUID)
		require.ErrorIs(t, err, conductor.NotFound)
	})
}
