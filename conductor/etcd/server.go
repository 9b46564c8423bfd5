package etcd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
)

const (
	serverName = "ironstate"
	// history is how long the versions of a record before the last one are kept, for
	// watches that have yet to read them.
	history = time.Minute
	// defragment is how many megabytes have to be free in the database for it to be
	// made smaller when it is opened.
	defragment = 64
)

// serve starts the server of the folder, and makes a client that calls its functions.
func (s *Store) serve(ctx context.Context, c Config) error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	lock, err := lockFolder(c.Dir)
	if err != nil {
		return err
	}
	// A server that starts or stops warns of what is meant to be so.
	quiet := new(atomic.Bool)
	quiet.Store(true)
	server, err := openServer(ctx, c, zapLogger(c.Log, quiet))
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	quiet.Store(false)
	s.server, s.client, s.alone = server.Server, v3client.New(server.Server), !c.Cluster.isSet()
	s.running.Go(func() { s.maintain(s.closing, c.Quota) })
	s.stop = func() error {
		quiet.Store(true)
		err := s.client.Close()
		if errors.Is(err, context.Canceled) { // as that of a client without a connection always is
			err = nil
		}
		server.Close()
		return errors.Join(err, lock.Close())
	}
	return nil
}

// openServer starts the server of the folder, which is made first where there is none.
// A process that ends while etcd makes its files leaves some that no server ever
// starts from, so they are made elsewhere, by a server that nobody writes to.
func openServer(ctx context.Context, c Config, log *zap.Logger) (*embed.Etcd, error) {
	if c.Cluster.isSet() {
		return openPeer(ctx, c, log)
	}
	if err := checkOther(c, peerDir, "one of a cluster's: set Cluster"); err != nil {
		return nil, err
	}
	dir, incomplete := databases(c.Dir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.RemoveAll(incomplete); err != nil {
			return nil, err
		}
		server, err := startServer(ctx, serverConfig(incomplete, c.Quota, log))
		if err != nil {
			return nil, err
		}
		server.Close()
		if err := rename(incomplete, dir); err != nil {
			return nil, err
		}
	}
	return startServer(ctx, serverConfig(dir, c.Quota, log))
}

// rename is on disk when it returns.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

// startServer returns a server that is ready. What etcd would end the process for,
// such as a log that is damaged, is an error.
func startServer(ctx context.Context, config *embed.Config) (server *embed.Etcd, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("etcd cannot start from this folder: %v", p)
		}
	}()
	if err := checkDatabase(filepath.Join(config.Dir, "member", "snap", "db")); err != nil {
		return nil, err
	}
	server, err = embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-server.Server.ReadyNotify():
		return server, nil
	case err = <-server.Err():
	case <-server.Server.StopNotify():
		err = errors.New("etcd has stopped while it started")
	case <-ctx.Done():
		err = ctx.Err()
	}
	server.Close()
	return nil, err
}

// checkDatabase returns an error where the file is no database. etcd opens it in a
// goroutine whose panic nobody could recover.
func checkDatabase(file string) error {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("the database %s cannot be read: %w", file, err)
	}
	return db.Close()
}

// serverConfig returns the configuration of a server that is alone.
func serverConfig(dir string, quota int64, log *zap.Logger) *embed.Config {
	// A member of a cluster has to have an address, though nobody listens at it.
	self := url.URL{Scheme: "http", Host: "127.0.0.1:2380"}
	config := baseConfig(dir, quota, log)
	config.Name = serverName
	config.InitialCluster = serverName + "=" + self.String()
	config.AdvertisePeerUrls = []url.URL{self}
	config.ListenPeerUrls, config.AdvertiseClientUrls = nil, nil
	// A server that is alone waits for an election timeout when it starts, and for
	// nobody's heartbeat later.
	config.TickMs, config.ElectionMs = 10, 100
	return config
}

// baseConfig returns the configuration that all servers of this package have.
func baseConfig(dir string, quota int64, log *zap.Logger) *embed.Config {
	config := embed.NewConfig()
	config.Dir = dir
	config.ListenClientUrls = nil
	config.EnableGRPCGateway = false
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log)
	config.QuotaBackendBytes = quota
	config.AutoCompactionMode = embed.CompactorModePeriodic
	config.AutoCompactionRetention = history.String()
	config.BootstrapDefragThresholdMegabytes = defragment
	return config
}
