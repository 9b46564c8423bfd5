// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/conductor/storetest"
	"github.com/ironstate/ironstate/internal/needs"
)

// newPeers returns the configurations of the three servers of a cluster.
func newPeers(t *testing.T) []embedded.Config {
	t.Helper()
	needs.Time(t)
	urls := map[string]string{}
	for _, name := range []string{"alpha", "beta", "gamma"} {
		urls[name] = "http://" + etcdtest.Loopback(t)
	}
	var all []embedded.Config
	for name := range urls {
		all = append(all, embedded.Config{Dir: t.TempDir(), Cluster: embedded.Cluster{Name: name, Peers: urls}})
	}
	return all
}

// openAll opens stores concurrently, since Open waits for a quorum.
func openAll(t *testing.T, configs []embedded.Config) []*etcd.Store {
	t.Helper()
	stores, errs := make([]*etcd.Store, len(configs)), make([]error, len(configs))
	var group sync.WaitGroup
	for i, c := range configs {
		group.Go(func() { stores[i], errs[i] = embedded.Open(t.Context(), c) })
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	for _, s := range stores {
		t.Cleanup(func() { _ = s.Close() })
	}
	return stores
}

func TestTheStoreOfServersInSeveralProcessesKeepsItsPromises(t *testing.T) {
	t.Parallel()
	stores := openAll(t, newPeers(t))
	require.NoError(t, storetest.Check(stores[0], stores[1], stores[2]))
}

func TestTwoOfThreeServersServeAndTheThirdRejoins(t *testing.T) {
	t.Parallel()
	configs := newPeers(t)
	stores := openAll(t, configs)
	stays := etcdtest.Join(t, stores[1].Membership(time.Minute), "stays")
	goes := etcdtest.Join(t, stores[0].Membership(0), "goes")
	stays.Sees(t, "goes stays")
	goes.Sees(t, "goes stays")
	a := etcdtest.Create(t, stores[0], "a", "name=a")

	require.NoError(t, stores[0].Close())
	require.ErrorIs(t, <-goes.Ended, etcd.ErrClosed)
	stays.Sees(t, "stays")
	got, err := stores[2].Get(t.Context(), etcdtest.Kind, "name=a")
	require.NoError(t, err)
	require.Equal(t, a, got)
	b := etcdtest.Create(t, stores[1], "b")
	listed, err := stores[2].List(t.Context(), etcdtest.Kind, "", 10)
	require.NoError(t, err)
	require.Equal(t, []conductor.Record{a, b}, listed)

	require.NoError(t, stores[2].Close()) // a single server is no quorum
	_, err = stores[1].Get(t.Context(), etcdtest.Kind, "a")
	require.ErrorIs(t, err, etcd.ErrNoMajority)
	_, err = stores[1].Update(t.Context(), a)
	require.ErrorIs(t, err, etcd.ErrNoMajority)
	require.Equal(t, etcd.ErrNoMajority, stores[1].Health())

	again := openAll(t, []embedded.Config{configs[0], configs[2]})
	for _, s := range again {
		got, err := s.Get(t.Context(), etcdtest.Kind, "b")
		require.NoError(t, err)
		require.Equal(t, b, got)
	}
}

func TestACleanStopOfAServerLogsNoError(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer // safe: a handler serializes its writes
	handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})
	configs := newPeers(t)
	for i := range configs {
		configs[i].Log = slog.New(handler)
	}
	stores := openAll(t, configs)
	require.NoError(t, stores[0].Close())
	replaces := configs[0]
	replaces.Cluster.Replace = configs[1].Cluster.Name
	_, err := embedded.Open(t.Context(), replaces)
	require.ErrorContains(t, err, "cannot be replaced: stop it first")
	for _, s := range stores[1:] {
		require.NoError(t, s.Close())
	}
	require.Empty(t, log.String())
}

func TestAServerThatWasKilledWhileCreatingItsFilesStartsAgain(t *testing.T) {
	t.Parallel()
	configs := newPeers(t)
	left := filepath.Join(configs[0].Dir, "peer", "member", "snap")
	require.NoError(t, os.MkdirAll(left, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(left, "db"), []byte("half a database"), 0o600))
	configs[0].Cluster.Client = "http://" + etcdtest.Loopback(t)
	a := etcdtest.Create(t, openAll(t, configs)[0], "a")

	outside := connect(t, configs[0].Cluster.Client)
	got, err := outside.Get(t.Context(), etcdtest.Kind, "a")
	require.NoError(t, err)
	require.Equal(t, a, got)
}

func TestAServerThatHasLostItsFolderIsRefused(t *testing.T) {
	t.Parallel()
	configs := newPeers(t)
	stores := openAll(t, configs)
	etcdtest.Create(t, stores[0], "a")
	require.NoError(t, stores[0].Close())
	require.NoError(t, os.RemoveAll(filepath.Join(configs[0].Dir, "peer")))
	_, err := embedded.Open(t.Context(), configs[0])
	require.ErrorContains(t, err, "already been bootstrapped")
}

func TestTheDatabaseOfAServerThatHasLostItsLogIsKept(t *testing.T) {
	t.Parallel()
	configs := newPeers(t)
	stores := openAll(t, configs)
	etcdtest.Create(t, stores[0], "a")
	require.NoError(t, stores[0].Close())
	member := filepath.Join(configs[0].Dir, "peer", "member")
	require.NoError(t, os.RemoveAll(filepath.Join(member, "wal")))
	_, err := embedded.Open(t.Context(), configs[0])
	require.ErrorContains(t, err, "has lost its log")

	file := filepath.Join(member, "snap", "db")
	db, err := os.ReadFile(file)
	require.NoError(t, err)
	for i := range db {
		db[i] ^= 0xff
	}
	require.NoError(t, os.WriteFile(file, db, 0o600))
	_, err = embedded.Open(t.Context(), configs[0])
	require.ErrorContains(t, err, "has lost its log", "a damaged database may have records that can be saved")
	require.FileExists(t, file)
	require.FileExists(t, filepath.Join(member, "snap", "db"))
}

func TestAServerThatHasLostItsFolderIsReplaced(t *testing.T) {
	t.Parallel()
	configs := newPeers(t)
	stores := openAll(t, configs)
	a := etcdtest.Create(t, stores[0], "a")
	restart := func(s *etcd.Store, c embedded.Config) (*etcd.Store, error) {
		require.NoError(t, s.Close())
		return embedded.Open(t.Context(), c)
	}
	replacing := configs[1]
	replacing.Cluster.Replace = configs[0].Cluster.Name
	_, err := restart(stores[1], replacing)
	require.ErrorContains(t, err, "stop it first")
	stores[1] = openAll(t, configs[1:2])[0]

	require.NoError(t, stores[0].Close())
	require.NoError(t, os.RemoveAll(filepath.Join(configs[0].Dir, "peer")))
	for range 2 { // the second time nothing is left to do
		stores[1], err = restart(stores[1], replacing)
		require.NoError(t, err)
	}
	stores[0] = openAll(t, configs[:1])[0]
	got, err := stores[0].Get(t.Context(), etcdtest.Kind, "a")
	require.NoError(t, err)
	require.Equal(t, a, got)

	require.NoError(t, stores[2].Close()) // the replaced server and stores[1] are a quorum
	etcdtest.Create(t, stores[1], "b")
	require.NoError(t, stores[0].Close())
	require.NoError(t, stores[1].Close())
	stores = openAll(t, configs[:2]) // the replaced server restarts like any other
	_, err = stores[0].Get(t.Context(), etcdtest.Kind, "b")
	require.NoError(t, err)
}

func TestASingleServerAndAClusterShareNoFolder(t *testing.T) {
	t.Parallel()
	alone, peer := t.TempDir(), newPeers(t)
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: alone})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = embedded.Open(t.Context(), embedded.Config{Dir: alone, Cluster: peer[0].Cluster})
	require.ErrorContains(t, err, "a server that is alone")

	for _, s := range openAll(t, peer) {
		require.NoError(t, s.Close())
	}
	_, err = embedded.Open(t.Context(), embedded.Config{Dir: peer[0].Dir})
	require.ErrorContains(t, err, "one of a cluster's")
}

func TestAClusterThatIsInvalidDoesNotOpen(t *testing.T) {
	_, err := embedded.Open(t.Context(), embedded.Config{Dir: t.TempDir(), Cluster: embedded.Cluster{
		Name: "c", Peers: map[string]string{"a": "http://127.0.0.1:1", "b": "http://127.0.0.1:2"},
	}})
	require.ErrorContains(t, err, `Cluster.Name is "c": want`)
}

func TestAClusterWithoutAQuorumDoesNotOpen(t *testing.T) {
	needs.Time(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := embedded.Open(ctx, embedded.Config{Dir: t.TempDir(), Cluster: embedded.Cluster{
		Name: "a", Peers: map[string]string{"a": "http://" + etcdtest.Loopback(t), "b": "http://" + etcdtest.Loopback(t)},
	}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// SECURITY.md: The servers of `-cluster` authenticate each other by certificates of `-cluster-ca` and encrypt.
func TestServersAuthenticateEachOtherByCertificates(t *testing.T) {
	t.Parallel()
	dir, stranger := t.TempDir(), t.TempDir()
	etcdtest.Certificates(t, dir)
	etcdtest.Certificates(t, stranger)
	configs := newPeers(t)
	for name, peer := range configs[0].Cluster.Peers { // all configurations share this map
		configs[0].Cluster.Peers[name] = "https" + peer[len("http"):]
	}
	for i, dir := range []string{dir, dir, stranger} {
		c := &configs[i].Cluster
		c.CA, c.Cert, c.Key = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")
	}
	stores := openAll(t, configs[:2])
	a := etcdtest.Create(t, stores[0], "a")
	got, err := stores[1].Get(t.Context(), etcdtest.Kind, "a")
	require.NoError(t, err)
	require.Equal(t, a, got)

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err = embedded.Open(ctx, configs[2])
	require.ErrorIs(t, err, context.DeadlineExceeded, "nobody listens to it")
}

func TestABackupOfServersInSeveralProcessesIsRestoredIntoNewOnes(t *testing.T) {
	t.Parallel()
	stores := openAll(t, newPeers(t))
	a := etcdtest.Create(t, stores[0], "a", "name=a")
	file := filepath.Join(t.TempDir(), "backup")
	backUp(t, stores[1], file)
	etcdtest.Create(t, stores[2], "after")
	for _, s := range stores {
		require.NoError(t, s.Close())
	}

	again := newPeers(t)
	for _, c := range again {
		require.NoError(t, embedded.Restore(t.Context(), c, file))
		require.ErrorIs(t, embedded.Restore(t.Context(), c, file), fs.ErrExist)
		require.ErrorIs(t, embedded.Restore(t.Context(), embedded.Config{Dir: c.Dir}, file), fs.ErrExist)
	}
	stores = openAll(t, again)
	for _, s := range stores {
		page, err := s.List(t.Context(), etcdtest.Kind, "", 10)
		require.NoError(t, err)
		require.Equal(t, []conductor.Record{a}, page)
	}
	b := etcdtest.Create(t, stores[0], "b")
	require.Greater(t, b.Revision, a.Revision)
}
