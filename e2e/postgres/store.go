// SPDX-License-Identifier: Apache-2.0

// Package postgres has a store and a membership on PostgreSQL. It is no part of the product, whose store is package
// conductor/etcd. It shows how to implement both interfaces of package conductor, and is made to be copied: it imports
// no internal package. For one conductor the store is enough; each of several has a [Membership] in its configuration.
//
// The file schema.sql has the tables, and the function that does each write. A slow watch needs no queue: it reads the
// records with higher revisions than the last that it has read, when a notification wakes it and once a second.
package postgres

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ironstate/ironstate/conductor"
)

//go:embed schema.sql
var schema string

const (
	// requestTimeout bounds each request of a store.
	requestTimeout = 10 * time.Second
	// pollInterval is the period at which a watch reads without a notification, which a connection may lose.
	pollInterval = time.Second
	// pageSize is the number of records that a watch reads at a time.
	pageSize = 200
	// keptRevisions is the number of revisions for which deletions are kept for the watches.
	keptRevisions = 100_000
)

// Store is a [conductor.Store] in a PostgreSQL database. Several processes may share it. It is safe for concurrent use.
// Each watch has a connection of its own, besides the connections of the pool. A kind has at most 50 bytes, since it is
// part of the name of a notification channel.
type Store struct{ pool *pgxpool.Pool }

// Open opens the database of a configuration, and creates the tables if they are absent. The caller closes the store.
func Open(ctx context.Context, config *pgxpool.Config) (*Store, error) {
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	if _, err := pool.Exec(ctx, schema); err != nil {
		pool.Close()
		return nil, fmt.Errorf("create the tables: %w", err)
	}
	return &Store{pool}, nil
}

// Close closes the connections of requests. The caller ends the watches before.
func (s *Store) Close() { s.pool.Close() }

// query returns the rows of a query on the pool or a connection. The columns are the fields of T in their order.
func query[T any](ctx context.Context, on interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
}, sql string, args ...any) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	rows, _ := on.Query(ctx, sql, args...) // the rows have the error, too
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}

// Get implements [conductor.Store].
func (s *Store) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	name, _ := json.Marshal(key) // a string has no error
	found, err := query[conductor.Record](ctx, s.pool, `select r.* from names n join records r on r.kind = n.kind and r.id = n.id
		where n.kind = $1 and n.name = $2`, kind, string(name))
	if err == nil && len(found) == 0 {
		err = conductor.NotFound
	}
	if err != nil {
		return conductor.Record{}, fmt.Errorf("get %s %s: %w", kind, key, err)
	}
	return found[0], nil
}

// List implements [conductor.Store].
func (s *Store) List(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
	page, err := query[conductor.Record](ctx, s.pool, `select * from records
		where kind = $1 and id > $2 and value is not null order by id limit $3`, kind, after, max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	return page, nil
}

// Create implements [conductor.Store].
func (s *Store) Create(ctx context.Context, r conductor.Record) (int64, error) {
	return s.write(ctx, "create", r, nil, append([]byte{}, r.Value...))
}

// Update implements [conductor.Store].
func (s *Store) Update(ctx context.Context, r conductor.Record) (int64, error) {
	return s.write(ctx, "update", r, &r.Revision, append([]byte{}, r.Value...))
}

// Delete implements [conductor.Store].
func (s *Store) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
	return s.write(ctx, "delete", conductor.Record{Kind: kind, ID: id}, &revision, nil)
}

// write calls write_record of the database, in which expected is nil to create a record, and value is nil to delete it.
func (s *Store) write(ctx context.Context, verb string, r conductor.Record, expected *int64, value []byte) (int64, error) {
	names := append([]string{r.ID}, r.Keys...)
	result, err := query[struct {
		Outcome         string
		Revision, Taken int64
	}](ctx, s.pool, "select outcome, written, coalesce(taken, 0) from write_record($1, $2, $3, $4, $5, $6, $7)",
		r.Kind, r.ID, expected, r.Keys, names, value, keptRevisions)
	switch {
	case err != nil:
	case result[0].Outcome == "notfound":
		err = conductor.NotFound
	case result[0].Outcome == "conflict":
		err = conductor.ErrConflict
	case result[0].Outcome == "duplicate":
		err = &conductor.DuplicateError{Kind: r.Kind, Key: names[result[0].Taken]}
	default:
		return result[0].Revision, nil
	}
	return 0, fmt.Errorf("%s %s %s: %w", verb, r.Kind, r.ID, err)
}

// Watch implements [conductor.Store].
func (s *Store) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	return func(yield func(conductor.Change, error) bool) {
		if err := s.follow(ctx, kind, yield); err != nil && ctx.Err() == nil {
			yield(conductor.Change{}, fmt.Errorf("watch %s: %w", kind, err))
		}
	}
}

// follow does the work of Watch, and returns its error.
func (s *Store) follow(ctx context.Context, kind conductor.Kind, yield func(conductor.Change, error) bool) error {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{"ironstate " + string(kind)}.Sanitize()); err != nil {
		return err
	}
	// The last revision when the watch began, -1 before it is known, and the revision up to which it has yielded all
	// changes.
	begin, after := int64(-1), int64(0)
	for synced := false; ; {
		rows, err := query[struct {
			conductor.Record // without an ID if there is none
			Now              int64
		}](ctx, conn, `select $1::text, coalesce(r.id, ''), r.keys, coalesce(r.revision, 0), r.value, c.revision from counter c left join (
			select * from records where kind = $1 and revision > $2 order by revision limit $3) r on true order by r.revision`,
			kind, after, pageSize)
		if err != nil {
			return err
		}
		now := rows[0].Now
		switch {
		case begin < 0:
			begin = now
		case max(begin, after) < now-keptRevisions: // deletions may be missing
			return fmt.Errorf("the watch is more than %d revisions behind", keptRevisions)
		}
		for _, r := range rows {
			change := conductor.Change{Record: r.Record, Deleted: r.Value == nil}
			if r.ID == "" || change.Deleted && r.Revision <= begin {
				continue
			}
			if ctx.Err() != nil || !yield(change, nil) {
				return nil
			}
		}
		if len(rows) == pageSize {
			after = rows[pageSize-1].Revision
			continue
		}
		after = now
		if !synced && !yield(conductor.Change{Synced: true}, nil) {
			return nil
		}
		synced = true
		waiting, cancel := context.WithTimeout(ctx, pollInterval)
		_, _ = conn.WaitForNotification(waiting) // if the connection is lost, the next query says so
		cancel()
	}
}
