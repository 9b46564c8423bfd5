// SPDX-License-Identifier: Apache-2.0

// Embed enrolls and verifies one machine, syncs its power state, and reports each change. The node is a row in SQLite.
//
//	go run ./examples/embed -db node.db
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

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

const node = "node-1"

// A record is JSON with Ironic's keys. The trigger adds a notice in the statement of each change: none is without it.
const schema = `
CREATE TABLE IF NOT EXISTS nodes (name TEXT PRIMARY KEY, record TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
	provision_state TEXT AS (record ->> 'provision_state'), power_state TEXT AS (record ->> 'power_state')) STRICT;
CREATE TABLE IF NOT EXISTS notices (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL) STRICT;
CREATE TRIGGER IF NOT EXISTS notify AFTER UPDATE ON nodes
WHEN old.provision_state != new.provision_state OR old.power_state IS NOT new.power_state BEGIN
	INSERT INTO notices (text) VALUES (json_object('node', new.name,
		'provision_state', json_array(old.provision_state, new.provision_state),
		'power_state', json_array(old.power_state, new.power_state)));
END;
INSERT INTO nodes (name, record) VALUES ('node-1', '{"uuid": "node-1", "provision_state": "enroll"}') ON CONFLICT DO NOTHING`

// store is a [powersync.Store] in a database that one process has open at a time.
type store struct{ *sql.DB }

func open(file string) store {
	db := must(sql.Open("sqlite", "file:"+url.PathEscape(file)+"?_pragma=locking_mode(EXCLUSIVE)&_pragma=journal_mode(WAL)"))
	db.SetMaxOpenConns(1)
	must(db.Exec(schema))
	return store{db}
}

// change patches a record that still has the revision, and sets the new revision.
func (s store) change(ctx context.Context, patch any, name string, revision *int64) error {
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	err = s.QueryRowContext(ctx, `UPDATE nodes SET record = json_patch(record, ?), revision = revision + 1
		WHERE name = ? AND revision = ? RETURNING revision`, string(text), name, *revision).Scan(revision)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = s.Load(ctx, name)
		return cmp.Or(err, powersync.ErrConflict)
	}
	return err
}

// save is the machine's save hook. The machine's token is the revision that its node was read at.
func (s store) save(ctx context.Context, t machine.Transition) error {
	patch := map[string]any{"provision_state": t.To.State, "target_provision_state": t.To.Target, "last_error": t.To.LastError}
	if t.Power != states.NoPower {
		patch["power_state"] = t.Power
	}
	return s.change(ctx, patch, t.Node, t.Token.(*int64))
}

// load decodes a record into a type with Ironic's keys: a machine.Node or a powersync.Record.
func (s store) load(ctx context.Context, name string, into any) (revision int64, err error) {
	var text []byte
	switch err = s.QueryRowContext(ctx, `SELECT record, revision FROM nodes WHERE name = ?`, name).Scan(&text, &revision); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, powersync.ErrNotFound
	case err != nil:
		return 0, err
	}
	return revision, json.Unmarshal(text, into)
}

// Load, Records and Update implement [powersync.Store].
func (s store) Load(ctx context.Context, name string) (r powersync.Record, err error) {
	r.Revision, err = s.load(ctx, name, &r)
	return r, err
}

func (s store) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) { yield(s.Load(ctx, node)) }
}

func (s store) Update(ctx context.Context, r powersync.Record) error {
	return s.change(ctx, r, r.ID, &r.Revision)
}

// deliver prints the notices and deletes them; after a kill between the two they are printed again.
func (s store) deliver(ctx context.Context, _ machine.Transition) error {
	var last, lines sql.NullString
	err := s.QueryRowContext(ctx, `SELECT max(id), group_concat(id || ' ' || text, char(10) ORDER BY id) FROM notices`).Scan(&last, &lines)
	if err != nil || !last.Valid {
		return err
	}
	fmt.Println(lines.String)
	_, err = s.ExecContext(ctx, `DELETE FROM notices WHERE id <= ?`, last)
	return err
}

func main() {
	file, rounds := flag.String("db", ":memory:", "the database `FILE`"), flag.Int("rounds", 4, "the number of rounds")
	flag.Parse()
	ctx, s := context.Background(), open(*file)
	builtIn := must(bmctest.NewRedfish(bmctest.RedfishConfig{})) // in place of your machine's BMC
	config := bmc.Config{Host: builtIn.Host, RedfishPort: builtIn.Port, RootCAs: builtIn.CertPool,
		User: bmctest.DefaultUser, Password: secret.New(bmctest.DefaultPassword)}
	var stored machine.Node
	revision := must(s.load(ctx, node, &stored))
	m := must(machine.New(machine.Config{Table: states.Latest().Table(), Node: stored, Name: node, Token: &revision,
		Save: []machine.Hook{s.save}, Enter: []machine.Hook{s.deliver}}))
	if lastError, ok := stored.Orphaned(m.Table()); ok { // the earlier process was killed during the verification
		must(0, m.Report(ctx, states.EventFail, lastError))
	}
	if m.Node().State == states.Enroll {
		must(verify.Manage(ctx, m, must(bmc.New(config))))
	}
	// Rounds record the power state that is read, because no client requests one of this service.
	driver := must(bmc.NewDriver(bmc.DriverConfig{Lookup: func(context.Context, string) (bmc.Config, error) { return config, nil }}))
	syncer := must(powersync.New(powersync.Config{Store: s, Driver: driver, Policy: powersync.Policy{RecordOnly: true}}))
	for round := range *rounds {
		must(syncer.Sync(ctx))
		must(syncer.Recover(ctx))
		must(0, s.deliver(ctx, machine.Transition{}))
		must(0, builtIn.SetPower("1", []string{"On", "Off"}[round/2%2])) // as by its power button
	}
	must(0, errors.Join(driver.Close(ctx), s.Close()))
}

func must[T any](value T, err error) T { // must(0, err) is for a function that returns an error alone
	if err != nil {
		log.Fatal(err)
	}
	return value
}
