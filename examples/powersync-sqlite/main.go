// Powersync-sqlite keeps the recorded power states of a fleet in a SQLite
// database, in a file that survives whatever happens to the process.
//
//	go run ./examples/powersync-sqlite
//	go run ./examples/powersync-sqlite -db fleet.db -nodes 1000 -rounds 100
//
// Its hardware is simulated, and a tenth of it is switched off before each round. Kill
// the process with SIGKILL while it runs and start it again: it drops the reservations
// of the killed process and continues.
//
// The exit status is 0 on success, 1 if a record could not be read or stored, 2 for
// wrong usage, and 130 or 143 after Ctrl-C or SIGTERM.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

func main() { program.Main("powersync-sqlite", run) }

const name = "examples/powersync-sqlite"

func run(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	flags := flag.NewFlagSet("powersync-sqlite", flag.ContinueOnError)
	file := flags.String("db", "", "the database's `FILE`; without it one that is removed in the end")
	nodes := flags.Int("nodes", 200, "how many nodes the database gets where it does not have them, 1 to 1000000")
	rounds := flags.Int("rounds", 5, "how many rounds to do, 1 to 1000000")
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	if err := cmp.Or(
		program.Between("nodes", *nodes, 1, 1_000_000),
		program.Between("rounds", *rounds, 1, 1_000_000),
	); err != nil {
		return err
	}
	if *file == "" {
		dir, err := os.MkdirTemp("", "powersync-sqlite-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		*file = filepath.Join(dir, "fleet.db")
	}
	store, err := Open(*file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.Add(ctx, fleet(*nodes)...); err != nil {
		return fmt.Errorf("add nodes to %s: %w", *file, err)
	}
	return doRounds(ctx, store, *rounds, out)
}

func fleet(n int) []powersync.Record {
	records := make([]powersync.Record, n)
	for i := range records {
		records[i] = powersync.Record{ID: fmt.Sprintf("node-%06d", i), ProvisionState: states.Active, Power: states.PowerOn}
	}
	return records
}

func doRounds(ctx context.Context, store *Store, rounds int, out io.Writer) error {
	hardware := new(simulated)
	var bad troubles
	syncer, err := powersync.New(powersync.Config{Store: store, Driver: hardware, Name: name, OnEvent: bad.note})
	if err != nil {
		return err
	}
	dropped, err := syncer.Reclaim(ctx)
	switch {
	case ctx.Err() != nil:
		return err
	case err != nil:
		bad.add(err) // the other nodes are fine
	}
	fmt.Fprintf(out, "%d old reservations dropped\n", dropped)
	for i := range rounds {
		hardware.disturb(i)
		report, err := syncer.Sync(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, report)
	}
	return bad.err()
}

// troubles counts how often records could not be read or stored.
type troubles struct {
	mu    sync.Mutex
	n     int
	first error
}

func (t *troubles) note(e powersync.Event) {
	if e.Outcome == powersync.StoreFailed || errors.Is(e.Err, powersync.ErrNotSaved) {
		t.add(fmt.Errorf("node %q: %w", e.ID, e.Err))
	}
}

func (t *troubles) add(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n++; t.n == 1 {
		t.first = err
	}
}

func (t *troubles) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return nil
	}
	return fmt.Errorf("records could not be read or stored %d times, the first: %w", t.n, t.first)
}
