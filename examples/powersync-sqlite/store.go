package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"net/url"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/ironstate/ironstate/powersync"
)

// Store is a [powersync.Store] in a SQLite database. Each change is one statement,
// which SQLite executes atomically even if the process is killed.
type Store struct {
	db *sql.DB
}

// The words and NULLs are Ironic's. A node's first revision is random, so that a node
// that is deleted and added again does not get an earlier revision again.
const schema = `
CREATE TABLE IF NOT EXISTS nodes (
	uuid               TEXT PRIMARY KEY,
	provision_state    TEXT,
	power_state        TEXT,
	target_power_state TEXT,
	maintenance        INTEGER NOT NULL,
	maintenance_reason TEXT,
	fault              TEXT,
	reservation        TEXT,
	last_error         TEXT,
	disable_power_off  INTEGER NOT NULL,
	revision           INTEGER NOT NULL DEFAULT (random() / 2)
) STRICT, WITHOUT ROWID`

// Open opens the database in a file, and creates it if necessary.
func Open(file string) (*Store, error) {
	pragmas := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)"}}
	name := url.URL{Scheme: "file", Opaque: url.PathEscape(file), RawQuery: pragmas.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(schema); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", file, err), db.Close())
	}
	return &Store{db}, nil
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// Add adds nodes, all of them or, on error, none. It does not change existing nodes.
func (s *Store) Add(ctx context.Context, records ...powersync.Record) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	insert, err := tx.PrepareContext(ctx, `INSERT INTO nodes (uuid, `+columns+`) VALUES (?10, `+values+`)
		ON CONFLICT DO NOTHING`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, r := range records {
		if _, err := insert.ExecContext(ctx, arguments(r)...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

const (
	columns = `provision_state, power_state, target_power_state, maintenance, maintenance_reason, fault,
		reservation, last_error, disable_power_off`
	values    = `?1, ?2, ?3, ?4, NULLIF(?5, ''), NULLIF(?6, ''), NULLIF(?7, ''), NULLIF(?8, ''), ?9`
	selection = `SELECT uuid, provision_state, power_state, target_power_state, maintenance,
		COALESCE(maintenance_reason, ''), COALESCE(fault, ''), COALESCE(reservation, ''), COALESCE(last_error, ''),
		disable_power_off, revision FROM nodes`
)

// arguments returns the SQL arguments of a record: the values, then the ID.
func arguments(r powersync.Record) []any {
	return []any{
		r.ProvisionState, r.Power, r.TargetPower, r.Maintenance, r.MaintenanceReason, r.Fault,
		r.Reservation, r.LastError, r.DisablePowerOff, r.ID,
	}
}

// scan reads a row. If a value is invalid, the returned record still has the ID.
func scan(row interface{ Scan(...any) error }) (r powersync.Record, err error) {
	err = row.Scan(&r.ID, &r.ProvisionState, &r.Power, &r.TargetPower, &r.Maintenance, &r.MaintenanceReason, &r.Fault,
		&r.Reservation, &r.LastError, &r.DisablePowerOff, &r.Revision)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return powersync.Record{ID: r.ID}, fmt.Errorf("row of node %q: %w", r.ID, err)
	}
	return r, err
}

const pageSize = 500

// Records implements [powersync.Store]. It reads page by page, so that the database is
// not locked while the caller works on a page. A row that cannot be read is an error,
// and the iteration continues.
func (s *Store) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		after := ""
		for {
			page, err := s.page(ctx, after)
			for _, row := range page {
				if !yield(row.record, row.err) {
					return
				}
			}
			if err != nil {
				yield(powersync.Record{}, err)
				return
			}
			if len(page) < pageSize {
				return
			}
			after = page[len(page)-1].record.ID
		}
	}
}

// row is a record, or an error and the ID.
type row struct {
	record powersync.Record
	err    error
}

func (s *Store) page(ctx context.Context, after string) ([]row, error) {
	rows, err := s.db.QueryContext(ctx, selection+` WHERE uuid > ? ORDER BY uuid LIMIT ?`, after, pageSize)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	page := make([]row, 0, pageSize)
	for rows.Next() {
		record, err := scan(rows)
		page = append(page, row{record, err})
	}
	return page, rows.Err()
}

// Load implements [powersync.Store].
func (s *Store) Load(ctx context.Context, id string) (powersync.Record, error) {
	r, err := scan(s.db.QueryRowContext(ctx, selection+` WHERE uuid = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return r, powersync.ErrNotFound
	}
	return r, err
}

// Update implements [powersync.Store].
func (s *Store) Update(ctx context.Context, r powersync.Record) error {
	done, err := s.db.ExecContext(ctx, `UPDATE nodes SET (`+columns+`, revision) = (`+values+`, revision + 1)
		WHERE uuid = ?10 AND revision = ?11`, append(arguments(r), r.Revision)...)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); n > 0 || err != nil {
		return err
	}
	if _, err := s.Load(ctx, r.ID); err != nil {
		return err
	}
	return powersync.ErrConflict
}
