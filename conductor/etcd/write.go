// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
)

// Create implements [conductor.Store].
func (s *Store) Create(ctx context.Context, r conductor.Record) (int64, error) {
	revision, err := s.write(ctx, "create", r, func(ctx context.Context, w *write) error {
		w.claim(r.ID)
		w.put(uniqueKeys(r), nil)
		return nil
	})
	return revision, err
}

// Update implements [conductor.Store].
func (s *Store) Update(ctx context.Context, r conductor.Record) (int64, error) {
	return s.write(ctx, "update", r, func(ctx context.Context, w *write) error {
		old, err := s.current(ctx, r)
		if err != nil {
			return err
		}
		w.unchanged()
		w.put(minus(uniqueKeys(r), uniqueKeys(old)), minus(uniqueKeys(old), uniqueKeys(r)))
		return nil
	})
}

// Delete implements [conductor.Store].
func (s *Store) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
	r := conductor.Record{Kind: kind, ID: id, Revision: revision}
	return s.write(ctx, "delete", r, func(ctx context.Context, w *write) error {
		old, err := s.current(ctx, r)
		if err != nil {
			return err
		}
		w.unchanged()
		w.then = append(w.then, clientv3.OpDelete(w.layout.record(kind, id)))
		w.release(uniqueKeys(old))
		return nil
	})
}

// write is a transaction on one record. It executes then if all comparisons in when hold, otherwise
// or.
type write struct {
	layout layout
	record conductor.Record
	value  string
	when   []clientv3.Cmp
	then   []clientv3.Op
	// or reads the keys of when, one read for each comparison. found has a function for each
	// read, which returns an error if that comparison does not hold.
	or    []clientv3.Op
	found []func(now []*mvccpb.KeyValue) error
}

// write builds and executes a transaction, and returns its revision.
func (s *Store) write(ctx context.Context, verb string, r conductor.Record, build func(context.Context, *write) error) (int64, error) {
	revision, err := s.tryWrite(ctx, r, verb == "delete", build)
	if err != nil {
		return 0, fmt.Errorf("%s %s %s: %w", verb, r.Kind, r.ID, err)
	}
	return revision, nil
}

func (s *Store) tryWrite(ctx context.Context, r conductor.Record, deletes bool, build func(context.Context, *write) error) (int64, error) {
	if err := check(r); err != nil {
		return 0, err
	}
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if s.local && !deletes && s.monitor.health().full {
		return 0, ErrNoSpace // before it fills etcd's log: etcd refuses a write only when it has been replicated
	}
	w := &write{layout: s.layout, record: r}
	if w.value, err = encode(r); err != nil {
		return 0, err
	}
	if err := build(ctx, w); err != nil {
		return 0, err
	}
	answer, err := s.client.Txn(ctx).If(w.when...).Then(w.then...).Else(w.or...).Commit()
	err = writeFailure(ctx, r, err)
	if !s.local && !(deletes && err == nil) { // servers without space delete
		s.monitor.noteWrite(err)
	}
	if err != nil {
		return 0, err
	}
	if !answer.Succeeded {
		return 0, w.refused(answer)
	}
	return answer.Header.Revision, nil
}

// unchanged requires that the stored record has the revision in w.record.
func (w *write) unchanged() {
	key := w.layout.record(w.record.Kind, w.record.ID)
	w.when = append(w.when, clientv3.Compare(clientv3.ModRevision(key), "=", w.record.Revision))
	w.or = append(w.or, clientv3.OpGet(key, clientv3.WithKeysOnly()))
	w.found = append(w.found, func(now []*mvccpb.KeyValue) error {
		switch {
		case len(now) == 0:
			return conductor.NotFound
		case now[0].ModRevision != w.record.Revision:
			return conductor.ErrConflict
		}
		return nil
	})
}

// claim requires that no record of the kind has the key as its ID or as one of its keys.
func (w *write) claim(key string) {
	kind := w.record.Kind
	for _, k := range []string{w.layout.record(kind, key), w.layout.key(kind, key)} {
		w.when = append(w.when, clientv3.Compare(clientv3.CreateRevision(k), "=", 0))
		w.or = append(w.or, clientv3.OpGet(k, clientv3.WithKeysOnly()))
		w.found = append(w.found, func(now []*mvccpb.KeyValue) error {
			if len(now) == 0 {
				return nil
			}
			return &conductor.DuplicateError{Kind: kind, Key: key}
		})
	}
}

// put writes the record, creates the gained keys, which must be free, and deletes the lost ones.
func (w *write) put(gained, lost []string) {
	w.then = append(w.then, clientv3.OpPut(w.layout.record(w.record.Kind, w.record.ID), w.value))
	for _, key := range gained {
		w.claim(key)
		w.then = append(w.then, clientv3.OpPut(w.layout.key(w.record.Kind, key), w.record.ID))
	}
	w.release(lost)
}

func (w *write) release(keys []string) {
	for _, key := range keys {
		w.then = append(w.then, clientv3.OpDelete(w.layout.key(w.record.Kind, key)))
	}
}

// refused returns the reason for which the transaction was refused.
func (w *write) refused(answer *clientv3.TxnResponse) error {
	for i, found := range w.found {
		if err := found(answer.Responses[i].GetResponseRange().Kvs); err != nil {
			return err
		}
	}
	return errors.New("etcd refused the transaction although all its comparisons hold")
}

// current returns the stored record if it has r's revision. It first reads from one server, which
// may lag behind the others: this is safe, because the content of a revision never changes.
func (s *Store) current(ctx context.Context, r conductor.Record) (conductor.Record, error) {
	key := s.layout.record(r.Kind, r.ID)
	answer, err := s.client.Get(ctx, key, clientv3.WithSerializable())
	if err == nil && !s.single && (len(answer.Kvs) == 0 || answer.Kvs[0].ModRevision != r.Revision) {
		answer, err = retryRead(ctx, s, func() (*clientv3.GetResponse, error) { return s.client.Get(ctx, key) })
	}
	switch {
	case err != nil:
		return r, failure(ctx, err)
	case len(answer.Kvs) == 0:
		return r, conductor.NotFound
	case answer.Kvs[0].ModRevision != r.Revision:
		return r, conductor.ErrConflict
	}
	return s.layout.decode(r.Kind, answer.Kvs[0])
}

// uniqueKeys returns the record's keys, each once, without its ID.
func uniqueKeys(r conductor.Record) []string {
	keys := slices.DeleteFunc(slices.Clone(r.Keys), func(key string) bool { return key == r.ID })
	slices.Sort(keys)
	return slices.Compact(keys)
}

// minus returns the elements of a that are not in b.
func minus(a, b []string) []string {
	var rest []string
	for _, key := range a {
		if !slices.Contains(b, key) {
			rest = append(rest, key)
		}
	}
	return rest
}
