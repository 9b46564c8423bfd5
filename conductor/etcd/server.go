package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
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
	// etcd locks its files too, but waits for them without end.
	lock, err := fileutil.TryLockFile(filepath.Join(c.Dir, "lock"), os.O_CREATE|os.O_WRONLY, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return ErrInUse
	}
	if err != nil {
		return err
	}
	server, err := startServer(ctx, c, zapLogger(c.Log))
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	s.client = v3client.New(server.Server)
	s.running.Go(func() { s.maintain(s.closing, c.Quota) })
	s.stop = func() error {
		err := s.client.Close()
		if errors.Is(err, context.Canceled) { // as that of a client without a connection always is
			err = nil
		}
		server.Close()
		return errors.Join(err, lock.Close())
	}
	return nil
}

// startServer returns a server that is ready. What etcd would end the process for,
// such as a log that is damaged, is an error.
func startServer(ctx context.Context, c Config, log *zap.Logger) (server *embed.Etcd, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("etcd cannot start from this folder: %v", p)
		}
	}()
	server, err = embed.StartEtcd(serverConfig(c, log))
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

func serverConfig(c Config, log *zap.Logger) *embed.Config {
	// A member of a cluster has to have an address, though nobody listens at it.
	self := url.URL{Scheme: "http", Host: "127.0.0.1:2380"}
	config := embed.NewConfig()
	config.Name = serverName
	config.Dir = c.Dir
	config.InitialCluster = serverName + "=" + self.String()
	config.AdvertisePeerUrls = []url.URL{self}
	config.ListenPeerUrls, config.ListenClientUrls, config.AdvertiseClientUrls = nil, nil, nil
	config.EnableGRPCGateway = false
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log)
	config.QuotaBackendBytes = c.Quota
	config.AutoCompactionMode = embed.CompactorModePeriodic
	config.AutoCompactionRetention = history.String()
	config.BootstrapDefragThresholdMegabytes = defragment
	return config
}
