// SPDX-License-Identifier: Apache-2.0

// Powersync-sqlite keeps the recorded power states of a fleet in a SQLite database. The hardware
// is simulated. A process that is killed and started again drops its old reservations:
//
//	go run ./examples/powersync-sqlite -db fleet.db -rounds 100
package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"log"
	"net/url"
	"sync/atomic"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// Store is a [powersync.Store] in a SQLite database. Each change is one statement, which
// SQLite executes atomically even if the process is killed. A record is JSON with
// Ironic's keys; its first revision is random, so that a node that is deleted and added
// again does not get an earlier revision again.
type Store struct{ *sql.DB }

const schema = `CREATE TABLE IF NOT EXISTS nodes (
	uuid TEXT PRIMARY KEY, record TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT (random() / 2)) STRICT, WITHOUT ROWID`

// Open opens the database in a file, and creates it if necessary.
func Open(file string) (*Store, error) {
	db, err := sql.Open("sqlite", "file:"+url.PathEscape(file)+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // one connection, so that :memory: is one database
	if _, err := db.Exec(schema); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", file, err), db.Close())
	}
	return &Store{db}, nil
}

// Add adds a node unless it exists.
func (s *Store) Add(ctx context.Context, r powersync.Record) error {
	text, err := json.Marshal(r)
	if err == nil {
		_, err = s.ExecContext(ctx, `INSERT INTO nodes (uuid, record) VALUES (?, ?) ON CONFLICT DO NOTHING`, r.ID, string(text))
	}
	return err
}

// Load implements [powersync.Store].
func (s *Store) Load(ctx context.Context, id string) (r powersync.Record, err error) {
	var text []byte
	err = s.QueryRowContext(ctx, `SELECT record, revision FROM nodes WHERE uuid = ?`, id).Scan(&text, &r.Revision)
	if errors.Is(err, sql.ErrNoRows) {
		return r, powersync.ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	r.ID = id
	return r, err
}

// Records implements [powersync.Store]. It reads the IDs first, so that the database is not
// locked while the caller works. A record that cannot be read does not end the iteration.
func (s *Store) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		var text []byte
		var ids []string
		err := s.QueryRowContext(ctx, `SELECT json_group_array(uuid) FROM nodes`).Scan(&text)
		if err == nil {
			err = json.Unmarshal(text, &ids)
		}
		if err != nil {
			yield(powersync.Record{}, err)
		}
		for _, id := range ids {
			if r, err := s.Load(ctx, id); !errors.Is(err, powersync.ErrNotFound) && !yield(r, err) {
				return
			}
		}
	}
}

// Update implements [powersync.Store].
func (s *Store) Update(ctx context.Context, r powersync.Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	err = s.QueryRowContext(ctx, `UPDATE nodes SET record = ?, revision = revision + 1
		WHERE uuid = ? AND revision = ? RETURNING revision`, string(text), r.ID, r.Revision).Scan(&r.Revision)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = s.Load(ctx, r.ID)
		return cmp.Or(err, powersync.ErrConflict)
	}
	return err
}

// simulated is hardware on which one machine is off, until it is switched on.
type simulated struct{ off atomic.Value }

// PowerState and SetPower implement [powersync.Driver].
func (h *simulated) PowerState(_ context.Context, id string) (states.Power, error) {
	if h.off.Load() == id {
		return states.PowerOff, nil
	}
	return states.PowerOn, nil
}

func (h *simulated) SetPower(context.Context, string, states.Power) error {
	h.off.Store("")
	return nil
}

func main() {
	file := flag.String("db", ":memory:", "the database's `FILE`")
	rounds := flag.Int("rounds", 5, "number of rounds")
	flag.Parse()
	ctx := context.Background()
	store := must(Open(*file))
	for i := range 200 {
		must(0, store.Add(ctx, powersync.Record{ID: fmt.Sprintf("node-%03d", i), ProvisionState: states.Active, Power: states.PowerOn}))
	}
	hardware := new(simulated)
	syncer := must(powersync.New(powersync.Config{Store: store, Driver: hardware, Name: "examples/powersync-sqlite"}))
	fmt.Printf("%d old reservations dropped\n", must(syncer.Reclaim(ctx)))
	for i := range *rounds {
		hardware.off.Store(fmt.Sprintf("node-%03d", i%200))
		fmt.Println(must(syncer.Sync(ctx)))
	}
	must(0, store.Close())
}

func must[T any](value T, err error) T { // must(0, err) is for a function that returns an error alone
	if err != nil {
		log.Fatal(err)
	}
	return value
}
