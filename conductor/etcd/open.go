package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/status"

	"github.com/ironstate/ironstate/conductor"
)

// Open returns the store of a configuration once its server or cluster has responded. The context
// bounds only the call of Open.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.complete()
	if ctx == nil {
		err = &conductor.ConfigError{Field: "the context", Want: "set"}
	}
	if err != nil {
		return nil, fmt.Errorf("open etcd: %w", err)
	}
	s := &Store{layout: layout{c.Prefix}, log: c.Log}
	s.closing, s.end = context.WithCancelCause(context.Background())
	s.close = sync.OnceValue(s.shut)
	var last lastFailure
	where := fmt.Sprintf("in %s", c.Dir)
	if c.Dir != "" {
		err = s.serve(ctx, c)
	} else {
		where = fmt.Sprintf("at %q", c.Endpoints)
		err = s.dial(c, &last)
	}
	if err == nil {
		err = s.prepare(ctx)
		if err == nil && c.Cluster.Replace != "" {
			err = s.replace(ctx, c.Cluster)
		}
		if err != nil {
			_ = s.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open etcd %s: %w", where, last.explain(err))
	}
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
	if err == nil && s.alone {
		_, err = s.client.Delete(ctx, s.layout.members(), clientv3.WithPrefix())
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
		Logger: zapLogger(c.Log, quiet),
	})
	if err != nil {
		return err
	}
	s.client, s.stop = client, client.Close
	return nil
}
