// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// lagging is the store of one conductor, whose watches report nothing new but of one kind, and which calls missing
// once, when a node is read that does not exist.
type lagging struct {
	*conductor.Memory
	follows conductor.Kind
	missing atomic.Pointer[func()]
}

func (s *lagging) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	return func(yield func(conductor.Change, error) bool) {
		for change, err := range s.Memory.Watch(ctx, kind) {
			if !yield(change, err) {
				return
			}
			if change.Synced && kind != s.follows {
				<-ctx.Done()
			}
		}
	}
}

func (s *lagging) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	r, err := s.Memory.Get(ctx, kind, key)
	if kind == conductor.KindNode && errors.Is(err, conductor.NotFound) {
		if do := s.missing.Swap(nil); do != nil {
			(*do)()
		}
	}
	return r, err
}

// The client that moves the object has its answer before the client that deletes the node has one.
func TestWhatHasMovedToAnotherNodeIsNotDeletedWithItsOldNode(t *testing.T) {
	for _, o := range []conductor.Object{
		&conductor.Port{Address: "52:54:00:00:00:0a"}, &conductor.PortGroup{Address: "52:54:00:00:00:0b"},
		&conductor.VolumeConnector{Type: "iqn", ConnectorID: "iqn.2026-11.example:n"}, &conductor.VolumeTarget{VolumeID: "v", BootIndex: 1},
	} {
		for name, test := range map[string]struct {
			during  bool // the object moves while the node is deleted, after its objects were listed
			process bool // another process deletes the node, and its objects are looked for at a check
		}{
			"by another process, unseen yet":                 {},
			"while it is deleted":                            {during: true},
			"by another process, which has deleted it since": {process: true},
		} {
			t.Run(string(o.Kind())+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &lagging{Memory: &conductor.Memory{}, follows: conductor.KindNode}
					other := start(t, func(c *conductor.Config) { c.Store = store.Memory })
					from, to := other.node(states.Manageable), other.node(states.Manageable)
					o := conductor.Clone(o)
					o.Meta().NodeUUID = from.UUID
					o, err := other.CreateObject(other.ctx, o)
					require.NoError(t, err)
					f := start(t, func(c *conductor.Config) { c.Store = store })
					_, err = f.ObjectsOf(f.ctx, o.Kind(), from.UUID) // f has them in its memory
					require.NoError(t, err)
					move := func() {
						_, err := other.UpdateObject(other.ctx, o.Kind(), o.Meta().UUID, func(o conductor.Object) error {
							o.Meta().NodeUUID = to.UUID
							return nil
						})
						require.NoError(t, err)
					}
					if test.during {
						synctest.Wait() // the first round of the power sync has ended
						store.missing.Store(&move)
					} else {
						move()
					}
					if test.process {
						require.NoError(t, other.DeleteNode(other.ctx, from.UUID))
					} else {
						require.NoError(t, f.DeleteNode(f.ctx, from.UUID))
					}
					require.Nil(t, store.missing.Load())
					bubble.Sleep(time.Hour)
					left, err := f.Object(f.ctx, o.Kind(), o.Meta().UUID)
					require.NoError(t, err)
					require.Equal(t, to.UUID, left.Meta().NodeUUID)
				})
			})
		}
	}
}

// A change that the list of the node's objects lacks keeps no object of a deleted node.
func TestWhatAnotherProcessHasChangedIsDeletedWithItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lagging{Memory: &conductor.Memory{}, follows: conductor.KindNode}
		other := start(t, func(c *conductor.Config) { c.Store = store.Memory })
		n := other.node(states.Manageable)
		port, err := other.CreateObject(other.ctx,
			&conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:00:00:0a"})
		require.NoError(t, err)
		f := start(t, func(c *conductor.Config) { c.Store, c.CheckInterval = store, 24*time.Hour })
		_, err = f.ObjectsOf(f.ctx, conductor.KindPort, n.UUID)
		require.NoError(t, err)
		_, err = other.UpdateObject(other.ctx, conductor.KindPort, port.Meta().UUID, func(o conductor.Object) error {
			o.(*conductor.Port).Description = "the uplink"
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, f.DeleteNode(f.ctx, n.UUID))
		_, err = f.Object(f.ctx, conductor.KindPort, port.Meta().UUID)
		require.ErrorIs(t, err, conductor.NotFound)
	})
}

// A client may delete a node, create it again under its UUID and move a port back to it, while another request still
// deletes the objects of the first node.
func TestWhatIsMovedToANodeThatWasCreatedAgainStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lagging{Memory: &conductor.Memory{}, follows: conductor.KindNode}
		f := start(t, func(c *conductor.Config) { c.Store = store })
		n, other := f.node(states.Manageable), f.node(states.Manageable)
		port, err := f.CreateObject(f.ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:00:00:0a"})
		require.NoError(t, err)
		moveTo := func(node string) {
			_, err := f.UpdateObject(f.ctx, conductor.KindPort, port.Meta().UUID, func(o conductor.Object) error {
				o.Meta().NodeUUID = node
				return nil
			})
			require.NoError(t, err)
		}
		again := func() {
			moveTo(other.UUID)
			_, err := f.CreateNode(f.ctx, &conductor.Node{UUID: n.UUID, Driver: "fake-hardware", ProvisionState: states.Manageable})
			require.NoError(t, err)
			moveTo(n.UUID)
		}
		synctest.Wait() // the first round of the power sync has ended
		store.missing.Store(&again)
		require.NoError(t, f.DeleteNode(f.ctx, n.UUID))
		require.Nil(t, store.missing.Load())
		_, err = f.Object(f.ctx, conductor.KindPort, port.Meta().UUID)
		require.NoError(t, err)
	})
}
