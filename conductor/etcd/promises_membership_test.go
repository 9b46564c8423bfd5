// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/storetest"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/sleep"
)

// memoryLease is a lease of a [memory].
type memoryLease struct {
	ttl  time.Duration
	ends time.Time
	end  *time.Timer // ends the lease
}

// leaseOf returns the lease of a put, which clientv3 shows to nobody.
func leaseOf(op clientv3.Op) clientv3.LeaseID {
	return clientv3.LeaseID(reflect.ValueOf(op).FieldByName("leaseID").Int())
}

// end ends a lease, and reports whether it existed.
func (m *memory) end(id clientv3.LeaseID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.leases[id]
	if l == nil {
		return false
	}
	l.end.Stop()
	delete(m.leases, id)
	at := m.revision + 1
	for _, key := range m.keys {
		if kv := m.at(key, m.revision); kv != nil && kv.Lease == int64(id) {
			m.write(key, clientv3.OpDelete(key), at)
		}
	}
	m.written(at)
	return true
}

// wire is the way of one process to a [memory]. While it is cut, requests wait, and watches yield nothing.
type wire struct {
	*memory
	clientv3.Lease
	cut atomic.Bool
}

// pass waits until the wire is not cut.
func (w *wire) pass(ctx context.Context) error {
	for w.cut.Load() && sleep.For(ctx, 10*time.Millisecond) {
	}
	return ctx.Err()
}

// Close implements [clientv3.Watcher] and [clientv3.Lease].
func (*wire) Close() error { return nil }

// Get implements [clientv3.KV].
func (w *wire) Get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	return w.memory.Get(ctx, key, options...)
}

// Txn implements [clientv3.KV].
func (w *wire) Txn(ctx context.Context) clientv3.Txn {
	_ = w.pass(ctx) // Commit returns the error of a context that has ended
	return w.memory.Txn(ctx)
}

// Watch implements [clientv3.Watcher].
func (w *wire) Watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	answers := make(chan clientv3.WatchResponse)
	go func() {
		defer close(answers)
		for answer := range w.memory.Watch(ctx, key, options...) {
			if w.pass(ctx) == nil {
				select {
				case answers <- answer:
				case <-ctx.Done():
				}
			}
		}
	}()
	return answers
}

// Grant implements [clientv3.Lease].
func (w *wire) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revision++ // so that each lease has an ID of its own
	id, l := clientv3.LeaseID(w.revision), &memoryLease{ttl: time.Duration(ttl) * time.Second}
	l.ends, l.end = time.Now().Add(l.ttl), time.AfterFunc(l.ttl, func() { w.memory.end(id) })
	w.leases[id] = l
	return &clientv3.LeaseGrantResponse{ID: id, TTL: ttl}, nil
}

// KeepAliveOnce implements [clientv3.Lease].
func (w *wire) KeepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.leases[id]
	if l == nil {
		return nil, rpctypes.ErrLeaseNotFound
	}
	l.ends = time.Now().Add(l.ttl)
	l.end.Reset(l.ttl)
	return &clientv3.LeaseKeepAliveResponse{ID: id}, nil
}

// Revoke implements [clientv3.Lease].
func (w *wire) Revoke(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	if !w.memory.end(id) {
		return nil, rpctypes.ErrLeaseNotFound
	}
	return &clientv3.LeaseRevokeResponse{}, nil
}

// TimeToLive implements [clientv3.Lease].
func (w *wire) TimeToLive(ctx context.Context, id clientv3.LeaseID, _ ...clientv3.LeaseOption) (*clientv3.LeaseTimeToLiveResponse, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.leases[id]
	if l == nil {
		return &clientv3.LeaseTimeToLiveResponse{TTL: -1}, nil
	}
	return &clientv3.LeaseTimeToLiveResponse{TTL: int64(time.Until(l.ends) / time.Second), GrantedTTL: int64(l.ttl / time.Second)}, nil
}

// TestTheMembershipKeepsItsPromisesOnAnEtcdInMemory is TestTheMembershipKeepsItsPromisesOnACluster in a bubble, with
// leases that end at the first moment at which a server of etcd may end them.
func TestTheMembershipKeepsItsPromisesOnAnEtcdInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 3 * time.Second
		m := newMemory()
		open := func() (*Store, *wire) {
			w := &wire{memory: m}
			s, err := newStore("", nil)
			require.NoError(t, err)
			s.client, s.stop = &clientv3.Client{KV: w, Lease: w, Watcher: w}, func() error { return nil }
			return s, w
		}
		a, way := open()
		b, _ := open()
		cut := a.Membership(ttl)
		require.NoError(t, storetest.CheckMembership(ttl,
			storetest.Process{Membership: cut, Cut: way.cut.Store, Jump: cut.Jump}, storetest.Process{Membership: b.Membership(ttl)}))
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
	})
}

func TestOfTwoMembersOneHasTheNameOrTheID(t *testing.T) {
	for name, test := range map[string]struct {
		first, second conductor.Member
		want          error // nil for a takenError
	}{
		"one name": {conductor.Member{ID: "a", Hostname: "host"}, conductor.Member{ID: "b", Hostname: "host"}, nil},
		"one ID":   {conductor.Member{ID: "a", Hostname: "host"}, conductor.Member{ID: "a", Hostname: "other"}, ErrMember},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{memory: newMemory()}
				s, err := newStore("", nil)
				require.NoError(t, err)
				s.client = &clientv3.Client{KV: w, Lease: w, Watcher: w}
				m := s.Membership(0)
				w.meanwhile = func() { // after the second has found the name free
					_, err := m.register(t.Context(), test.first)
					require.NoError(t, err)
				}
				_, err = m.register(t.Context(), test.second)
				if test.want != nil {
					require.ErrorIs(t, err, test.want)
				} else {
					require.ErrorAs(t, err, new(*takenError))
				}
				require.Len(t, w.leases, 1, "the lease of the refused one is revoked")
				bubble.Sleep(DefaultTTL) // the other one ends
			})
		})
	}
}

func TestAMemberThatLeavesIsGoneAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{memory: newMemory()}
		s, err := newStore("", nil)
		require.NoError(t, err)
		s.client, s.stop = &clientv3.Client{KV: w, Lease: w, Watcher: w}, func() error { return nil }
		m, begun := s.Membership(0), time.Now()
		for members, err := range m.Join(t.Context(), conductor.Member{ID: "a", Hostname: "host"}) {
			require.NoError(t, err)
			require.Len(t, members, 1)
			break
		}
		alive, err := m.Alive(t.Context(), "a")
		require.NoError(t, err)
		require.False(t, alive)
		require.Empty(t, w.leases)
		require.Zero(t, time.Since(begun))
		require.NoError(t, s.Close())
	})
}
