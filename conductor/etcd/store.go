package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver"

	"github.com/ironstate/ironstate/conductor"
)

// Store is a [conductor.Store] on etcd. It is safe for concurrent use. Errors match
// those of the interface, and [ErrClosed], [ErrNoSpace] and [*TooLargeError] where
// these are the cause. The methods of a nil or zero Store, and those that are given a
// nil context, return a [*conductor.ConfigError].
type Store struct {
	layout layout
	client *clientv3.Client
	server *etcdserver.EtcdServer // in this process; nil: there is none
	alone  bool                   // no other server has the records
	stop   func() error           // closes client and server
	log    *slog.Logger

	mu      sync.Mutex
	closed  bool
	closing context.Context // ends with the cause ErrClosed
	end     context.CancelCauseFunc
	running sync.WaitGroup // what uses the client
	close   func() error
}

// requestTimeout bounds a request whose context has no deadline, so that a cluster
// that nobody can reach keeps no caller forever.
const requestTimeout = 15 * time.Second

// usable returns why a request cannot be made.
func (s *Store) usable(ctx context.Context) error {
	switch {
	case s == nil || s.client == nil:
		return &conductor.ConfigError{Field: "Store", Want: "one that Open made"}
	case ctx == nil:
		return &conductor.ConfigError{Field: "the context", Want: "set"}
	default:
		return ctx.Err()
	}
}

// begin counts a request, whose context then ends when the store is closed.
func (s *Store) begin(ctx context.Context) (context.Context, func(), error) {
	ctx, done, err := s.beginWatch(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, fmt.Errorf("etcd has not answered within %v: %w", requestTimeout, context.DeadlineExceeded))
	return ctx, func() {
		cancel()
		done()
	}, nil
}

// beginWatch is begin for what may take as long as its context.
func (s *Store) beginWatch(ctx context.Context) (context.Context, func(), error) {
	if err := s.usable(ctx); err != nil {
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

// Close ends all requests, watches and memberships, with [ErrClosed], and then the
// server, if it is in this process. It may be called more than once, and from the body
// of a range.
func (s *Store) Close() error {
	if err := s.usable(context.Background()); err != nil {
		return err
	}
	return s.close()
}

// shut is Close, which is to be called once.
func (s *Store) shut() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(ErrClosed)
	s.running.Wait()
	return s.stop()
}

// readOptions returns how a read is done. A server that is alone has applied every
// write that has returned, since it answers only then; a cluster's may lag, unless it
// asks the others.
func (s *Store) readOptions(options ...clientv3.OpOption) []clientv3.OpOption {
	if s.alone {
		return append(options, clientv3.WithSerializable())
	}
	return options
}

// readPause is how long a read waits for the next attempt.
const readPause = 100 * time.Millisecond

// patiently calls a function that reads, again where the servers had no leader, or
// another one meanwhile. A client of servers elsewhere does so itself.
func patiently[T any](ctx context.Context, s *Store, read func() (T, error)) (T, error) {
	for {
		answer, err := read()
		if err == nil || s.server == nil || s.alone || !isUnavailable(err) {
			return answer, err
		}
		select {
		case <-time.After(readPause):
		case <-ctx.Done():
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
		r, err := patiently(ctx, s, func() (conductor.Record, error) { return s.find(ctx, kind, key) })
		if !errors.Is(err, rpctypes.ErrCompacted) {
			return r, failure(ctx, err)
		}
	}
}

// find looks for a record by its ID and its keys at one revision.
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
		return conductor.Record{}, conductor.ErrNotFound
	}
	id := string(byKey.Kvs[0].Value)
	record, err := s.client.Get(ctx, s.layout.record(kind, id), s.readOptions(clientv3.WithRev(answer.Header.Revision))...)
	switch {
	case err != nil:
		return conductor.Record{}, err
	case len(record.Kvs) == 0:
		return conductor.Record{}, fmt.Errorf("%s names the record %s, which is not there", byKey.Kvs[0].Key, id)
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
	_, err = s.scan(ctx, kind, after, limit, s.readOptions(), func(r conductor.Record) { page = append(page, r) })
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, failure(ctx, err))
	}
	return page, nil
}

const (
	firstPage = 128
	mostPage  = 16 << 10
	pageBytes = 16 << 20 // what a page is to have, roughly
)

// scan reads up to limit records after the ID, some at a time, and returns the
// revision at which it has read the first of them.
func (s *Store) scan(
	ctx context.Context, kind conductor.Kind, after string, limit int, options []clientv3.OpOption, each func(conductor.Record),
) (revision int64, err error) {
	prefix := s.layout.records(kind)
	end := clientv3.GetPrefixRangeEnd(prefix)
	begin := prefix
	if after != "" {
		begin += after + "\x00"
	}
	for size, left := firstPage, limit; left > 0; {
		size = min(size, left)
		answer, err := patiently(ctx, s, func() (*clientv3.GetResponse, error) {
			return s.client.Get(ctx, begin, append(options, clientv3.WithRange(end), clientv3.WithLimit(int64(size)))...)
		})
		if err != nil {
			return 0, err
		}
		if revision == 0 {
			revision = answer.Header.Revision
		}
		bytes := 1
		for _, kv := range answer.Kvs {
			r, err := s.layout.decode(kind, kv)
			if err != nil {
				return 0, err
			}
			each(r)
			bytes += len(kv.Value)
		}
		if !answer.More {
			return revision, nil
		}
		left -= len(answer.Kvs)
		begin = string(answer.Kvs[len(answer.Kvs)-1].Key) + "\x00"
		size = min(max(pageBytes*len(answer.Kvs)/bytes, 1), mostPage)
	}
	return revision, nil
}
