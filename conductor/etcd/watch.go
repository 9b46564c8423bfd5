// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/internal/latest"
	"github.com/ironstate/ironstate/internal/sleep"
)

// Watch implements [conductor.Store]. It resumes by itself after the loss of a server or of the leader, and ends with
// an error after a compaction of revisions that it has not read yet.
func (s *Store) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	return func(yield func(conductor.Change, error) bool) {
		if ctx.Err() != nil {
			return
		}
		following, done, err := s.beginWatch(ctx)
		if err != nil {
			yield(conductor.Change{}, fmt.Errorf("watch %s: %w", kind, err))
			return
		}
		following, cancel := context.WithCancel(following)
		changes := latest.New(func(a, b conductor.Change) int {
			return cmp.Compare(a.Record.Revision, b.Record.Revision)
		})
		var reader sync.WaitGroup
		reader.Go(func() {
			defer done()
			f := &follower{Store: s, kind: kind, changes: changes}
			changes.Fail(fmt.Errorf("watch %s: %w", kind, f.run(following)))
		})
		defer reader.Wait()
		defer cancel()
		changes.All(ctx)(yield)
	}
}

// follower reads a kind's records and changes into a queue.
type follower struct {
	*Store
	kind    conductor.Kind
	changes *latest.Queue[conductor.Change]
	next    int64 // the next revision to read
}

// retryPause is the delay before a watch retries after an error.
const retryPause = 500 * time.Millisecond

// run fills the queue until the context ends or an error is permanent, and returns the error.
func (f *follower) run(ctx context.Context) error {
	if err := f.list(ctx); err != nil {
		return failure(ctx, err)
	}
	f.changes.Mark(conductor.Change{Synced: true})
	for {
		err := f.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return ended(ctx)
		case lasts(err) || errors.Is(err, rpctypes.ErrCompacted):
			return err
		}
		f.interrupted(ctx, "a watch is interrupted and will be resumed", "kind", f.kind, "revision", f.next, "error", err)
	}
}

// interrupted logs the interruption of a watch, and returns when the watch can be resumed or the context ends. The loss
// of the majority, which interrupts all watches, has been logged before.
func (s *Store) interrupted(ctx context.Context, message string, args ...any) {
	level := slog.LevelWarn
	if s.monitor.health().lost {
		level = slog.LevelDebug
	}
	s.log.Log(ctx, level, message, args...)
	sleep.For(ctx, retryPause)
	s.awaitMajority(ctx)
}

// list queues all records as of one revision.
func (f *follower) list(ctx context.Context) error {
	now, err := f.client.Get(ctx, f.layout.records(f.kind), clientv3.WithCountOnly(), clientv3.WithPrefix())
	if err != nil {
		return err
	}
	at := now.Header.Revision
	f.next = at + 1
	return f.scan(ctx, f.kind, "", math.MaxInt, f.readOptions(clientv3.WithRev(at)), f.put)
}

// ownStream returns a context for one watch. The watches of a client whose contexts have equal
// metadata share a stream, and such watches of an embedded server can deadlock when several of them
// end at once: the client does not read responses while it sends a cancellation, and the server does
// not read requests while its responses, of which it buffers 16, are not read. The client sends no
// cancellation for the last watch of a stream.
//
// Source: client/v3/watch.go and server/etcdserver/api/v3rpc/watch.go of etcd.
func (s *Store) ownStream(ctx context.Context) context.Context {
	ctx = clientv3.WithRequireLeader(ctx)
	return metadata.AppendToOutgoingContext(ctx, "ironstate-watch", strconv.FormatUint(s.watches.Add(1), 10))
}

// follow queues changes until the watch ends, and returns its error.
func (f *follower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(f.ownStream(ctx))
	defer cancel()
	options := []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithRev(f.next), clientv3.WithProgressNotify()}
	for answer := range f.client.Watch(ctx, f.layout.records(f.kind), options...) {
		if err := answer.Err(); err != nil {
			return err
		}
		if n := len(answer.Events); n > 0 && f.single {
			if err := f.awaitRevision(ctx, answer.Events[n-1].Kv.ModRevision); err != nil {
				return err
			}
		}
		for _, event := range answer.Events {
			if event.Type == clientv3.EventTypeDelete {
				f.remove(f.layout.id(f.kind, event.Kv), event.Kv.ModRevision)
				continue
			}
			r, err := f.layout.decode(f.kind, event.Kv)
			if err != nil {
				return err
			}
			f.put(r)
		}
		if n := len(answer.Events); n > 0 {
			f.next = answer.Events[n-1].Kv.ModRevision + 1
		} else if answer.IsProgressNotify() {
			f.next = answer.Header.Revision + 1
		}
	}
	return errors.New("the watch has ended")
}

// revisionPause is the delay between two reads of a server's revision.
const revisionPause = 100 * time.Microsecond

// awaitRevision waits until reads from a single server see a revision. The server reports a write to its watches
// shortly before serializable reads see it.
//
// Source: End of watchableStoreTxnWrite in server/storage/mvcc/watchable_store_txn.go of etcd.
func (f *follower) awaitRevision(ctx context.Context, revision int64) error {
	for {
		answer, err := f.client.Get(ctx, f.layout.records(f.kind), clientv3.WithCountOnly(), clientv3.WithSerializable())
		if err != nil || answer.Header.Revision >= revision {
			return err
		}
		sleep.For(ctx, revisionPause)
	}
}

func (f *follower) put(r conductor.Record) { f.changes.Set(r.ID, conductor.Change{Record: r}) }

func (f *follower) remove(id string, revision int64) {
	gone := conductor.Record{Kind: f.kind, ID: id, Revision: revision}
	f.changes.Set(id, conductor.Change{Record: gone, Deleted: true})
}
