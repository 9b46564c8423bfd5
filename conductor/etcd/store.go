// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/sleep"
)

// Store is a [conductor.Store] on etcd. It is safe for concurrent use. Its errors match the errors of
// the interface, and [ErrClosed], [ErrNoSpace], [ErrNoMajority] or [*TooLargeError] for these causes.
type Store struct {
	layout layout
	client *clientv3.Client
	local  bool         // the client calls a server in this process
	single bool         // that server is the only one of its cluster
	stop   func() error // closes client and server
	log    *slog.Logger

	monitor *monitor

	watches atomic.Uint64 // the number of watches of client so far

	mu      sync.Mutex
	closed  bool
	closing context.Context // ends with the cause ErrClosed
	end     context.CancelCauseFunc
	running sync.WaitGroup // the requests and watches that use the client
	close   func() error
}

// requestTimeout bounds a request, so that an unreachable cluster does not block a caller whose
// context has no deadline.
const requestTimeout = 15 * time.Second

// begin registers a request with Close. The returned context ends when the store is closed, when the majority is lost,
// and after requestTimeout. The caller calls the returned function when the request has ended. The error is
// ErrNoMajority, ErrClosed or the context's.
func (s *Store) begin(ctx context.Context) (context.Context, func(), error) {
	ctx, done, err := s.beginWatch(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, release, err := s.monitor.within(ctx)
	if err != nil {
		done()
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout,
		fmt.Errorf("etcd has not answered within %v: %w", requestTimeout, context.DeadlineExceeded))
	return ctx, func() {
		cancel()
		release()
		done()
	}, nil
}

// beginWatch is begin without requestTimeout, and the loss of the majority does not end the context.
func (s *Store) beginWatch(ctx context.Context) (context.Context, func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, ErrClosed
	}
	s.running.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.closing, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		s.running.Done()
	}, nil
}

// Close ends all requests, watches and memberships with [ErrClosed], and then stops the server if
// it runs in this process. It may be called more than once, and from the loop body of a range over
// a watch.
func (s *Store) Close() error {
	return s.close()
}

// shut does the work of Close. It must be called only once.
func (s *Store) shut() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(ErrClosed)
	s.running.Wait()
	return s.stop()
}

// readOptions returns the options of a read, so that it sees every write that has returned. A
// single server responds to a write after applying it, so a serializable read is enough. A server
// of a cluster may lag behind the others and needs a linearizable read.
func (s *Store) readOptions(options ...clientv3.OpOption) []clientv3.OpOption {
	if s.single {
		return append(options, clientv3.WithSerializable())
	}
	return options
}

// readBackoff is the time between two attempts of a read.
const readBackoff = 100 * time.Millisecond

// retryRead calls read, and retries it while the cluster changes its leader. With a server of a cluster in this process
// it also retries while the cluster cannot be reached: the client of remote servers does this by itself.
func retryRead[T any](ctx context.Context, s *Store, read func() (T, error)) (T, error) {
	for {
		answer, err := read()
		wait := errors.Is(err, rpctypes.ErrLeaderChanged) || s.local && !s.single && isUnavailable(err)
		if err == nil || !wait {
			return answer, err
		}
		if !sleep.For(ctx, readBackoff) {
			return answer, ctx.Err()
		}
	}
}

// Get implements [conductor.Store].
func (s *Store) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	r, err := s.get(ctx, kind, key)
	if err != nil {
		return conductor.Record{}, fmt.Errorf("get %s %s: %w", kind, key, err)
	}
	return r, nil
}

func (s *Store) get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return conductor.Record{}, err
	}
	defer done()
	for {
		r, err := retryRead(ctx, s, func() (conductor.Record, error) { return s.find(ctx, kind, key) })
		if !errors.Is(err, rpctypes.ErrCompacted) {
			return r, failure(ctx, err)
		}
	}
}

// find returns the record with an ID or key. All its reads are at one revision.
func (s *Store) find(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	answer, err := s.client.Txn(ctx).Then(
		clientv3.OpGet(s.layout.record(kind, key), s.readOptions()...),
		clientv3.OpGet(s.layout.key(kind, key), s.readOptions()...),
	).Commit()
	if err != nil {
		return conductor.Record{}, err
	}
	if byID := answer.Responses[0].GetResponseRange(); len(byID.Kvs) > 0 {
		return s.layout.decode(kind, byID.Kvs[0])
	}
	byKey := answer.Responses[1].GetResponseRange()
	if len(byKey.Kvs) == 0 {
		return conductor.Record{}, conductor.NotFound
	}
	id := string(byKey.Kvs[0].Value)
	record, err := s.client.Get(ctx, s.layout.record(kind, id), s.readOptions(clientv3.WithRev(answer.Header.Revision))...)
	switch {
	case err != nil:
		return conductor.Record{}, err
	case len(record.Kvs) == 0:
		return conductor.Record{}, fmt.Errorf("%s names the record %s, which does not exist", byKey.Kvs[0].Key, id)
	}
	return s.layout.decode(kind, record.Kvs[0])
}

// List implements [conductor.Store].
func (s *Store) List(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	defer done()
	var page []conductor.Record
	err = s.scan(ctx, kind, after, limit, s.readOptions(), func(r conductor.Record) { page = append(page, r) })
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, failure(ctx, err))
	}
	return page, nil
}

const (
	firstPage = 128
	mostPage  = 16 << 10
	pageBytes = 16 << 20 // approximate size of a page
)

// scan reads up to limit records after the ID, in pages. It adapts the number of records in a page to their size.
func (s *Store) scan(
	ctx context.Context, kind conductor.Kind, after string, limit int, options []clientv3.OpOption, each func(conductor.Record),
) error {
	prefix := s.layout.records(kind)
	end := clientv3.GetPrefixRangeEnd(prefix)
	begin := prefix
	if after != "" {
		begin += after + "\x00"
	}
	for size, left := firstPage, limit; left > 0; {
		size = min(size, left)
		answer, err := retryRead(ctx, s, func() (*clientv3.GetResponse, error) {
			return s.client.Get(ctx, begin, append(options, clientv3.WithRange(end), clientv3.WithLimit(int64(size)))...)
		})
		if err != nil {
			return err
		}
		bytes := 1
		for _, kv := range answer.Kvs {
			r, err := s.layout.decode(kind, kv)
			if err != nil {
				return err
			}
			each(r)
			bytes += len(kv.Value)
		}
		if !answer.More {
			return nil
		}
		left -= len(answer.Kvs)
		begin = string(answer.Kvs[len(answer.Kvs)-1].Key) + "\x00"
		size = min(max(pageBytes*len(answer.Kvs)/bytes, 1), mostPage)
	}
	return nil
}
