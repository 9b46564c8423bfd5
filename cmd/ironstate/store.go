// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/ironstate/ironstate/conductor"
)

// openedStore is the store of the nodes, with the functions that depend on its kind.
type openedStore struct {
	conductor.Store
	membership conductor.Membership // nil if no other conductor uses the store
	backup     func(context.Context, io.Writer) error
	health     func() error // nil if the store accepts writes; see errNoMajority and errNoSpace
	close      func() error
}

// openStore opens the store that the flags name: in memory, in the folder of -data, or on an etcd cluster.
func openStore(ctx context.Context, o *options, log *slog.Logger) (*openedStore, error) {
	if o.data == "" && !o.cluster.shared() {
		return &openedStore{Store: &conductor.Memory{}, health: func() error { return nil }, close: func() error { return nil }}, nil
	}
	opened, err := o.cluster.open(ctx, o.name, o.data, log)
	if err != nil || o.data == "" {
		return opened, err
	}
	stop, err := offerBackups(o.data, opened.backup, log)
	if err != nil {
		log.Warn("backups of this folder are possible only while the program does not run", "error", err)
		return opened, nil
	}
	closeStore := opened.close
	opened.close = func() error { stop(); return closeStore() }
	return opened, nil
}
