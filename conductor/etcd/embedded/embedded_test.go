// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/conductor/storetest"
	"github.com/ironstate/ironstate/internal/needs"
)

// open opens the store in a folder, which is closed when the test ends.
func open(t *testing.T, c embedded.Config) *etcd.Store {
	t.Helper()
	needs.Time(t)
	s, err := embedded.Open(t.Context(), c)
	return untilEnd(t, s, err)
}

// connect opens the store of a server at a URL, which is closed when the test ends.
func connect(t *testing.T, server string) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(t.Context(), etcd.Config{Endpoints: []string{server}})
	return untilEnd(t, s, err)
}

func untilEnd(t *testing.T, s *etcd.Store, err error) *etcd.Store {
	t.Helper()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestTheStoreInAFolderKeepsItsPromises(t *testing.T) {
	s := open(t, embedded.Config{Dir: t.TempDir()})
	require.NoError(t, storetest.Check(s))
}

// SECURITY.md: Only the owner has permissions on the folder of `-data`, on backups and on the socket for backups.
func TestAFolderKeepsItsRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "to", "be made")
	s := open(t, embedded.Config{Dir: dir})
	a := etcdtest.Create(t, s, "a", "name=a")
	require.NoError(t, s.Close())

	s = open(t, embedded.Config{Dir: dir})
	got, err := s.Get(t.Context(), etcdtest.Kind, "name=a")
	require.NoError(t, err)
	require.Equal(t, a, got)
	b := etcdtest.Create(t, s, "b")
	require.Greater(t, b.Revision, a.Revision)

	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "the folder is its owner's alone: it has passwords")
}

func TestSerializableReadsInAFolderAreUpToDate(t *testing.T) {
	s := open(t, embedded.Config{Dir: t.TempDir()})
	var writers sync.WaitGroup
	for i := range 16 {
		writers.Go(func() {
			r := conductor.Record{Kind: etcdtest.Kind, ID: fmt.Sprint("node ", i)}
			for n := range 100 {
				var err error
				r.Keys, r.Value = []string{fmt.Sprintf("key %d of %d", n, i)}, fmt.Append(nil, n)
				if n == 0 {
					r.Revision, err = s.Create(t.Context(), r)
				} else {
					r.Revision, err = s.Update(t.Context(), r)
				}
				assert.NoError(t, err)
				for _, key := range []string{r.ID, r.Keys[0]} {
					got, err := s.Get(t.Context(), etcdtest.Kind, key)
					assert.NoError(t, err)
					assert.Equal(t, r, got)
				}
			}
		})
	}
	writers.Wait()
}

func TestAFullDatabaseIsAnErrorUntilThereIsSpace(t *testing.T) {
	const quota = 24 << 20
	dir := t.TempDir()
	s := open(t, embedded.Config{Dir: dir, Quota: quota}.MaintainEvery(10*time.Millisecond))
	r, other := etcdtest.Create(t, s, "kept", "name=kept"), etcdtest.Create(t, s, "other")
	var err error
	for n := 0; err == nil; n++ {
		require.Less(t, n, 100)
		r.Value = bytes.Repeat([]byte{byte(n)}, 1<<20)
		var revision int64
		if revision, err = s.Update(t.Context(), r); err == nil {
			r.Revision = revision
		}
	}
	require.ErrorIs(t, err, etcd.ErrNoSpace)
	require.ErrorContains(t, err, "compact, defragment and disarm")

	// etcd may apply a write that it refuses: the database can reach its quota after the request was checked.
	got, err := s.Get(t.Context(), etcdtest.Kind, "name=kept")
	require.NoError(t, err)
	require.GreaterOrEqual(t, got.Revision, r.Revision, "what was stored can be read")
	_, err = s.Delete(t.Context(), etcdtest.Kind, other.ID, other.Revision)
	require.NoError(t, err, "and deleted")

	for err = etcd.ErrNoSpace; err != nil; { // until the old versions, which are space, are deleted
		if got, err = s.Get(t.Context(), etcdtest.Kind, r.ID); err == nil {
			r.Revision, err = s.Update(t.Context(), got)
		}
	}
	_, err = s.Delete(t.Context(), etcdtest.Kind, r.ID, r.Revision)
	require.NoError(t, err)
}

func TestEtcdsMessagesGoToTheLog(t *testing.T) {
	var b bytes.Buffer
	s := open(t, embedded.Config{Dir: t.TempDir(), Log: slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	require.NoError(t, s.Close())
	require.Contains(t, b.String(), `"level":"DEBUG","msg":"etcd: closed etcd server"`)
	require.Contains(t, b.String(), `"name":"ironstate"`)

	b.Reset()
	s = open(t, embedded.Config{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(&b, nil))})
	etcdtest.Create(t, s, "a")
	require.NoError(t, s.Close())
	require.Empty(t, b.String(), "nothing that an operator has to know")
}

func TestAWriteThatEtcdRefusesIsLoggedAtDebug(t *testing.T) {
	var log bytes.Buffer // safe: a handler serializes its writes
	all := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
	s := open(t, embedded.Config{Dir: t.TempDir(), Reserve: 1 << 60, Log: slog.New(all)})
	var err error
	for err == nil { // until the first check has raised the alarm
		_, err = s.Create(t.Context(), conductor.Record{Kind: etcdtest.Kind, ID: rand.Text()})
	}
	require.ErrorIs(t, err, etcd.ErrNoSpace)
	require.NoError(t, s.Close())
	require.Contains(t, log.String(), `level=DEBUG msg="etcd: failed to apply request"`)
}

func TestAnInvalidConfigurationIsRefused(t *testing.T) {
	_, err := embedded.Open(t.Context(), embedded.Config{})
	require.ErrorContains(t, err, `Dir is ""`)
	_, err = embedded.Open(t.Context(), embedded.Config{Dir: "d", Quota: -1})
	require.ErrorContains(t, err, "Quota is -1")
	_, err = embedded.Open(t.Context(), embedded.Config{Dir: "d", Reserve: -1})
	require.ErrorContains(t, err, "Reserve is -1")
}

func TestAnInvalidPrefixIsRefused(t *testing.T) {
	needs.Time(t)
	_, err := embedded.Open(t.Context(), embedded.Config{Dir: t.TempDir(), Prefix: "ironstate"})
	require.ErrorContains(t, err, `Prefix is "ironstate": want`)
}

func TestAMemberEndsWithItsProcess(t *testing.T) {
	needs.Time(t)
	dir := t.TempDir()
	member := etcdtest.Spawn(t, "member", dir)
	require.Equal(t, "joined", member.Line(t))
	member.Kill()

	m := open(t, embedded.Config{Dir: dir}).Membership(0)
	alive, err := m.Alive(t.Context(), "before")
	require.NoError(t, err)
	require.False(t, alive)
	etcdtest.Join(t, m, "now").Sees(t, "now")
}

func TestAnEndedContextEndsOpen(t *testing.T) {
	needs.Time(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Nanosecond)
	defer stop()
	_, err := embedded.Open(ctx, embedded.Config{Dir: t.TempDir()})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
