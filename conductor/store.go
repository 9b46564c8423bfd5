// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/ironstate/ironstate/powersync"
)

// Kind is the name of a kind of record, such as "nodes". It is usable as a path segment.
type Kind string

// Record is a stored record. Keys and Value must not be modified after the record was passed
// to, or returned by, a [Store].
type Record struct {
	Kind Kind
	ID   string // unique in its Kind; a UUID
	// Keys are other names of the record, such as "name=rack1-7". No two records of a
	// Kind share an ID or a key. A [Store] accepts any non-empty UTF-8 text as a key, and
	// at least 16 keys.
	Keys []string
	// Revision is assigned by the store. It is at least 1 and grows with each write of the
	// record.
	Revision int64
	// Value is arbitrary. A [Store] accepts at least 1 MiB.
	Value []byte
}

// Change is a write that a [Store] reports to its watchers.
type Change struct {
	// Record is the record as it was written. For a deletion it has only the Kind, the ID
	// and the Revision of the deletion.
	Record  Record
	Deleted bool
	// Synced is true in one Change without a Record: all records that existed when the
	// watch began, and still exist, have been yielded.
	Synced bool
}

// ErrConflict says that the record has changed since it was read. A [Store] returns it
// from Update and Delete. It is [powersync.ErrConflict].
var ErrConflict = powersync.ErrConflict

// ErrTooLarge says that the store never accepts the record, since it is too large. A [Store] returns it, or an error
// that matches it, from Create and Update. A request that needs such a record is refused with the HTTP status 413; work
// that needs one fails, and stores only that.
var ErrTooLarge error = tooLargeError{}

type tooLargeError struct{}

func (tooLargeError) Error() string { return "the record is too large for the store" }

// HTTPStatus returns the status of an API's response.
func (tooLargeError) HTTPStatus() int { return http.StatusRequestEntityTooLarge }

// DuplicateError names a key that another record of the kind already has. A [Store]
// returns it from Create and Update.
type DuplicateError struct {
	Kind Kind
	Key  string // the record's ID, or one of its Keys
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("another record of the kind %s has the key %q", e.Kind, e.Key)
}

// Store holds the records of a fleet. Its methods are safe for concurrent use, by several
// processes if the store has several conductors. Writes are atomic. In a durable store a
// write is on disk when the method has returned without an error. After an error other than
// NotFound, ErrConflict, ErrTooLarge and a [*DuplicateError] the outcome of the write is unknown.
// [Memory] is a Store; package storetest, below, checks other implementations.
type Store interface {
	// Get returns a record by its ID or one of its keys, or an error that matches NotFound. The result includes every
	// write that has returned.
	Get(ctx context.Context, kind Kind, key string) (Record, error)
	// List returns up to limit records in byte order of their IDs, starting after the ID
	// named, which need not exist; "" starts with the first record. It returns fewer than
	// limit records only if no more exist.
	List(ctx context.Context, kind Kind, after string, limit int) ([]Record, error)
	// Create stores a new record and returns its revision; it ignores r.Revision. The
	// revision is greater than any deleted record's with the same ID.
	Create(ctx context.Context, r Record) (revision int64, err error)
	// Update replaces the record with r.ID if the stored one has r.Revision, and
	// returns the new revision.
	Update(ctx context.Context, r Record) (revision int64, err error)
	// Delete removes the record if it has the revision, and returns the revision of the
	// deletion, which is greater than every revision of the record.
	Delete(ctx context.Context, kind Kind, id string, revision int64) (int64, error)
	// Watch yields the stored records of a kind, then a Change with Synced, then the
	// changes as they happen, until the context ends, which is no error, or the caller
	// leaves the range. It yields nothing of a record that was deleted before it began.
	// Changes of one record are yielded in the order of their revisions;
	// of several changes the watch may yield only the last, also if that is the deletion of a
	// record that it has not yielded: its creator knows it from elsewhere. A watch that has lost a
	// change, as after a compaction of the store's history, ends with an error.
	// Get returns a record that is at least as new as the one that the watch has yielded, and no
	// record that was deleted before the watch began. A slow caller delays no write. A store
	// whose records can be read by revision needs no queue for it: a watch reads those with
	// higher revisions than it has yielded, when a write wakes it.
	// After an error the range ends, and the caller may start another watch.
	Watch(ctx context.Context, kind Kind) iter.Seq2[Change, error]
}
