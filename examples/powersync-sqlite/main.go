// Powersync-sqlite keeps the recorded power states of a fleet in a SQLite
// database, in a file that survives whatever happens to the process.
//
//	go run ./examples/powersync-sqlite
//	go run ./examples/powersync-sqlite -db fleet.db -nodes 1000 -rounds 100
//
// Its hardware is imagined, and somebody switches a tenth of it before each
// round. Kill the process with SIGKILL while it runs and start it again: it
// drops the reservations that it left behind and goes on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "powersync-sqlite:", err)
		os.Exit(1)
	}
}

const name = "examples/powersync-sqlite"

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("powersync-sqlite", flag.ContinueOnError)
	file := flags.String("db", "", "the database's `FILE`; without it one that is removed in the end")
	nodes := flags.Int("nodes", 200, "how many nodes an empty database gets")
	rounds := flags.Int("rounds", 5, "how many rounds to do")
	if err := flags.Parse(args); err != nil {
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
	defer store.Close()
	if err := store.Add(ctx, fleet(*nodes)...); err != nil {
		return err
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
	hardware := new(imagined)
	syncer, err := powersync.New(powersync.Config{Store: store, Driver: hardware, Name: name})
	if err != nil {
		return err
	}
	dropped, err := syncer.Reclaim(ctx)
	if err != nil {
		return err
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
	return nil
}
