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

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/status"

	"github.com/ironstate/ironstate/conductor/etcd/internal/zaplog"
)

// Open returns the store of a configuration once its cluster has responded. The context bounds only
// the call of Open.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.complete()
	if err != nil {
		return nil, fmt.Errorf("open etcd: %w", err)
	}
	s, err := newStore(c.Prefix, c.Log)
	if err != nil {
		return nil, fmt.Errorf("open etcd: %w", err)
	}
	var last lastFailure
	err = s.dial(c, &last)
	if err == nil {
		err = s.prepare(ctx)
		if err != nil {
			_ = s.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open etcd at %q: %w", c.Endpoints, last.explain(err))
	}
	s.monitor.observe, s.monitor.pause, s.monitor.limit = s.probe, probePause, probeLimit
	s.running.Go(func() { s.monitor.run(s.closing) })
	return s, nil
}

// Local is a server in the process of its store, as package embedded starts it.
type Local struct {
	Client *clientv3.Client // calls the server without a connection
	Single bool             // the server is the only one of its cluster
	Prefix string           // see [Config]
	Log    *slog.Logger     // nil discards the log
	Stop   func() error     // stops the client and the server; called once
	// Observe reports without I/O whether the server has a leader, and whether writes are refused because there is no
	// space. Nil stands for a server that always has a leader and space.
	Observe func() (led, full bool)
}

// OpenLocal returns the store on a server in this process once it has responded. [Store.Close] stops
// the server, and so does OpenLocal if it fails. The context bounds only the call of OpenLocal.
func OpenLocal(ctx context.Context, l Local) (*Store, error) {
	s, err := newStore(l.Prefix, l.Log)
	if err != nil {
		return nil, errors.Join(err, l.Stop())
	}
	s.client, s.stop, s.local, s.single = l.Client, l.Stop, true, l.Single
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if l.Observe == nil {
		return s, nil
	}
	s.monitor.observe, s.monitor.pause, s.monitor.limit = func(context.Context) observation {
		led, full := l.Observe()
		return observation{led, full}
	}, localPause, localLimit
	s.running.Go(func() { s.monitor.run(s.closing) })
	return s, nil
}

// newStore returns a store without a client.
func newStore(prefix string, log *slog.Logger) (*Store, error) {
	layout, err := newLayout(prefix)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Store{layout: layout, log: log, monitor: newMonitor(log)}
	s.closing, s.end = context.WithCancelCause(context.Background())
	s.close = sync.OnceValue(s.shut)
	return s, nil
}

// lastFailure keeps the last error of a request. The client retries requests until the context ends
// and then returns only the context's error.
type lastFailure struct{ err atomic.Pointer[error] }

func (l *lastFailure) intercept(
	ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	err := invoke(ctx, method, request, answer, conn, options...)
	if err != nil {
		l.err.Store(&err)
	}
	return err
}

func (l *lastFailure) explain(err error) error {
	last := l.err.Load()
	if last == nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %s", err, status.Convert(*last).Message())
}

// prepare waits for a linearizable read. A server that has just started has then applied its log.
// For a single embedded server, prepare also deletes the members that an earlier process has left in
// the folder, since they are not alive.
func (s *Store) prepare(ctx context.Context) error {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = retryRead(ctx, s, func() (*clientv3.GetResponse, error) {
		return s.client.Get(ctx, s.layout.prefix+"/v1/", clientv3.WithCountOnly())
	})
	if err == nil && s.single {
		for _, prefix := range []string{s.layout.members(), s.layout.names()} {
			if _, err = s.client.Delete(ctx, prefix, clientv3.WithPrefix()); err != nil {
				break
			}
		}
	}
	return failure(ctx, err)
}

const (
	loginTimeout     = 10 * time.Second
	keepAlive        = 10 * time.Second // etcd's servers forbid less than 5 s
	keepAliveTimeout = 5 * time.Second
)

// reconnect is the backoff of a client between two attempts to connect to a server. gRPC's default
// grows to two minutes, in which a conductor would lose its membership.
var reconnect = backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}

// dial creates the client of a cluster.
func (s *Store) dial(c Config, last *lastFailure) error {
	// The client's warnings are also in its errors.
	quiet := new(atomic.Bool)
	quiet.Store(true)
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            c.Endpoints,
		TLS:                  c.TLS,
		Username:             c.User,
		Password:             c.Password.Reveal(),
		DialTimeout:          loginTimeout,
		DialKeepAliveTime:    keepAlive,
		DialKeepAliveTimeout: keepAliveTimeout,
		DialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(last.intercept),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: keepAliveTimeout}),
		},
		Logger: zaplog.New(s.log, quiet),
	})
	if err != nil {
		return err
	}
	s.client, s.stop = client, client.Close
	return nil
}
