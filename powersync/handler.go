package powersync

import (
	"context"
	"iter"
	"time"
)

// Handler handles nodes in place of a [Store] and a [Driver], for a service that reads its hardware
// and stores and reserves its nodes by itself. It uses the rules [Decide], [Settle] and
// [DecideRecovery]; the Syncer calls it for each node of a round, retries nothing, and keeps the
// failures. Sync and Recover are called by many goroutines at once.
type Handler interface {
	// Records yields the records of all nodes, as [Store] does.
	Records(ctx context.Context) iter.Seq2[Record, error]
	// Sync handles a node in a sync round, Recover in a recovery round. The failures of the action
	// replace past; an attempt that does not count returns past.
	Sync(ctx context.Context, id string, past Failures) Action
	Recover(ctx context.Context, id string, past Failures) Action
}

// Emit counts, logs and reports an event of a [Handler] that is not the result of a round, such as
// that of a power request.
func (s *Syncer) Emit(ctx context.Context, e Event) { s.reporter.emit(ctx, e) }

// AllowForce reports whether a [Handler] may set hardware in a round, within [Config.ForceLimit]. If
// the hardware is not set after all, the handler calls undo.
func (s *Syncer) AllowForce() (undo func(), ok bool) { return s.limit.take(time.Now()) }

// handled returns the function that handles a node with the configured Handler.
func (s *Syncer) handled(f *failures, handle func(context.Context, string, Failures) Action) func(context.Context, string, bool) Event {
	return func(ctx context.Context, id string, _ bool) Event {
		past := f.of(id).Failures
		a := handle(ctx, id, past)
		if a.ID = id; a.Failures != past {
			f.keep(a)
		}
		switch a.Outcome {
		case IntoMaintenance, Recovered:
			s.recoveryFailures.forget(id)
		case SkippedDeleted:
			s.syncFailures.forget(id)
			s.recoveryFailures.forget(id)
		}
		return a.Event
	}
}

// errHandled: power requests and reservations are up to the Handler.
var errHandled = configError("Handler", "set", "a Store and a Driver")
