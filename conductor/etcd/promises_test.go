// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/storetest"
)

// memory is an etcd in memory with the operations that a [Store] and its [Membership] use. It compacts nothing.
type memory struct {
	clientv3.KV
	clientv3.Watcher

	mu       sync.Mutex
	revision int64
	keys     []string // sorted
	versions map[string][]*mvccpb.KeyValue
	events   []*clientv3.Event
	changed  chan struct{} // closed by the next write
	leases   map[clientv3.LeaseID]*memoryLease

	meanwhile func() // is called once, before the next transaction; may be nil
}

func newMemory() *memory {
	return &memory{
		revision: 1, versions: map[string][]*mvccpb.KeyValue{}, changed: make(chan struct{}), leases: map[clientv3.LeaseID]*memoryLease{},
	}
}

// Get implements [clientv3.KV].
func (m *memory) Get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer := m.read(clientv3.OpGet(key, options...))
	return (*clientv3.GetResponse)(answer), ctx.Err()
}

// Delete implements [clientv3.KV].
func (m *memory) Delete(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	_, err := m.Txn(ctx).Then(clientv3.OpDelete(key, options...)).Commit()
	return &clientv3.DeleteResponse{}, err
}

// Txn implements [clientv3.KV].
func (m *memory) Txn(ctx context.Context) clientv3.Txn { return memoryTxn{memory: m, ctx: ctx} }

type memoryTxn struct {
	*memory
	ctx      context.Context
	when     []clientv3.Cmp
	then, or []clientv3.Op
}

// If implements [clientv3.Txn].
func (t memoryTxn) If(when ...clientv3.Cmp) clientv3.Txn { t.when = when; return t }

// Then implements [clientv3.Txn].
func (t memoryTxn) Then(then ...clientv3.Op) clientv3.Txn { t.then = then; return t }

// Else implements [clientv3.Txn].
func (t memoryTxn) Else(or ...clientv3.Op) clientv3.Txn { t.or = or; return t }

// Commit implements [clientv3.Txn].
func (t memoryTxn) Commit() (*clientv3.TxnResponse, error) {
	if do := t.meanwhile; do != nil {
		t.meanwhile = nil
		do()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	answer := &clientv3.TxnResponse{Succeeded: !slices.ContainsFunc(t.when, func(c clientv3.Cmp) bool { return !t.holds(c.GetCompare()) })}
	operations := t.then
	if !answer.Succeeded {
		operations = t.or
	}
	if max(len(t.when), len(t.then), len(t.or)) > 128 {
		return nil, rpctypes.ErrTooManyOps
	}
	at, written := t.revision+1, map[string]bool{}
	for _, op := range operations {
		if op.IsGet() {
			answer.Responses = append(answer.Responses, &etcdserverpb.ResponseOp{
				Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: t.read(op)},
			})
			continue
		}
		keys := []string{string(op.KeyBytes())}
		if op.IsDelete() {
			keys = t.between(op)
		}
		if op.IsPut() && leaseOf(op) != clientv3.NoLease && t.leases[leaseOf(op)] == nil {
			return nil, rpctypes.ErrLeaseNotFound
		}
		for _, key := range keys {
			if written[key] {
				return nil, rpctypes.ErrDuplicateKey
			}
			written[key] = true
			t.write(key, op, at)
		}
		answer.Responses = append(answer.Responses, &etcdserverpb.ResponseOp{})
	}
	if len(written) > 0 {
		t.written(at)
	}
	answer.Header = &etcdserverpb.ResponseHeader{Revision: t.revision}
	return answer, nil
}

// written ends a write with its revision.
func (m *memory) written(at int64) {
	m.revision = at
	close(m.changed)
	m.changed = make(chan struct{})
}

// holds reports whether a comparison holds: the one of the last change or of the creation with a revision.
func (m *memory) holds(c *etcdserverpb.Compare) bool {
	now := m.at(string(c.Key), m.revision)
	switch {
	case c.Result != etcdserverpb.Compare_EQUAL:
	case c.Target == etcdserverpb.Compare_MOD:
		return now.GetModRevision() == c.GetModRevision()
	case c.Target == etcdserverpb.Compare_CREATE:
		return now.GetCreateRevision() == c.GetCreateRevision()
	}
	panic("a comparison that this etcd does not have")
}

// at returns what a key had at a revision, nil for nothing.
func (m *memory) at(key string, revision int64) *mvccpb.KeyValue {
	for _, kv := range slices.Backward(m.versions[key]) {
		if kv.ModRevision <= revision && kv.CreateRevision > 0 {
			return kv
		} else if kv.ModRevision <= revision {
			return nil
		}
	}
	return nil
}

// between returns the keys that exist of an operation.
func (m *memory) between(op clientv3.Op) (keys []string) {
	begin, end := string(op.KeyBytes()), string(op.RangeBytes())
	first, _ := slices.BinarySearch(m.keys, begin)
	for _, key := range m.keys[first:] {
		if key != begin && key >= end {
			break
		}
		if m.at(key, cmp.Or(op.Rev(), m.revision)) != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

func (m *memory) read(op clientv3.Op) *etcdserverpb.RangeResponse {
	keys := m.between(op)
	answer := &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{Revision: m.revision}, Count: int64(len(keys))}
	if limit := int(op.Limit()); limit > 0 && len(keys) > limit {
		keys, answer.More = keys[:limit], true
	}
	if op.IsCountOnly() {
		return answer
	}
	for _, key := range keys {
		kv := m.at(key, cmp.Or(op.Rev(), m.revision))
		answer.Kvs = append(answer.Kvs, &mvccpb.KeyValue{
			Key: []byte(key), Value: bytes.Clone(kv.Value), CreateRevision: kv.CreateRevision, ModRevision: kv.ModRevision, Lease: kv.Lease,
		})
	}
	return answer
}

// write adds a version of a key. One that does not exist has no CreateRevision.
func (m *memory) write(key string, op clientv3.Op, revision int64) {
	kv, kind := &mvccpb.KeyValue{Key: []byte(key), ModRevision: revision}, clientv3.EventTypeDelete
	if op.IsPut() {
		kind, kv.Value, kv.CreateRevision = clientv3.EventTypePut, op.ValueBytes(), revision
		kv.Lease = int64(leaseOf(op))
		if before := m.at(key, revision); before != nil {
			kv.CreateRevision = before.CreateRevision
		}
	}
	if i, known := slices.BinarySearch(m.keys, key); !known {
		m.keys = slices.Insert(m.keys, i, key)
	}
	m.versions[key] = append(m.versions[key], kv)
	m.events = append(m.events, &clientv3.Event{Type: kind, Kv: kv})
}

// Watch implements [clientv3.Watcher].
func (m *memory) Watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	op, answers := clientv3.OpGet(key, options...), make(chan clientv3.WatchResponse)
	go func() {
		defer close(answers)
		for next := op.Rev(); ; {
			m.mu.Lock()
			first, _ := slices.BinarySearchFunc(m.events, next, func(e *clientv3.Event, at int64) int { return cmp.Compare(e.Kv.ModRevision, at) })
			var events []*clientv3.Event
			for _, e := range m.events[first:] {
				if at := string(e.Kv.Key); at >= key && at < string(op.RangeBytes()) {
					events = append(events, e)
				}
			}
			changed := m.changed
			next = m.revision + 1
			m.mu.Unlock()
			if len(events) > 0 {
				select {
				case answers <- clientv3.WatchResponse{Events: events}:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return answers
}

// TestTheStoreKeepsItsPromisesOnAnEtcdInMemory is the part of TestTheStoreOnAClusterKeepsItsPromises that needs neither
// a server nor a clock.
func TestTheStoreKeepsItsPromisesOnAnEtcdInMemory(t *testing.T) {
	for _, single := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			open := func() *Store {
				s, err := newStore("", nil)
				require.NoError(t, err)
				s.client, s.single, s.stop = &clientv3.Client{KV: m, Watcher: m}, single, func() error { return nil }
				return s
			}
			a, b := open(), open()
			require.NoError(t, storetest.Check(a, b))
			require.NoError(t, a.Close())
			require.NoError(t, b.Close())
		})
	}
}

// TestAWriteIsRefusedIfTheRecordHasChangedSinceItWasRead lets another writer be first, between the read and the
// transaction of a write.
func TestAWriteIsRefusedIfTheRecordHasChangedSinceItWasRead(t *testing.T) {
	record := conductor.Record{Kind: "nodes", ID: "a", Keys: []string{"name of a"}, Value: []byte("{}")}
	other := conductor.Record{Kind: "nodes", ID: "b", Keys: []string{"name of b"}, Value: []byte("{}")}
	update := func(s *Store, r conductor.Record) error { _, err := s.Update(context.Background(), r); return err }
	remove := func(s *Store, r conductor.Record) error {
		_, err := s.Delete(context.Background(), r.Kind, r.ID, r.Revision)
		return err
	}
	create := func(s *Store, _ conductor.Record) error { _, err := s.Create(context.Background(), other); return err }
	take := func(s *Store, r conductor.Record) error {
		r.Keys = other.Keys
		return update(s, r)
	}
	for name, test := range map[string]struct {
		first, second func(*Store, conductor.Record) error
		want          error // nil for a DuplicateError
	}{
		"two updates":                         {update, update, conductor.ErrConflict},
		"an update after a deletion":          {remove, update, conductor.NotFound},
		"a deletion after an update":          {update, remove, conductor.ErrConflict},
		"two deletions":                       {remove, remove, conductor.NotFound},
		"two creations":                       {create, create, nil},
		"a creation with a key that is taken": {take, create, nil},
		"an update with a key that is taken":  {create, take, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			s, err := newStore("", nil)
			require.NoError(t, err)
			s.client = &clientv3.Client{KV: m, Watcher: m}
			r := record
			r.Revision, err = s.Create(t.Context(), r)
			require.NoError(t, err)
			m.meanwhile = func() { require.NoError(t, test.first(s, r)) }
			if err := test.second(s, r); test.want != nil {
				require.ErrorIs(t, err, test.want)
			} else {
				require.ErrorAs(t, err, new(*conductor.DuplicateError))
			}
		})
	}
}
