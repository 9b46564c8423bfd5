// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"flag"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironstate/ironstate/cmd/ironstate/internal/observe"
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/program"
)

// storeKind is a kind of store with flags of its own. A new kind is a file such as store_etcd.go, and an entry in
// storeKinds.
type storeKind interface {
	// define defines the flags of the kind.
	define(*flag.FlagSet)
	// sharing returns the names of the flags that name a store which several conductors share.
	sharing() []string
	// chosen reports whether the flags name a store of the kind.
	chosen(storeSettings) bool
	// place says where the nodes of a store are that the flags name, such as "in FOLDER".
	place(storeSettings) string
	// check returns an error if the flags contradict each other or the settings.
	check(storeSettings) error
	// open opens the store.
	open(context.Context, storeSettings, *slog.Logger) (*openedStore, error)
}

// backupKind is a [storeKind] with -backup and -restore.
type backupKind interface {
	// backup writes a backup of the nodes, also while another process serves them.
	backup(context.Context, storeSettings, io.Writer, *slog.Logger) error
	// restore creates the folder of a store from the file of a backup.
	restore(ctx context.Context, s storeSettings, file string, log *slog.Logger) error
}

// storeKinds are the constructors of the kinds of stores, besides a store in memory.
var storeKinds = []func() storeKind{func() storeKind { return &etcdFlags{} }}

// storeSettings are the values of the flags that all kinds of stores share.
type storeSettings struct {
	name, data string
	lease      time.Duration
}

// openedStore is the open store of the nodes, with the membership, the health and the metrics that its kind has.
type openedStore struct {
	conductor.Store
	kind       string                   // for the user
	membership conductor.Membership     // nil if no other conductor uses the store
	health     func() observe.Readiness // see [observe.Readiness]
	noSpace    error                    // with which the store refuses writes for the want of space; nil for none
	metrics    prometheus.Gatherer      // of the store itself; nil for none
	close      func() error
}

// storeFlags are the flags of the store.
type storeFlags struct {
	storeSettings
	kinds []storeKind
}

// The limits of -lease. A store may raise a shorter lease to the first one, and etcd refuses one of 285 years.
const (
	minLease     = 2 * time.Second
	maxLease     = 365 * 24 * time.Hour
	defaultLease = 10 * time.Second
)

func (s *storeFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&s.data, "data", "", "`folder` in which the nodes are stored; empty stores them in memory")
	flags.StringVar(&s.name, "name", "", "the conductor's `name`, the same after a restart; empty stands for the host name")
	flags.DurationVar(&s.lease, "lease", defaultLease,
		"`time` without renewal after which the other conductors take the nodes of a conductor over")
	for _, construct := range storeKinds {
		kind := construct()
		kind.define(flags)
		s.kinds = append(s.kinds, kind)
	}
}

// sharing returns the names of the flags that name a store which several conductors share.
func (s *storeFlags) sharing() (names []string) {
	for _, kind := range s.kinds {
		names = append(names, kind.sharing()...)
	}
	return names
}

// check returns the first error of the flags.
func (s *storeFlags) check() (err error) {
	if s.lease < minLease || s.lease > maxLease {
		return program.Usagef("-lease is %v: want %v to %v", s.lease, minLease, maxLease)
	}
	var places []string
	for _, kind := range s.kinds {
		err = cmp.Or(err, kind.check(s.storeSettings))
		if kind.chosen(s.storeSettings) {
			places = append(places, kind.place(s.storeSettings))
		}
	}
	if err == nil && len(places) > 1 {
		err = program.Usagef("the nodes are in one store, and the flags name %d: %s", len(places), strings.Join(places, " and "))
	}
	return err
}

// chosen returns the kind of the store that the flags name, nil for a store in memory.
func (s *storeFlags) chosen() storeKind {
	for _, kind := range s.kinds {
		if kind.chosen(s.storeSettings) {
			return kind
		}
	}
	return nil
}

// open opens the store that the flags name.
func (s *storeFlags) open(ctx context.Context, log *slog.Logger) (*openedStore, error) {
	if kind := s.chosen(); kind != nil {
		return kind.open(ctx, s.storeSettings, log)
	}
	return &openedStore{
		Store: &conductor.Memory{}, health: func() observe.Readiness { return observe.Ready }, close: func() error { return nil },
	}, nil
}
