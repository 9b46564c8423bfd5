// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"

	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/internal/needs"
)

func TestTheConfigurationOfASingleServer(t *testing.T) {
	c := serverConfig("dir", 7, zap.NewNop())
	require.Equal(t, "dir", c.Dir)
	require.EqualValues(t, 7, c.QuotaBackendBytes)
	require.Equal(t, c.Name+"=http://127.0.0.1:2380", c.InitialCluster)
	require.Equal(t, []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}, c.AdvertisePeerUrls)
	require.Empty(t, c.ListenPeerUrls, "it has no peers")
	require.Empty(t, c.ListenClientUrls, "its client is in this process")
	require.Empty(t, c.AdvertiseClientUrls)
	require.False(t, c.EnableGRPCGateway)
	require.Equal(t, "periodic", c.AutoCompactionMode)
	require.Equal(t, "1m0s", c.AutoCompactionRetention)
	require.EqualValues(t, 64, c.BootstrapDefragThresholdMegabytes)
	require.Equal(t, []uint{10, 100}, []uint{c.TickMs, c.ElectionMs})
}

// startAlone starts a single server.
func startAlone(t *testing.T) *embed.Etcd {
	t.Helper()
	needs.Time(t)
	s, err := startServer(t.Context(), serverConfig(t.TempDir(), 1<<30, zap.NewNop()), readyTimeout)
	require.NoError(t, err)
	return s
}

func TestTheMaintenanceOfAServer(t *testing.T) {
	var log bytes.Buffer
	server := startAlone(t)
	defer server.Close()
	m := maintenance{
		client: v3client.New(server.Server), server: server.Server, dir: t.TempDir(), quota: 1 << 30,
		preallocation: &preallocation{folder: server.Config().Dir, file: filepath.Join(t.TempDir(), "ballast")},
		log:           slog.New(slog.NewTextHandler(&log, nil)),
	}
	// keep maintains the server, and returns what is logged.
	keep := func(due bool, reserve, quota int64) string {
		t.Helper()
		log.Reset()
		m.reserve, m.quota = reserve, quota
		require.NoError(t, m.keep(t.Context(), due))
		return log.String()
	}
	require.Empty(t, keep(true, 0, 1<<30))
	require.Contains(t, keep(true, 1<<60, 1<<30), "the file system is almost full: writes are refused until there is space")
	require.Len(t, server.Server.Alarms(), 1)
	require.Empty(t, keep(true, 1<<60, 1<<30), "it is told once")

	for range 2 { // the second time the history is compacted already
		text := keep(true, 0, 1)
		require.Contains(t, text, "etcd's database was defragmented")
		require.Contains(t, text, "quota=1")
		require.Contains(t, text, "level=ERROR")
		require.Len(t, server.Server.Alarms(), 1, "the database is larger than its quota")
	}
	require.Empty(t, keep(false, 0, 1), "the database is not due")

	for id := range uint64(2) { // of servers that were replaced
		_, err := m.server.Alarm(t.Context(), &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: 77 + id,
			Alarm: etcdserverpb.AlarmType_NOSPACE})
		require.NoError(t, err)
	}
	require.Contains(t, keep(false, 0, 1<<30), "there is space again: writes are accepted")
	require.Empty(t, server.Server.Alarms())
	require.Empty(t, keep(false, 0, 1<<30))
}

func TestAServerThatDoesNotBecomeReady(t *testing.T) {
	needs.Time(t)
	require.Positive(t, readyTimeout, "a single server waits for nobody")
	start := func() *embed.Etcd {
		peers := map[string]string{"a": "http://" + etcdtest.Loopback(t), "b": "http://" + etcdtest.Loopback(t)}
		config, err := peerConfig(t.TempDir(), Config{Cluster: Cluster{Name: "a", Peers: peers}}, zap.NewNop())
		require.NoError(t, err)
		s, err := embed.StartEtcd(config)
		require.NoError(t, err)
		return s
	}
	require.EqualError(t, untilReady(t.Context(), start(), time.Millisecond),
		"etcd was not ready within 1ms: its log and its database do not match")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, untilReady(ctx, start(), 0), context.DeadlineExceeded)
	s := start()
	go s.Server.Stop()
	require.EqualError(t, untilReady(t.Context(), s, 0), "etcd has stopped while it started")
}

func TestAPanicOfEtcdAtItsStartIsAnError(t *testing.T) {
	config := serverConfig(t.TempDir(), 1<<30, zap.NewNop())
	config.ZapLoggerBuilder = func(*embed.Config) error { panic("no log") }
	_, err := startServer(t.Context(), config, readyTimeout)
	require.ErrorContains(t, err, "etcd cannot start from this folder: no log")
}

// endingContext ends when its error has been asked for a number of times.
type endingContext struct {
	context.Context
	left int
	done chan struct{}
}

func endsAfter(t *testing.T, left int) *endingContext {
	c := &endingContext{t.Context(), left, make(chan struct{})}
	if left == 0 {
		close(c.done)
	}
	return c
}

func (c *endingContext) Done() <-chan struct{} { return c.done }

func (c *endingContext) Err() error {
	if c.left == 0 {
		return context.Canceled
	}
	if c.left--; c.left == 0 {
		close(c.done)
	}
	return nil
}

func TestAnInterruptedStartLeavesNoServerBehind(t *testing.T) {
	s := startAlone(t)
	dir := s.Config().Dir
	s.Close()
	c := endsAfter(t, 1<<30)
	require.NoError(t, checkFolder(c, dir))
	_, err := startServer(endsAfter(t, 1<<30-c.left), serverConfig(dir, 1<<30, zap.NewNop()), readyTimeout)
	require.ErrorIs(t, err, context.Canceled)
	db, err := bbolt.Open(filepath.Join(dir, "member", "snap", "db"), 0o600, &bbolt.Options{Timeout: time.Millisecond})
	require.NoError(t, err, "etcd has closed it")
	require.Positive(t, startGrace)
	require.NoError(t, db.Close())
}

func TestAFolderIsRenamed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "new"), 0o700))
	require.NoError(t, rename(filepath.Join(dir, "new"), filepath.Join(dir, "old")))
	require.DirExists(t, filepath.Join(dir, "old"))
	require.ErrorIs(t, rename(filepath.Join(dir, "new"), filepath.Join(dir, "old")), os.ErrNotExist)
}

func TestThePeersAreAskedForTwoSeconds(t *testing.T) {
	client, err := Cluster{}.peerClient()
	require.NoError(t, err)
	require.Equal(t, 2*time.Second, client.Timeout)
	require.IsType(t, &http.Transport{}, client.Transport)
}

func TestTheFolderOfAServerWithAVoteIsKept(t *testing.T) {
	dir := t.TempDir()
	damaged := append(make([]byte, newDatabase()), 1)
	require.NoError(t, os.CopyFS(filepath.Join(dir, peerDir), os.DirFS(etcdFolder(t, damaged, false))))
	c := Config{Dir: dir, Cluster: Cluster{Name: "a", Peers: map[string]string{"a": "http://127.0.0.1:1"}}}
	_, err := openPeer(t.Context(), c, zap.NewNop())
	require.ErrorContains(t, err, "is damaged and has lost its log")
	vote := uint64(1)
	saved(t, filepath.Join(dir, peerDir, "member", "wal"), hardState(vote))
	_, err = openPeer(t.Context(), c, zap.NewNop())
	require.ErrorContains(t, err, "cannot be read: it is not a database")
	require.DirExists(t, filepath.Join(dir, peerDir))
}
