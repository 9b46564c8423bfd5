// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
)

// journal records the acknowledged writes, and lets a test wait for a number of them.
type journal struct {
	mu      sync.Mutex
	written []conductor.Record
	more    chan struct{} // has capacity 1; receives a token after a write
}

func (j *journal) add(r conductor.Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.written = append(j.written, r)
	select {
	case j.more <- struct{}{}:
	default:
	}
}

// upTo returns the records as of a revision.
func (j *journal) upTo(revision int64) map[string]conductor.Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	at := map[string]conductor.Record{}
	for _, r := range j.written {
		if r.Revision <= revision && r.Revision > at[r.ID].Revision {
			at[r.ID] = r
		}
	}
	return at
}

func (j *journal) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.written)
}

// await waits for n writes, and returns the revision of the last one.
func (j *journal) await(n int) int64 {
	for {
		j.mu.Lock()
		if len(j.written) >= n {
			defer j.mu.Unlock()
			return j.written[len(j.written)-1].Revision
		}
		j.mu.Unlock()
		<-j.more
	}
}

// keepWriting creates records and updates each until the context ends.
func (j *journal) keepWriting(ctx context.Context, t *testing.T, s conductor.Store, writer int) {
	for i := 0; ctx.Err() == nil; i++ {
		id := fmt.Sprintf("node %d of %d", i, writer)
		r := conductor.Record{Kind: etcdtest.Kind, ID: id, Keys: []string{"name=" + id}, Value: []byte("created")}
		revision, err := s.Create(context.WithoutCancel(ctx), r)
		assert.NoError(t, err)
		r.Revision = revision
		j.add(r)
		r.Value = []byte("updated")
		r.Revision, err = s.Update(context.WithoutCancel(ctx), r)
		assert.NoError(t, err)
		j.add(r)
	}
}

func TestABackupDuringWritesIsConsistent(t *testing.T) {
	s := open(t, embedded.Config{Dir: t.TempDir()})
	j := &journal{more: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() { j.keepWriting(ctx, t, s, i) })
	}
	answered := j.await(500)
	var backup bytes.Buffer
	require.NoError(t, s.Backup(t.Context(), &backup))
	j.await(j.count() + 100)
	stop()
	writers.Wait()

	file, dir := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "new")
	require.NoError(t, os.WriteFile(file, backup.Bytes(), 0o600))
	require.NoError(t, embedded.Restore(t.Context(), embedded.Config{Dir: dir}, file))
	restored := open(t, embedded.Config{Dir: dir})
	page, err := restored.List(t.Context(), etcdtest.Kind, "", 1_000_000)
	require.NoError(t, err)
	newest := int64(0)
	found := map[string]conductor.Record{}
	for _, r := range page {
		newest = max(newest, r.Revision)
		found[r.ID] = r
	}
	require.GreaterOrEqual(t, newest, answered, "every write that was answered before is in the backup")
	require.Equal(t, j.upTo(newest), found)

	r := page[0]
	got, err := restored.Get(t.Context(), etcdtest.Kind, r.Keys[0])
	require.NoError(t, err)
	require.Equal(t, r, got)
	revision, err := restored.Update(t.Context(), r)
	require.NoError(t, err)
	require.Greater(t, revision, newest)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "the folder is its owner's alone: it has passwords")
}

func TestABackupOfAClusterIsRestoredIntoAFolder(t *testing.T) {
	s := connect(t, etcdtest.StartCluster(t, 1, nil)[0].Client)
	a := etcdtest.Create(t, s, "a", "name=a")
	file := filepath.Join(t.TempDir(), "backup")
	backUp(t, s, file)
	dir := t.TempDir()
	require.NoError(t, embedded.Restore(t.Context(), embedded.Config{Dir: dir}, file))
	got, err := open(t, embedded.Config{Dir: dir}).Get(t.Context(), etcdtest.Kind, "name=a")
	require.NoError(t, err)
	require.Equal(t, a, got)
}

func backUp(t *testing.T, s *etcd.Store, file string) {
	t.Helper()
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, s.Backup(t.Context(), f))
	require.NoError(t, f.Close())
}

func TestAFailedRestoreLeavesNothing(t *testing.T) {
	used := t.TempDir()
	s := open(t, embedded.Config{Dir: used})
	etcdtest.Create(t, s, "a")
	file := filepath.Join(t.TempDir(), "backup")
	backUp(t, s, file)
	require.ErrorIs(t, embedded.Restore(t.Context(), embedded.Config{Dir: used}, file), embedded.ErrInUse)
	require.NoError(t, s.Close())
	require.ErrorIs(t, embedded.Restore(t.Context(), embedded.Config{Dir: used}, file), fs.ErrExist)
	require.ErrorIs(t, embedded.Restore(t.Context(), embedded.Config{Dir: t.TempDir()}, file+" that is not"), fs.ErrNotExist)

	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	changed := bytes.Clone(whole)
	changed[len(changed)/2] ^= 1
	text := bytes.Repeat([]byte("no data\n"), 64)
	sum := sha256.Sum256(text)
	for name, content := range map[string][]byte{
		"empty": {}, "cut off": whole[:len(whole)/2], "without its hash": whole[:len(whole)-32], "changed": changed, "text": text,
		"text with a hash": append(text, sum[:]...),
	} {
		bad, dir := filepath.Join(t.TempDir(), "bad"), t.TempDir()
		require.NoError(t, os.WriteFile(bad, content, 0o600))
		err := embedded.Restore(t.Context(), embedded.Config{Dir: dir}, bad)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "skip-hash-check", "etcdutl's flag is none of ours")
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, name)
		require.NoError(t, embedded.Restore(t.Context(), embedded.Config{Dir: dir}, file), name)
	}
}

type fullDisk struct{}

var errFull = errors.New("no space on the device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestAFailedBackupIsAnError(t *testing.T) {
	s := open(t, embedded.Config{Dir: t.TempDir()})
	require.ErrorIs(t, s.Backup(t.Context(), fullDisk{}), errFull)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Backup(ended, &bytes.Buffer{}), context.Canceled)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Backup(t.Context(), &bytes.Buffer{}), etcd.ErrClosed)
}
