// SPDX-License-Identifier: Apache-2.0

// Package postgres has a store and a membership on PostgreSQL. It is no part of the product, whose store is package
// conductor/etcd: it shows that both interfaces of package conductor can be implemented outside this project, and is
// made to be copied.
//
// PostgreSQL itself keeps the changes that a slow watch has not read yet: a watch reads the records with higher
// revisions than the last that it has read, when a notification wakes it and once a second.
package postgres

import (
	"context"
	_ "embed"
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

// errLag says that a watch has missed deletions, because it was read too slowly.
var errLag = fmt.Errorf("the watch is more than %d revisions behind", keptRevisions)

// Store is a [conductor.Store] in a PostgreSQL database. Several processes may share it. It is safe for concurrent use.
// Each watch has a connection of its own, besides the connections of the pool.
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

// columns are the columns that query reads.
const columns = "r.id, r.keys, r.revision, r.value"

// texts returns the keys of a record.
func texts(keys [][]byte) []string {
	var all []string
	for _, key := range keys {
		all = append(all, string(key))
	}
	return all
}

// query returns the records of a query.
func (s *Store) query(ctx context.Context, kind conductor.Kind, sql string, args ...any) ([]conductor.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (conductor.Record, error) {
		r := conductor.Record{Kind: kind}
		var keys [][]byte
		err := row.Scan(&r.ID, &keys, &r.Revision, &r.Value)
		r.Keys = texts(keys)
		return r, err
	})
}

// Get implements [conductor.Store].
func (s *Store) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	found, err := s.query(ctx, kind, "select "+columns+` from names n join records r on r.kind = n.kind and r.id = n.id
		where n.kind = $1 and n.name = $2`, kind, []byte(key))
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
	page, err := s.query(ctx, kind, "select "+columns+` from records r
		where r.kind = $1 and r.id > $2 and r.value is not null order by r.id limit $3`, kind, after, max(limit, 0))
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

// write calls the function write_record of the database.
func (s *Store) write(ctx context.Context, verb string, r conductor.Record, expected *int64, value []byte) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	keys := make([][]byte, len(r.Keys))
	for i, key := range r.Keys {
		keys[i] = []byte(key)
	}
	var outcome string
	var revision int64
	var taken []byte
	err := s.pool.QueryRow(ctx, "select outcome, written, taken from write_record($1, $2, $3, $4, $5, $6)",
		r.Kind, r.ID, expected, keys, value, keptRevisions).Scan(&outcome, &revision, &taken)
	switch outcome {
	case "notfound":
		err = conductor.NotFound
	case "conflict":
		err = conductor.ErrConflict
	case "duplicate":
		err = &conductor.DuplicateError{Kind: r.Kind, Key: string(taken)}
	}
	if err != nil {
		return 0, fmt.Errorf("%s %s %s: %w", verb, r.Kind, r.ID, err)
	}
	return revision, nil
}

// Watch implements [conductor.Store].
func (s *Store) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	return func(yield func(conductor.Change, error) bool) {
		if err := s.follow(ctx, kind, yield); err != nil && ctx.Err() == nil {
			yield(conductor.Change{}, fmt.Errorf("watch %s: %w", kind, err))
		}
	}
}

// follow yields the records of a kind and their changes until the context ends, the caller leaves, or the connection is
// lost.
func (s *Store) follow(ctx context.Context, kind conductor.Kind, yield func(conductor.Change, error) bool) error {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "listen ironstate"); err != nil {
		return err
	}
	// The last revision when the watch began, and the revision up to which it has yielded all changes. As long as the
	// database is empty, begin remains 0: no deletion is older.
	var begin, after int64
	for synced := false; ; {
		page, now, err := changesAfter(ctx, conn, kind, after)
		switch {
		case err != nil:
			return err
		case begin == 0:
			begin = now
		case max(begin, after) < now-keptRevisions:
			return errLag
		}
		for _, c := range page {
			if c.Deleted && c.Record.Revision <= begin {
				continue
			}
			if ctx.Err() != nil || !yield(c, nil) {
				return nil
			}
		}
		if len(page) == pageSize {
			after = page[pageSize-1].Record.Revision
			continue
		}
		after = now
		if !synced && !yield(conductor.Change{Synced: true}, nil) {
			return nil
		}
		synced = true
		awaitChange(ctx, conn, kind)
	}
}

// awaitChange returns after a notification of a change of a kind, after pollInterval, and when the context has ended or
// the connection is lost.
func awaitChange(ctx context.Context, conn *pgx.Conn, kind conductor.Kind) {
	ctx, cancel := context.WithTimeout(ctx, pollInterval)
	defer cancel()
	for {
		if n, err := conn.WaitForNotification(ctx); err != nil || n.Payload == string(kind) {
			return
		}
	}
}

// changesAfter returns the first changes of a kind with revisions after the given one, and the last revision of all.
func changesAfter(
	ctx context.Context, conn *pgx.Conn, kind conductor.Kind, after int64,
) (page []conductor.Change, now int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	rows, err := conn.Query(ctx, "select c.revision, "+columns+` from counter c left join (
		select * from records where kind = $1 and revision > $2 order by revision limit $3) r on true order by r.revision`, kind, after, pageSize)
	if err != nil {
		return nil, 0, err
	}
	var id *string
	var keys [][]byte
	var revision *int64
	var value []byte
	_, err = pgx.ForEachRow(rows, []any{&now, &id, &keys, &revision, &value}, func() error {
		if id != nil { // else there is no record, only the counter
			r := conductor.Record{Kind: kind, ID: *id, Keys: texts(keys), Revision: *revision, Value: value}
			page = append(page, conductor.Change{Record: r, Deleted: value == nil})
		}
		return nil
	})
	return page, now, err
}
