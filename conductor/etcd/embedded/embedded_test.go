package embedded_test

import (
	"bytes"
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
	"github.com/ironstate/ironstate/conductor/storetest"
)

const kind conductor.Kind = "nodes"

func open(t *testing.T, c embedded.Config) *etcd.Store {
	t.Helper()
	s, err := embedded.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// connect opens a store on another cluster.
func connect(t *testing.T, c etcd.Config) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// create stores a record and returns it with its revision.
func create(t *testing.T, s conductor.Store, id string, keys ...string) conductor.Record {
	t.Helper()
	r := conductor.Record{Kind: kind, ID: id, Keys: keys, Value: []byte("{}")}
	revision, err := s.Create(t.Context(), r)
	require.NoError(t, err)
	r.Revision = revision
	return r
}

func TestTheStoreInAFolderKeepsItsPromises(t *testing.T) {
	s := open(t, embedded.Config{Dir: t.TempDir()})
	require.NoError(t, storetest.Check(s))
}

func TestAFolderKeepsItsRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "to", "be made")
	s := open(t, embedded.Config{Dir: dir})
	a := create(t, s, "a", "name=a")
	require.NoError(t, s.Close())

	s = open(t, embedded.Config{Dir: dir})
	got, err := s.Get(t.Context(), kind, "name=a")
	require.NoError(t, err)
	require.Equal(t, a, got)
	b := create(t, s, "b")
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
			r := conductor.Record{Kind: kind, ID: fmt.Sprint("node ", i)}
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
					got, err := s.Get(t.Context(), kind, key)
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
	r, other := create(t, s, "kept", "name=kept"), create(t, s, "other")
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

	got, err := s.Get(t.Context(), kind, "name=kept")
	require.NoError(t, err)
	require.Equal(t, r.Revision, got.Revision, "what was stored can be read")
	_, err = s.Delete(t.Context(), kind, other.ID, other.Revision)
	require.NoError(t, err, "and deleted")

	require.Eventually(t, func() bool {
		revision, err := s.Update(t.Context(), r)
		if err == nil {
			r.Revision = revision
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond, "old versions are space")
	_, err = s.Delete(t.Context(), kind, r.ID, r.Revision)
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
	create(t, s, "a")
	require.NoError(t, s.Close())
	require.Empty(t, b.String(), "nothing that an operator has to know")
}

func TestAnInvalidConfigurationIsRefused(t *testing.T) {
	_, err := embedded.Open(t.Context(), embedded.Config{})
	require.ErrorContains(t, err, "no Dir")
	_, err = embedded.Open(t.Context(), embedded.Config{Dir: "d", Quota: -1})
	require.ErrorContains(t, err, "the Quota is -1 bytes")
	_, err = embedded.Open(t.Context(), embedded.Config{Dir: t.TempDir(), Prefix: "ironstate"})
	require.ErrorContains(t, err, `the Prefix is "ironstate"`)
}
