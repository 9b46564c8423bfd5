package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// A record is JSON with Ironic's keys, which machine.Node and powersync.Record both
// decode. Notices are undelivered notifications: the statement that changes a record
// also adds its notice, so that neither exists without the other.
const schema = `
CREATE TABLE IF NOT EXISTS nodes (
	name TEXT PRIMARY KEY, record TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0, notices TEXT NOT NULL DEFAULT '[]'
) STRICT;
INSERT INTO nodes (name, record) VALUES ('node-1', '{"uuid": "node-1", "provision_state": "enroll"}') ON CONFLICT DO NOTHING`

// store is a [powersync.Store] in a database that one process has open at a time.
type store struct{ *sql.DB }

func open(ctx context.Context, file string) (store, error) {
	db, err := sql.Open("sqlite", "file:"+url.PathEscape(file)+"?_pragma=locking_mode(EXCLUSIVE)&_pragma=journal_mode(WAL)")
	if err != nil {
		return store{}, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return store{}, errors.Join(fmt.Errorf("open %s: %w", file, err), db.Close())
	}
	return store{db}, nil
}

// change patches a record that still has the revision, and sets the new one; otherwise the
// error is ErrConflict. It adds a notice if there is a payload.
func (s store) change(ctx context.Context, patch any, event string, payload any, name string, revision *int64) error {
	text, err := json.Marshal(map[string]any{"patch": patch, "event": event, "payload": payload})
	if err != nil {
		return err
	}
	err = s.QueryRowContext(ctx, `UPDATE nodes SET record = json_patch(record, ?1 -> 'patch'), revision = revision + 1,
		notices = iif(?1 ->> 'payload' IS NULL, notices, json_insert(notices, '$[#]',
			json_object('id', revision + 1, 'event', ?1 ->> 'event', 'payload', ?1 -> 'payload')))
		WHERE name = ?2 AND revision = ?3 RETURNING revision`, string(text), name, *revision).Scan(revision)
	if errors.Is(err, sql.ErrNoRows) {
		return powersync.ErrConflict
	}
	return err
}

// save is the machine's save hook. The machine's token is the revision of the record that
// its node was read from.
func (s store) save(ctx context.Context, t machine.Transition) error {
	patch := map[string]any{"provision_state": t.To.State, "target_provision_state": t.To.Target, "last_error": t.To.LastError}
	if t.Power != states.NoPower {
		patch["power_state"] = t.Power
	}
	return s.change(ctx, patch, "provision_set."+t.Status, t, t.Node, t.Token.(*int64))
}

// load decodes a record into a type with Ironic's keys.
func (s store) load(ctx context.Context, name string, into any) (revision int64, err error) {
	var text []byte
	err = s.QueryRowContext(ctx, `SELECT record, revision FROM nodes WHERE name = ?`, name).Scan(&text, &revision)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, powersync.ErrNotFound
	} else if err != nil {
		return 0, err
	}
	return revision, json.Unmarshal(text, into)
}

// Load implements [powersync.Store].
func (s store) Load(ctx context.Context, name string) (r powersync.Record, err error) {
	r.Revision, err = s.load(ctx, name, &r)
	return r, err
}

// Records implements [powersync.Store].
func (s store) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) { yield(s.Load(ctx, node)) }
}

// Update implements [powersync.Store].
func (s store) Update(ctx context.Context, r powersync.Record) error {
	before, err := s.Load(ctx, r.ID)
	if err != nil {
		return err
	}
	var payload any
	if before.Power != r.Power {
		payload = map[string]any{"node": r.ID, "from_power": before.Power, "power_state": r.Power}
	}
	return s.change(ctx, r, "power_state_corrected", payload, r.ID, &r.Revision)
}

// deliver writes the notices, one per line, and deletes them. Delivery is at least once:
// if a process is killed after a write, the next one writes the same notices again.
func (s store) deliver(ctx context.Context, to io.Writer) error {
	var notices, lines string
	err := s.QueryRowContext(ctx, `SELECT notices, (SELECT COALESCE(group_concat(value || char(10), ''), '') FROM json_each(notices))
		FROM nodes WHERE name = ?`, node).Scan(&notices, &lines)
	if err != nil || lines == "" {
		return err
	}
	if _, err = io.WriteString(to, lines); err == nil {
		_, err = s.ExecContext(ctx, `UPDATE nodes SET notices = '[]' WHERE name = ? AND notices = ?`, node, notices)
	}
	return err
}
