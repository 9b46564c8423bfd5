// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Handler handles nodes in place of a [Store] and a [Driver], for a service that reads its hardware
// and stores and reserves its nodes by itself. It uses the rules [Decide], [Settle] and
// [DecideRecovery]; the Syncer calls it for each node of a round and keeps the failures. Sync and
// Recover are called by many goroutines at once.
type Handler interface {
	// Records yields the records of all nodes, as [Store] does.
	Records(ctx context.Context) iter.Seq2[Record, error]
	// Sync handles a node in a sync round, Recover in a recovery round. The failures of the action
	// replace past; an attempt that does not count returns past.
	//
	// An error is that of the service's store, and the attempt does not count. If it matches
	// [ErrConflict], the record has changed since it was loaded: the Syncer calls the method
	// again, with reloaded set, a few times. If it matches [ErrNotFound], the node was deleted.
	Sync(ctx context.Context, id string, past Failures, reloaded bool) (Action, error)
	Recover(ctx context.Context, id string, past Failures, reloaded bool) (Action, error)
}

// Emit counts, logs and reports an event of a [Handler] that is not the result of a round, such as
// that of a power request.
func (s *Syncer) Emit(ctx context.Context, e Event) { s.reporter.emit(ctx, e) }

// AllowForce reports whether a [Handler] may set hardware in a round, within [Config.ForceLimit]. If
// the hardware is not set after all, the handler calls undo.
func (s *Syncer) AllowForce() (undo func(), ok bool) { return s.limit.take(time.Now()) }

// handled returns the function that handles a node with the configured Handler.
func (s *Syncer) handled(f *failures, handle func(context.Context, string, Failures, bool) (Action, error)) func(context.Context, string, bool) Event {
	return func(ctx context.Context, id string, reloaded bool) Event {
		past := f.of(id).Failures
		a, err := handle(ctx, id, past, reloaded)
		if err != nil {
			return s.storeFailed(ctx, Event{ID: id}, err)
		}
		if a.ID = id; a.Failures != past {
			f.keep(a)
		}
		if a.Outcome == IntoMaintenance || a.Outcome == Recovered {
			s.recoveryFailures.forget(id)
		}
		return a.Event
	}
}

// errHandled is the error of a power request to a Syncer with a Handler.
var errHandled = &ConfigError{Package: "powersync", Field: "Handler", Err: errors.New("power requests and reservations are up to the Handler")}
