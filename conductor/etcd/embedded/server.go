// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"

	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/internal/zaplog"
)

const (
	serverName = "ironstate"
	// history is how long etcd keeps earlier versions of a record, for watches that have
	// not read them yet.
	history = time.Minute
	// defragment is the free space in megabytes above which etcd defragments the database
	// when it starts.
	defragment = 64
)

// ErrInUse: another process has the folder of [Config] open.
var ErrInUse = errors.New("another process has it open: stop that process first")

// Open starts the server in c.Dir and returns the store on it, once the server, or a quorum of its
// cluster, has responded. The store's Close stops the server. The context bounds only the call of
// Open.
func Open(ctx context.Context, c Config) (*etcd.Store, error) {
	c, err := c.complete()
	if err != nil {
		return nil, fmt.Errorf("open etcd: %w", err)
	}
	s, err := open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open etcd in %s: %w", c.Dir, err)
	}
	return s, nil
}

func open(ctx context.Context, c Config) (*etcd.Store, error) {
	if err := makeFolder(c.Dir); err != nil {
		return nil, err
	}
	lock, err := lockFolder(c.Dir)
	if err != nil {
		return nil, err
	}
	s := &running{lock: lock}
	s.quiet.Store(true)
	if s.server, err = openServer(ctx, c, zaplog.New(c.Log, &s.quiet)); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.quiet.Store(false)
	s.client = v3client.New(s.server.Server)
	maintaining, end := context.WithCancel(context.Background())
	s.end = end
	m := maintenance{
		client: s.client, server: s.server.Server, dir: c.Dir, quota: c.Quota, reserve: c.Reserve, preallocation: newPreallocation(c), log: c.Log,
	}
	s.maintenance.Go(func() { m.run(maintaining, c.maintainEvery) })
	store, err := etcd.OpenLocal(ctx, etcd.Local{
		Client: s.client, Single: !c.Cluster.isSet(), Prefix: c.Prefix, Log: c.Log, Observe: m.observe, Stop: s.stop,
	})
	if err == nil && c.Cluster.Replace != "" {
		if err = replace(ctx, s.client, c.Cluster); err != nil {
			err = errors.Join(err, store.Close())
		}
	}
	if err != nil {
		return nil, err
	}
	return store, nil
}

// running is a server that runs in this process, with what is stopped with it.
type running struct {
	quiet       atomic.Bool // a server that starts or stops logs warnings about intended conditions
	lock        *fileutil.LockedFile
	server      *embed.Etcd
	client      *clientv3.Client
	end         context.CancelFunc // ends the maintenance
	maintenance sync.WaitGroup
}

// stop stops the server and unlocks its folder.
func (s *running) stop() error {
	s.quiet.Store(true)
	s.end()
	s.maintenance.Wait()
	err := s.client.Close()
	if errors.Is(err, context.Canceled) { // always returned by a client without a connection
		err = nil
	}
	s.server.Close()
	return errors.Join(err, s.lock.Close())
}

// openServer starts the server of the folder. It first creates etcd's files in a temporary folder,
// if there are none, and renames it: a process that ends while etcd creates its files may leave
// files from which no server can start.
func openServer(ctx context.Context, c Config, log *zap.Logger) (*embed.Etcd, error) {
	if c.Cluster.isSet() {
		return openPeer(ctx, c, log)
	}
	if err := checkOther(c, peerDir, "one of a cluster's: set Cluster"); err != nil {
		return nil, err
	}
	dir, incomplete := databases(c)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.RemoveAll(incomplete); err != nil {
			return nil, err
		}
		server, err := startServer(ctx, serverConfig(incomplete, c.Quota, log), readyTimeout)
		if err != nil {
			return nil, err
		}
		server.Close()
		if err := rename(incomplete, dir); err != nil {
			return nil, err
		}
	}
	return startServer(ctx, serverConfig(dir, c.Quota, log), readyTimeout)
}

// rename renames a folder and syncs the parent, so that the rename is on disk when it returns.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

// makeFolder makes a folder and its parents if they are missing, and syncs the folders above those that it has made: a
// file that is on disk is lost with the name of its folder.
func makeFolder(dir string) error {
	parent := filepath.Dir(dir)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || parent == dir {
		return err
	}
	if err := makeFolder(parent); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return syncFolder(parent)
}

// syncFolder writes the names in a folder to the disk.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// readyTimeout bounds the time in which a single server becomes ready after it has read its folder.
// It needs one election timeout, which is 100 ms.
const readyTimeout = 20 * time.Second

// startGrace bounds the wait for etcd to end its start after the context has ended.
const startGrace = 10 * time.Second

// startServer returns a server that is ready within a timeout, 0 for none. A condition for which etcd would exit the
// process, such as a damaged log, is an error.
func startServer(ctx context.Context, config *embed.Config, timeout time.Duration) (*embed.Etcd, error) {
	if err := checkFolder(ctx, config.Dir); err != nil {
		return nil, err
	}
	if err := makeFolder(filepath.Join(config.Dir, "member")); err != nil { // etcd syncs the folders in it
		return nil, err
	}
	type result struct {
		server *embed.Etcd
		err    error
	}
	started := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r = result{err: fmt.Errorf("etcd cannot start from this folder: %v", p)}
			}
			started <- r
		}()
		r.server, r.err = embed.StartEtcd(config)
	}()
	select {
	case r := <-started:
		if r.err != nil {
			return nil, r.err
		}
		return r.server, untilReady(ctx, r.server, timeout)
	case <-ctx.Done():
	}
	// StartEtcd cannot be interrupted. The caller may remove the folder when it has an error, and etcd would panic, so
	// that the end of StartEtcd is awaited for a time.
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if r := <-started; r.server != nil {
			r.server.Close()
		}
	}()
	select {
	case <-closed:
	case <-time.After(startGrace):
	}
	return nil, ctx.Err()
}

// untilReady waits until a server serves requests. If it returns an error, it has stopped the server.
func untilReady(ctx context.Context, server *embed.Etcd, timeout time.Duration) (err error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout,
			fmt.Errorf("etcd was not ready within %v: its log and its database do not match", timeout))
		defer cancel()
	}
	select {
	case <-server.Server.ReadyNotify():
		return nil
	case err = <-server.Err():
	case <-server.Server.StopNotify():
		err = errors.New("etcd has stopped while it started")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	server.Close()
	return err
}

// serverConfig returns the configuration of a single server.
func serverConfig(dir string, quota int64, log *zap.Logger) *embed.Config {
	// etcd requires a peer address, although no server listens at it.
	self := url.URL{Scheme: "http", Host: "127.0.0.1:2380"}
	config := baseConfig(dir, quota, log)
	config.Name = serverName
	config.InitialCluster = serverName + "=" + self.String()
	config.AdvertisePeerUrls = []url.URL{self}
	config.ListenPeerUrls, config.AdvertiseClientUrls = nil, nil
	// A single server waits for one election timeout when it starts, and never for
	// heartbeats, so the timeout can be short.
	config.TickMs, config.ElectionMs = 10, 100
	return config
}

// baseConfig returns the configuration that all servers of this package share.
func baseConfig(dir string, quota int64, log *zap.Logger) *embed.Config {
	config := embed.NewConfig()
	config.Dir = dir
	config.ListenClientUrls = nil
	config.EnableGRPCGateway = false
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log)
	config.QuotaBackendBytes = quota
	config.AutoCompactionRetention = history.String()
	config.BootstrapDefragThresholdMegabytes = defragment
	return config
}
