package conductor

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Kind names a kind of record, in a word that may stand in a path: "nodes".
type Kind string

// Record is a stored record. It is a value whose Keys and Value are not to be
// changed once it was given away.
type Record struct {
	Kind Kind
	ID   string // unique in its Kind; a UUID
	// Keys are other names of the record, such as "name=rack1-7". No two records of
	// a Kind have an ID or a key in common. A [Store] takes any UTF-8 text that
	// is not empty, and 16 keys at least.
	Keys []string
	// Revision is the store's, which gives a record a greater one with each write.
	// It is never below 1.
	Revision int64
	// Value is any bytes. A [Store] takes 1 MiB at least.
	Value []byte
}

// Change is a write that a [Store] reports to its watchers.
type Change struct {
	// Record is the record as it was written. Of one that was deleted it has Kind,
	// ID, and the Revision of the deletion.
	Record  Record
	Deleted bool
	// Synced says, in a Change without a Record, that all records which were there
	// when the range began, and still are, have been yielded.
	Synced bool
}

var (
	// ErrNotFound: the store has no such record. A [Store] returns it.
	ErrNotFound = errors.New("no such record")
	// ErrConflict: the record has changed since it was read. A [Store] returns it
	// from Update and Delete.
	ErrConflict = errors.New("record has changed since it was read")
)

// DuplicateError says which key of a record another one of its kind has already. A
// [Store] returns it from Create and Update.
type DuplicateError struct {
	Kind Kind
	Key  string // the record's ID, or one of its Keys
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("another record of the kind %s has the key %q", e.Kind, e.Key)
}

// Store has the records of a fleet. Its methods are safe for concurrent use, by
// several processes where it is to have several conductors. Each write is done as
// a whole or not at all, and is on disk when the method has returned without an
// error, if it is to outlive the process. An error that is none of the three above
// leaves it open whether the write was done. [Memory] is a Store; package
// storetest, below, checks others.
type Store interface {
	// Get returns a record by its ID or one of its keys, as the last write that has
	// returned left it.
	Get(ctx context.Context, kind Kind, key string) (Record, error)
	// List returns up to limit records in the order of their IDs, byte by byte,
	// beginning after the ID named, whether there is such a record or not; empty
	// begins with the first. It returns fewer only where there are no more.
	List(ctx context.Context, kind Kind, after string, limit int) ([]Record, error)
	// Create stores a new record, whose own Revision does not matter, and returns the
	// revision that it has. This is greater than any that a record with the same ID
	// had before it was deleted.
	Create(ctx context.Context, r Record) (revision int64, err error)
	// Update replaces the record with r.ID if the stored one has r.Revision, and
	// returns the new revision.
	Update(ctx context.Context, r Record) (revision int64, err error)
	// Delete removes the record if it has the revision, and returns the revision of
	// the deletion, which is greater than any that the record had.
	Delete(ctx context.Context, kind Kind, id string, revision int64) (int64, error)
	// Watch ranges over the records of a kind and then, after a Change that says
	// Synced, over the changes to them, until the context ends, which is no error,
	// or the caller leaves. Changes of one record come in the order of their
	// revisions; several may come as the last one. A caller that is slow delays no
	// write. After an error the range ends, and the caller may begin another.
	Watch(ctx context.Context, kind Kind) iter.Seq2[Change, error]
}
