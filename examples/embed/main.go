// Embed is a bare-metal service for one machine: it enrolls and verifies a node, syncs
// its power state, and reports each change. The whole node is one row in SQLite.
//
//	go run ./examples/embed
//	BMC_PASSWORD=... go run ./examples/embed -db node.db -bmc 10.1.2.3 -user admin
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

func main() { program.Main("embed", run) }

const node = "node-1"

// service is a node, its BMC and the receiver of the notices.
type service struct {
	store
	bmc      bmc.Config
	out      io.Writer
	rounds   int
	interval time.Duration
	disturb  func(round int) error
}

func run(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	slog.SetLogLoggerLevel(slog.LevelWarn)
	s := service{out: out, disturb: func(int) error { return nil }, bmc: bmc.Config{Password: secret.New(os.Getenv("BMC_PASSWORD"))}}
	flags := flag.NewFlagSet("embed", flag.ContinueOnError)
	file := flags.String("db", ":memory:", "the database `FILE`; by default the node is kept in memory only")
	flags.DurationVar(&s.interval, "interval", 100*time.Millisecond, "the time between two rounds of the power sync")
	flags.IntVar(&s.rounds, "rounds", 4, "the number of rounds")
	flags.StringVar(&s.bmc.Host, "bmc", "", "the `HOST` of a BMC; by default a built-in BMC, whose machine is switched between the rounds")
	flags.StringVar(&s.bmc.User, "user", "", "the `USER` of the BMC; the password is in $BMC_PASSWORD")
	flags.StringVar(&s.bmc.Fingerprint, "fingerprint", "", "the `SHA-256` sum of the BMC's certificate if that is self-signed")
	if err := program.Parse(flags, args, errOut); err != nil {
		return err
	}
	if s.bmc.Host == "" {
		builtIn, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
		if err != nil {
			return err
		}
		defer builtIn.Close()
		s.bmc = bmc.Config{Host: builtIn.Host, RedfishPort: builtIn.Port, RootCAs: builtIn.CertPool,
			User: bmctest.DefaultUser, Password: secret.New(bmctest.DefaultPassword)}
		powers := []string{"On", "Off"}
		s.disturb = func(round int) error { return builtIn.SetPower("1", powers[round/2%2]) }
	}
	if s.store, err = open(ctx, *file); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.enroll(ctx); err != nil {
		return err
	}
	return s.sync(ctx)
}

// enroll brings the node to manageable from any state that an earlier process left.
func (s *service) enroll(ctx context.Context) error {
	verifier, err := bmc.New(s.bmc)
	if err != nil {
		return program.Usagef("%v", err)
	}
	var stored machine.Node
	revision, err := s.load(ctx, node, &stored)
	if err != nil {
		return err
	}
	m, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: stored, Name: node, Token: &revision,
		Save: []machine.Hook{s.save}, Enter: []machine.Hook{func(ctx context.Context, _ machine.Transition) error { return s.deliver(ctx, s.out) }}})
	if err != nil {
		return err
	}
	if lastError, ok := stored.Orphaned(m.Table()); ok { // the earlier process was killed during the verification
		if err := m.Report(ctx, states.EventFail, lastError); err != nil {
			return err
		}
	}
	if m.Node().State == states.Enroll {
		_, err = verify.Manage(ctx, m, verifier)
	}
	return err
}

// sync does rounds of the power sync. They record the reading, because nobody requests a
// power state of this service.
func (s *service) sync(ctx context.Context) error {
	driver, err := bmc.NewDriver(bmc.DriverConfig{Lookup: func(context.Context, string) (bmc.Config, error) { return s.bmc, nil }})
	if err != nil {
		return err
	}
	defer driver.Close(context.WithoutCancel(ctx))
	syncer, err := powersync.New(powersync.Config{Store: s, Driver: driver, Policy: powersync.Policy{RecordOnly: true}, Logger: slog.Default()})
	if err != nil {
		return err
	}
	for round := range s.rounds {
		_, synced := syncer.Sync(ctx)
		_, recovered := syncer.Recover(ctx)
		if err := errors.Join(synced, recovered, s.deliver(ctx, s.out), s.disturb(round)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.interval):
		}
	}
	return nil
}
