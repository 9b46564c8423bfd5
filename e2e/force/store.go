// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/ironstate/ironstate/conductor"
)

// store is the store that the conductors of a history share. Its constructor gets the cluster, to which it adds its
// servers and the links to them, so that faults are injected there. Its methods end by package try if they fail.
type store interface {
	// start starts the servers, if the store has servers of its own.
	start(ctx context.Context)
	// flags returns the flags with which a conductor uses the store. It is called once for each conductor, after start.
	flags(name string) []string
	// dial connects to the log of the store. Faults do not affect the connection.
	dial() storeLog
}

// storeLog has all writes of a store.
type storeLog interface {
	// follow calls take with the writes in the order of their revisions, from the first on, until the context ends. An
	// error means that writes were missed.
	follow(ctx context.Context, take func([]write) error) error
	// last returns the revision of the last write that has ended before the call.
	last(ctx context.Context) (int64, error)
	Close() error
}

// members is the kind of the writes that begin and end memberships.
const members conductor.Kind = "members"

// write is a write to a store.
type write struct {
	kind     conductor.Kind // of the record, members, or empty for all else
	id       string
	revision int64
	value    []byte // the JSON of a record or a conductor.Member; nil if it was deleted
}
