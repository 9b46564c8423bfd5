// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/ironstate/ironstate/machine"
)

// Handler handles nodes in place of a [Store] and a [Driver], for a service that reads its hardware
// and stores and reserves its nodes by itself. It uses the rules [Decide], [Settle] and
// [DecideRecovery]; the Syncer calls it for the nodes of a round and keeps the failures. With a
// Handler, Set, Begin and Reclaim of the Syncer return a [*machine.ConfigError].
type Handler interface {
	// Records yields the records of all nodes, as [Store] does.
	Records(ctx context.Context) iter.Seq2[Record, error]
	// Sync handles a node in a sync round, Recover in a recovery round. The failures of the action
	// replace past; an attempt that does not count returns past.
	//
	// Many goroutines call them at once; in one round, the calls for a node follow one another. The
	// round waits for them without a timeout, so that they must return soon after their context ends.
	// The node was listed with a record that [SkipSync] or [SkipRecovery] does not exclude, or has
	// failed in an earlier sync round; a Handler applies the same rule to the record that it loads, and
	// if that is excluded, returns the action of [Decide] or [DecideRecovery] without a reading. The
	// Syncer keeps the failures of a node that is excluded by its provision state or maintenance when it
	// is first loaded.
	//
	// An error comes from the service's store. It says that nothing of the action was stored or asked of
	// the hardware, and the attempt does not count. If it matches [ErrConflict], the record has changed
	// since it was loaded: the Syncer calls the method again, a few times. If it matches [ErrNotFound],
	// the node was deleted. A panic or the end of the goroutine counts as such an error, a
	// [*machine.PanicError].
	Sync(ctx context.Context, id string, past Failures) (Action, error)
	Recover(ctx context.Context, id string, past Failures) (Action, error)
}

// Emit counts, logs and reports an event of a [Handler] that is not the result of a round, such as
// the one of a power request.
func (s *Syncer) Emit(ctx context.Context, e Event) { s.reporter.emit(ctx, e) }

// AllowForce reports whether a [Handler] may set hardware in a round, within [Config.ForceLimit]. If
// the hardware is not set after all, the handler calls undo.
func (s *Syncer) AllowForce() (undo func(), ok bool) { return s.limit.take(time.Now()) }

// errHandled is the error of power requests and of Reclaim if the Syncer has a Handler.
var errHandled = &machine.ConfigError{
	Package: "powersync", Field: "Handler", Err: errors.New("power requests and reservations are up to the Handler"),
}
