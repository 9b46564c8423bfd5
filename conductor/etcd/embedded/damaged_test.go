// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/internal/needs"
)

// The subfolders and files of a single server.
func database(dir string) string { return filepath.Join(dir, "etcd", "member", "snap", "db") }
func logs(dir string) string     { return filepath.Join(dir, "etcd", "member", "wal") }

// A process opens each folder, since etcd panics in goroutines of its own, where a test cannot recover.
//
// SECURITY.md: A damaged folder or backup is an error at the start, as far as the damage can be found.
func TestADamagedFolderIsAnError(t *testing.T) {
	needs.Time(t)
	whole := t.TempDir()
	fill(t, whole)
	cases := map[string]func(t *testing.T, dir string){
		"a file in the place of the folder": func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.WriteFile(dir, nil, 0o600))
		},
		"a file in the place of etcd's folder": func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "etcd")))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "etcd"), nil, 0o600))
		},
		"a named pipe in the place of the lock":     func(t *testing.T, dir string) { pipe(t, filepath.Join(dir, "lock")) },
		"a named pipe in the place of the database": func(t *testing.T, dir string) { pipe(t, database(dir)) },
		"a named pipe in the place of the log":      func(t *testing.T, dir string) { pipe(t, firstLog(t, dir)) },
		"a folder in the place of the database": func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(database(dir)))
			require.NoError(t, os.Mkdir(database(dir), 0o700))
		},
		"a database without its log": func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(logs(dir))) },
		"a log that is older than its database": func(t *testing.T, dir string) {
			other := t.TempDir()
			s, err := embedded.Open(t.Context(), embedded.Config{Dir: other})
			require.NoError(t, err)
			require.NoError(t, s.Close())
			require.NoError(t, os.RemoveAll(logs(dir)))
			require.NoError(t, os.Rename(logs(other), logs(dir)))
		},
		"a damaged log":     func(t *testing.T, dir string) { damage(t, firstLog(t, dir), 200) },
		"an empty log":      func(t *testing.T, dir string) { require.NoError(t, os.Truncate(firstLog(t, dir), 0)) },
		"an empty database": func(t *testing.T, dir string) { require.NoError(t, os.Truncate(database(dir), 0)) },
		"a part of a database": func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(database(dir), int64(8*os.Getpagesize())))
		},
		"a text in the place of the database": func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(database(dir), bytes.Repeat([]byte("no data\n"), 1<<12), 0o600))
		},
	}
	for name, prepare := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "fleet")
			require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
			prepare(t, dir)
			require.Contains(t, opened(t, dir), "failed: open etcd in "+dir)
		})
	}
}

// TestNoiseInADatabaseIsFoundBeforeEtcdReadsIt writes noise at many places. What the check lets through, because it hit
// a free page or a value, etcd has to open. Which pages are free depends on the moments at which etcd has written.
func TestNoiseInADatabaseIsFoundBeforeEtcdReadsIt(t *testing.T) {
	needs.Chance(t)
	whole := t.TempDir()
	fill(t, whole)
	dir := filepath.Join(t.TempDir(), "fleet")
	require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
	sound, err := os.ReadFile(database(whole))
	require.NoError(t, err)
	require.NoError(t, embedded.CheckDatabase(t.Context(), database(whole), int64(len(sound))))
	found, passed := 0, 0
	for seed, page := range usedPages(sound) {
		for _, size := range []int{8, 100, os.Getpagesize()} {
			random := rand.New(rand.NewPCG(uint64(seed), uint64(size)))
			at := random.IntN(os.Getpagesize() - size + 1)
			damaged := bytes.Clone(sound)
			for i := range size {
				damaged[page*os.Getpagesize()+at+i] = byte(random.Uint32())
			}
			require.NoError(t, os.WriteFile(database(dir), damaged, 0o600))
			if embedded.CheckDatabase(t.Context(), database(dir), int64(len(damaged))) != nil {
				found++
				continue
			}
			if passed++; passed <= 12 { // each costs a process
				require.NotEmpty(t, opened(t, dir), "page %d, %d bytes at %d", page, size, at)
				require.NoError(t, os.RemoveAll(dir))
				require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
			}
		}
	}
	require.Greater(t, found, 10)
	require.Positive(t, passed)
}

// usedPages returns the pages of a database that are not empty.
func usedPages(db []byte) []int {
	size := os.Getpagesize()
	var used []int
	for page := range len(db) / size {
		if !bytes.Equal(db[page*size:(page+1)*size], make([]byte, size)) {
			used = append(used, page)
		}
	}
	return used
}

// SECURITY.md: A damaged folder or backup is an error at the start, as far as the damage can be found.
func TestADamagedBackupLeavesNothing(t *testing.T) {
	needs.Time(t)
	data := t.TempDir()
	fill(t, data)
	db, err := os.ReadFile(database(data))
	require.NoError(t, err)
	write := func(content []byte) func(*testing.T, string) {
		return func(t *testing.T, file string) { require.NoError(t, os.WriteFile(file, content, 0o600)) }
	}
	other := filepath.Join(t.TempDir(), "other")
	foreign, err := bbolt.Open(other, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, foreign.Close())
	foreignDB, err := os.ReadFile(other)
	require.NoError(t, err)
	cases := map[string]func(*testing.T, string){
		"a named pipe": func(t *testing.T, file string) { require.NoError(t, syscall.Mkfifo(file, 0o600)) },
		"a folder":     func(t *testing.T, file string) { require.NoError(t, os.Mkdir(file, 0o700)) },
		"a device":     func(t *testing.T, file string) { require.NoError(t, os.Symlink("/dev/zero", file)) },
		"a part of a database with the hash of that part": write(withHash(db[:6*4096])),
		"a database of another program":                   write(withHash(foreignDB)),
	}
	for name, prepare := range cases {
		t.Run(name, func(t *testing.T) {
			here := t.TempDir()
			file, dir := filepath.Join(here, "backup"), filepath.Join(here, "restored")
			prepare(t, file)
			requireRefused(t, file, dir, etcdtest.Spawn(t, "restorer", file+"\n"+dir).Line(t))
		})
	}
}

// requireRefused requires that the line of a restorer is an error and that nothing is restored.
func requireRefused(t *testing.T, file, dir, line string) {
	t.Helper()
	require.Contains(t, line, "failed: restore "+file)
	_, err := os.Lstat(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Noise in a free page does no harm.
func TestNoiseInABackupLeavesNothingOrAFolderThatOpens(t *testing.T) {
	needs.Chance(t)
	data := t.TempDir()
	fill(t, data)
	db, err := os.ReadFile(database(data))
	require.NoError(t, err)
	for _, page := range []int{0, 2, 3, 4, 5, 6, 7, 8} {
		damaged := bytes.Clone(db)
		_, _ = rand.NewChaCha8([32]byte{byte(page)}).Read(damaged[page*4096 : (page+1)*4096])
		if page == 0 {
			_, _ = rand.NewChaCha8([32]byte{}).Read(damaged[4096:8192])
		}
		here := t.TempDir()
		file, dir := filepath.Join(here, "backup"), filepath.Join(here, "restored")
		require.NoError(t, os.WriteFile(file, withHash(damaged), 0o600))
		if line := etcdtest.Spawn(t, "restorer", file+"\n"+dir).Line(t); line != "restored" {
			requireRefused(t, file, dir, line)
			continue
		}
		require.NotEmpty(t, opened(t, dir), "noise in page %d", page)
	}
}

// withHash returns a backup whose hash is right.
func withHash(db []byte) []byte {
	sum := sha256.Sum256(db)
	return append(bytes.Clone(db), sum[:]...)
}

func TestARestoreEndsWithItsContext(t *testing.T) {
	s := open(t, embedded.Config{Dir: t.TempDir()})
	file, dir := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	backUp(t, s, file)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, embedded.Restore(ended, embedded.Config{Dir: dir}, file), context.Canceled)
	_, err := os.Lstat(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// opened opens a folder in another process and returns what that prints.
func opened(t *testing.T, dir string) string {
	t.Helper()
	return etcdtest.Spawn(t, "opener", dir).Line(t)
}

func pipe(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.Remove(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}

func firstLog(t *testing.T, dir string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(logs(dir), "*-*.wal"))
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all[0]
}

// damage changes a byte of a file.
func damage(t *testing.T, file string, offset int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	require.NoError(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, offset)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{b[0] ^ 0xff}, offset)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// fill creates a store with records in the folder.
func fill(t *testing.T, dir string) {
	t.Helper()
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir})
	require.NoError(t, err)
	for i := range 60 {
		_, err := s.Create(t.Context(), conductor.Record{Kind: etcdtest.Kind, ID: fmt.Sprint(i), Value: bytes.Repeat([]byte{'x'}, 20*i)})
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
}
