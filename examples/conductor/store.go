package main

import (
	"context"
	"log/slog"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
)

// openStore opens the store of the nodes, and returns the function that closes it.
func openStore(ctx context.Context, o *options, log *slog.Logger) (conductor.Store, func() error, error) {
	if o.data == "" {
		return &conductor.Memory{}, func() error { return nil }, nil
	}
	store, err := etcd.Open(ctx, etcd.Config{Dir: o.data, Log: log})
	if err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}
