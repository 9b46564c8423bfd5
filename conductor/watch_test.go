// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// cuttable is a store whose watches of nodes end while it is cut off.
type cuttable struct {
	conductor.Memory
	begun  atomic.Int32 // the watches of nodes
	before func()       // if not nil, is called before a watch of nodes begins
	stored func()       // if not nil, is called between a creation and its answer

	mu  sync.Mutex
	off bool
	end context.CancelFunc // of the current watch
}

func (s *cuttable) cut(off bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off = off; off {
		s.end()
	}
}

func (s *cuttable) Create(ctx context.Context, r conductor.Record) (int64, error) {
	revision, err := s.Memory.Create(ctx, r)
	if s.stored != nil {
		s.stored()
	}
	return revision, err
}

func (s *cuttable) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	if kind != conductor.KindNode {
		return s.Memory.Watch(ctx, kind)
	}
	return func(yield func(conductor.Change, error) bool) {
		s.begun.Add(1)
		within, cancel := context.WithCancel(ctx)
		defer cancel()
		s.mu.Lock()
		if s.end = cancel; s.off {
			cancel()
		}
		s.mu.Unlock()
		if s.before != nil {
			s.before()
		}
		s.Memory.Watch(within, kind)(yield)
		if ctx.Err() == nil {
			yield(conductor.Change{}, errors.New("the store does not answer"))
		}
	}
}

func TestAConductorThatCouldNotWatchTheStoreLearnsWhatItHasMissed(t *testing.T) {
	for name, test := range map[string]struct{ nodes, deleted int }{ // the index of the node that is deleted, in the order of creation
		"an old node": {3, 0}, "the newest node": {3, 2}, "the only node": {1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log lockedBuffer
				store := &cuttable{}
				f := start(t, func(c *conductor.Config) { c.Store, c.Log = store, slog.New(slog.NewTextHandler(&log, nil)) })
				var ids []string
				for range test.nodes {
					ids = append(ids, f.node(states.Enroll).UUID)
				}
				synctest.Wait()
				require.NotContains(t, log.String(), "watching the store failed")

				store.cut(true)
				record, err := store.Get(f.ctx, conductor.KindNode, ids[test.deleted])
				require.NoError(t, err)
				_, err = store.Delete(f.ctx, conductor.KindNode, record.ID, record.Revision)
				require.NoError(t, err)
				bubble.Sleep(9*time.Second + time.Second/2)
				require.EqualValues(t, 10, store.begun.Load(), "one attempt a second")
				require.Contains(t, log.String(), `level=WARN msg="watching the store failed" kind=nodes error="the store does not answer"`)
				store.cut(false)
				bubble.Sleep(time.Second)
				var left []string
				nodes, err := f.Nodes(f.ctx)
				require.NoError(t, err)
				for _, n := range nodes {
					left = append(left, n.UUID)
				}
				require.ElementsMatch(t, slices.Delete(ids, test.deleted, test.deleted+1), left)
				require.EqualValues(t, 11, store.begun.Load())
			})
		})
	}
}

// TestANodeThatThisConductorCreatesWhileAWatchBeginsIsListedUnlessItIsDeleted has a creation whose answer comes before
// the watch reads the records, or after Synced.
func TestANodeThatThisConductorCreatesWhileAWatchBeginsIsListedUnlessItIsDeleted(t *testing.T) {
	for name, test := range map[string]struct{ deleted, late bool }{
		"created": {}, "created and deleted": {deleted: true},
		"created, answered late": {late: true}, "created and deleted, answered late": {deleted: true, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &cuttable{}
				f := start(t, func(c *conductor.Config) { c.Store = store })
				synctest.Wait()
				const id = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"
				create := func() {
					_, err := f.CreateNode(f.ctx, &conductor.Node{UUID: id, Driver: "fake-hardware", ProvisionState: states.Enroll})
					require.NoError(t, err)
				}
				remove := func() {
					if test.deleted {
						r, err := store.Get(f.ctx, conductor.KindNode, id)
						require.NoError(t, err)
						_, err = store.Delete(f.ctx, conductor.KindNode, id, r.Revision)
						require.NoError(t, err)
					}
				}
				if test.late {
					store.stored = func() { remove(); store.cut(true); store.cut(false); bubble.Sleep(2 * time.Second) }
					create()
				} else {
					store.before = func() { create(); remove() }
					store.cut(true)
					store.cut(false)
					bubble.Sleep(2 * time.Second)
				}
				require.EqualValues(t, 2, store.begun.Load())
				nodes, err := f.Nodes(f.ctx)
				require.NoError(t, err)
				require.Equal(t, !test.deleted, len(nodes) == 1, nodes)
			})
		})
	}
}

func TestARecordThatCannotBeReadIsLoggedAndLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		store := &conductor.Memory{}
		f := start(t, func(c *conductor.Config) { c.Store, c.Log = store, slog.New(slog.NewTextHandler(&log, nil)) })
		_, err := store.Create(f.ctx, conductor.Record{Kind: conductor.KindNode, ID: "noise", Value: []byte("{")})
		require.NoError(t, err)
		n := f.settle(f.node(states.Enroll))
		nodes, err := f.Nodes(f.ctx)
		require.NoError(t, err)
		require.Equal(t, []*conductor.Node{n}, nodes)
		require.Contains(t, log.String(), `level=ERROR msg="a stored record cannot be read" kind=nodes id=noise`)
	})
}

func TestAListThatIsRequestedBeforeRunIsReadWhenTheConductorRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &conductor.Memory{}
		chassis, err := start(t, func(c *conductor.Config) { c.Store = store }).CreateObject(t.Context(), &conductor.Chassis{})
		require.NoError(t, err)
		c, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		listed, ended := make(chan []conductor.Object, 1), make(chan error)
		go func() {
			all, _ := c.Objects(ctx, conductor.KindChassis)
			listed <- all
		}()
		synctest.Wait()
		require.Empty(t, listed)
		go func() { ended <- c.Run(ctx) }()
		require.Equal(t, []conductor.Object{chassis}, <-listed)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

// unread is a store whose ports cannot be watched.
type unread struct{ conductor.Memory }

func (s *unread) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	if kind != conductor.KindPort {
		return s.Memory.Watch(ctx, kind)
	}
	return func(func(conductor.Change, error) bool) { <-ctx.Done() }
}

func TestADeletionThatMayLeavePortsIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.Store = &unread{} })
		n := f.node(states.Enroll)
		ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
		defer cancel()
		require.ErrorIs(t, f.DeleteNode(ctx, n.UUID), context.DeadlineExceeded)
		_, err := f.Node(f.ctx, n.UUID)
		require.ErrorIs(t, err, conductor.NotFound)
	})
}
