// SPDX-License-Identifier: Apache-2.0

// Package storetest helps to test implementations of [conductor.Store] and [conductor.Membership].
//
// [Check] checks that a store keeps the contract of the interface, as testing/fstest does for
// file systems:
//
//	func TestStore(t *testing.T) {
//		if err := storetest.Check(open(t)); err != nil {
//			t.Error(err)
//		}
//	}
//
// [CheckMembership] checks a membership in two processes, one of which is cut off and suspended.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/kit"
	"github.com/ironstate/ironstate/internal/try"
)

// patience bounds the check of one promise, and grace the time until a method returns after its context has ended.
const patience, grace = time.Minute, 10 * time.Second

// Check checks an empty store and returns an error that lists each promise that the store breaks, or nil. For a store
// that several processes share, pass one more handle for each further process. Check takes about as long as ten
// thousand writes. It ends at the first promise that is broken after more than a minute, as by a method that does not
// return. The error says so.
func Check(store conductor.Store, more ...conductor.Store) error {
	var all []kit.Promise
	for i, promise := range promised {
		all = append(all, kit.Promise{Name: promise.name, Check: func(ctx context.Context) error {
			stores := append([]conductor.Store{store}, more...)
			t := &tester{stores: stores, kind: conductor.Kind(fmt.Sprintf("storetest-%d", i))}
			return try.Catch(func() { promise.check(t, ctx) })
		}})
	}
	return kit.Check(patience, all)
}

var promised = []struct {
	name  string
	check func(*tester, context.Context)
}{
	{"a record is stored as written", (*tester).checkContent},
	{"a record that does not exist is not found", (*tester).checkNotFound},
	{"no two records of a kind share an ID or a key", (*tester).checkUnique},
	{"an update replaces the keys", (*tester).checkKeysReplaced},
	{"a deletion leaves nothing of the record", (*tester).checkDeleted},
	{"a write needs the current revision", (*tester).checkRevision},
	{"a write that fails changes nothing", (*tester).checkFailedWrite},
	{"revisions grow", (*tester).checkRevisionsGrow},
	{"kinds are independent", (*tester).checkKinds},
	{"of several concurrent updates one succeeds", (*tester).checkUpdateRace},
	{"no update is lost", (*tester).checkCounter},
	{"of several concurrent creates with one key one succeeds", (*tester).checkCreateRace},
	{"of a concurrent update and deletion one succeeds", (*tester).checkDeleteRace},
	{"a contested key belongs to one record", (*tester).checkKeyRace},
	{"a list has each record once, in order", (*tester).checkList},
	{"a list during writes has each record that exists throughout", (*tester).checkListDuringWrites},
	{"a watch yields all records, then Synced, then the changes", (*tester).checkWatch},
	{"a watch yields only records of its kind", (*tester).checkWatchKind},
	{"a slow watcher delays no write and receives the last one", (*tester).checkSlowWatcher},
	{"a watch yields each deletion, also of a record that it has not yielded", (*tester).checkUnseenDeletion},
	{"watches yield what was stored, in the order of revisions", (*tester).checkWatchDuringWrites},
	{"a record that a watch has yielded can be read", (*tester).checkWatchedIsRead},
	{"a watch ends with its context, without an error", (*tester).checkWatchEnds},
	{"a caller may leave a watch", (*tester).checkWatchLeft},
	{"no method waits after its context has ended", (*tester).checkContext},
}

// tester checks one promise on records of a separate kind.
type tester struct {
	stores []conductor.Store // handles on the same records
	kind   conductor.Kind
	turn   int
}

// each calls body for each value of a range, until it reports false. The range yields no error. If body ends the check,
// the range is left first, as by break: a panic would unwind the iterator, which need not be made for that.
func each[T any](values iter.Seq2[T, error], body func(T) bool) {
	var failure error
	for value, err := range values {
		more := false
		failure = try.Catch(func() {
			try.OK(err)
			more = body(value)
		})
		if !more {
			break
		}
	}
	try.OK(failure)
}

// guarded calls f, and returns the error with which it ends. A panic is such an error, also in a goroutine of the
// check.
func guarded(f func()) error {
	_, err := boundedcall.Do(context.Background(), 0, func(context.Context) (struct{}, error) { return struct{}{}, try.Catch(f) })
	return err
}

// store returns the handles in turn.
func (t *tester) store() conductor.Store {
	t.turn++
	return t.stores[t.turn%len(t.stores)]
}

// id returns the nth UUID. The UUIDs sort in the order of n.
func id(n int) string { return fmt.Sprintf("%08x-feed-4bed-8bad-%012x", n, n) }

func (t *tester) record(n int, keys ...string) conductor.Record {
	return conductor.Record{Kind: t.kind, ID: id(n), Keys: keys, Value: fmt.Appendf(nil, `{"number":%d}`, n)}
}

// create creates a record and returns it with its revision.
func (t *tester) create(ctx context.Context, r conductor.Record) conductor.Record {
	revision, err := t.store().Create(ctx, r)
	try.OKf(err, "create")
	r.Revision = revision
	return r
}

// update updates a record and returns it with its new revision.
func (t *tester) update(ctx context.Context, r conductor.Record) conductor.Record {
	revision, err := t.store().Update(ctx, r)
	try.OKf(err, "update")
	r.Revision = revision
	return r
}

func (t *tester) delete(ctx context.Context, r conductor.Record) int64 {
	revision, err := t.store().Delete(ctx, r.Kind, r.ID, r.Revision)
	try.OKf(err, "delete")
	return revision
}

// refused checks that neither an update nor a deletion of a record succeeds. The texts name them in errors.
func (t *tester) refused(ctx context.Context, r conductor.Record, want error, update, deletion string) {
	_, err := t.store().Update(ctx, r)
	try.OKf(wantError(want, err), "%s", update)
	_, err = t.store().Delete(ctx, r.Kind, r.ID, r.Revision)
	try.OKf(wantError(want, err), "%s", deletion)
}

// stored checks that every handle returns the record, by its ID and by each key.
func (t *tester) stored(ctx context.Context, want conductor.Record) {
	for _, s := range t.stores {
		for _, key := range append([]string{want.ID}, want.Keys...) {
			r, err := s.Get(ctx, want.Kind, key)
			try.OKf(err, "get %q", key)
			try.OKf(same(want, r), "get %q", key)
		}
		page, err := s.List(ctx, want.Kind, "", 10)
		try.OKf(err, "list")
		i := slices.IndexFunc(page, func(r conductor.Record) bool { return r.ID == want.ID })
		if i < 0 {
			try.Failf("list: want %s, which Get returns, got %s", brief(want), briefs(page))
		}
		try.OKf(same(want, page[i]), "list")
	}
}

// absent checks that no handle returns a record for the key.
func (t *tester) absent(ctx context.Context, key string) {
	for _, s := range t.stores {
		if r, err := s.Get(ctx, t.kind, key); !errors.Is(err, conductor.NotFound) {
			try.Failf("get %q: want NotFound, got %s, %v", key, brief(r), err)
		}
	}
}

// same returns an error if the records differ. The order of the keys does not matter.
func same(want, got conductor.Record) error {
	if want.Kind == got.Kind && want.ID == got.ID && want.Revision == got.Revision &&
		bytes.Equal(want.Value, got.Value) && slices.Equal(slices.Sorted(slices.Values(want.Keys)), slices.Sorted(slices.Values(got.Keys))) {
		return nil
	}
	return fmt.Errorf("want %s, got %s", brief(want), brief(got))
}

// brief returns the form of a record in errors.
func brief(r conductor.Record) string {
	value := fmt.Sprintf("%q", r.Value)
	if len(r.Value) > 100 {
		value = fmt.Sprintf("%q... (%d bytes)", r.Value[:100], len(r.Value))
	}
	return fmt.Sprintf("{%s %s keys %q revision %d value %s}", r.Kind, r.ID, r.Keys, r.Revision, value)
}

func briefs(records []conductor.Record) string {
	var b bytes.Buffer
	for i, r := range records {
		if i == 5 {
			fmt.Fprintf(&b, " and %d more", len(records)-i)
			break
		}
		b.WriteString(" " + brief(r))
	}
	return fmt.Sprintf("[%s]", bytes.TrimSpace(b.Bytes()))
}

// wantDuplicate checks that a write was refused because of the key.
func wantDuplicate(err error, kind conductor.Kind, key string) error {
	var duplicate *conductor.DuplicateError
	if !errors.As(err, &duplicate) || duplicate.Kind != kind || duplicate.Key != key {
		return fmt.Errorf("want a *DuplicateError of %s with the key %q, got %w", kind, key, orNone(err))
	}
	return nil
}

// wantError checks that a method returned an error.
func wantError(want, got error) error {
	if !errors.Is(got, want) {
		return fmt.Errorf("want %q, got %w", want, orNone(got))
	}
	return nil
}

var errNone = errors.New("no error")

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}
