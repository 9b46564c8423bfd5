package etcd

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Open returns the store that the configuration names, once its server or cluster has
// answered. The context bounds the opening alone.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.complete()
	if err != nil {
		return nil, fmt.Errorf("open etcd: %w", err)
	}
	s := &Store{layout: layout{c.Prefix}, embedded: c.Dir != "", log: c.Log}
	s.closing, s.end = context.WithCancelCause(context.Background())
	where := fmt.Sprintf("in %s", c.Dir)
	if s.embedded {
		err = s.serve(ctx, c)
	} else {
		where = fmt.Sprintf("at %q", c.Endpoints)
		err = s.dial(c)
	}
	if err == nil {
		if err = s.ping(ctx); err != nil {
			_ = s.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open etcd %s: %w", where, err)
	}
	return s, nil
}

// ping asks for an answer that every server of the cluster agrees to. A server that has
// just started has then done again all that it had done before.
func (s *Store) ping(ctx context.Context) error {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.client.Get(ctx, s.layout.prefix+"/v1/", clientv3.WithCountOnly())
	return failure(ctx, err)
}

const (
	loginTimeout     = 10 * time.Second
	keepAlive        = 10 * time.Second // not below 5 s, which etcd's servers forbid
	keepAliveTimeout = 5 * time.Second
)

// dial makes the client of a cluster.
func (s *Store) dial(c Config) error {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            c.Endpoints,
		TLS:                  c.TLS,
		Username:             c.User,
		Password:             c.Password.Reveal(),
		DialTimeout:          loginTimeout,
		DialKeepAliveTime:    keepAlive,
		DialKeepAliveTimeout: keepAliveTimeout,
		Logger:               zapLogger(c.Log),
	})
	if err != nil {
		return err
	}
	s.client, s.stop = client, client.Close
	return nil
}
