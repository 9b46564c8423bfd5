// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// hashed returns a backup of a database.
func hashed(database []byte) []byte {
	sum := sha256.Sum256(database)
	return append(bytes.Clone(database), sum[:]...)
}

func TestWhichFilesAreBackups(t *testing.T) {
	wrong := hashed(sound())
	wrong[len(wrong)-1]++
	for name, test := range map[string]struct {
		content []byte
		text    string
	}{
		"a backup":                        {hashed(sound()), ""},
		"an empty file":                   {nil, errNoBackup.Error()},
		"a hash of nothing":               {hashed(nil), errNoBackup.Error()},
		"a part of a block":               {hashed(sound()[:testPage+1]), errNoBackup.Error()},
		"a wrong hash":                    {wrong, errNoBackup.Error()},
		"a part of a database":            {hashed(sound()[:testPage]), "it has 1024 bytes, but 8 pages"},
		"a database that is none of etcd": {hashed(make([]byte, 4*testPage)), "both of its first pages are invalid"},
	} {
		file := filepath.Join(t.TempDir(), "backup")
		require.NoError(t, os.WriteFile(file, test.content, 0o600))
		err := checkBackup(t.Context(), file)
		if test.text == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, test.text, name)
		}
	}
}

// backup returns a file with a backup of a server.
func backup(t *testing.T) string {
	t.Helper()
	s := startAlone(t)
	dir := s.Config().Dir
	s.Close()
	db, err := os.ReadFile(filepath.Join(dir, "member", "snap", "db"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "backup")
	require.NoError(t, os.WriteFile(file, hashed(db), 0o600))
	return file
}

func TestAnInterruptedRestoreLeavesNothing(t *testing.T) {
	file := backup(t)
	var log bytes.Buffer
	c := Config{Dir: filepath.Join(t.TempDir(), "fleet"), Log: slog.New(slog.NewTextHandler(&log, nil))}
	whole := endsAfter(t, 1<<30)
	require.NoError(t, Restore(whole, c, file))
	require.DirExists(t, filepath.Join(c.Dir, aloneDir))
	require.Empty(t, log.String(), "etcd's warnings about its new files")

	asked := 1<<30 - whole.left // how often a restore asks for the error of its context
	check := endsAfter(t, 1<<30)
	require.NoError(t, checkBackup(check, file))
	require.Equal(t, 1<<30-check.left+1, asked, "the last time when etcd's files are complete")
	for _, left := range []int{0, 1, asked / 2, asked - 1} {
		for _, existed := range []bool{false, true} {
			c.Dir = filepath.Join(t.TempDir(), "fleet")
			if existed {
				require.NoError(t, os.Mkdir(c.Dir, 0o700))
			}
			require.ErrorIs(t, Restore(endsAfter(t, left), c, file), context.Canceled)
			if !existed {
				require.NoDirExists(t, c.Dir)
				continue
			}
			files, err := os.ReadDir(c.Dir)
			require.NoError(t, err)
			require.Empty(t, files)
		}
	}
}

func TestABackupIsNotRestoredIntoAFolderThatIsUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "backup")
	require.NoError(t, os.WriteFile(file, hashed(sound()), 0o600))
	for _, dir := range []string{aloneDir, peerDir} {
		c := Config{Dir: t.TempDir()}
		require.NoError(t, os.Mkdir(filepath.Join(c.Dir, dir), 0o700))
		require.ErrorIs(t, Restore(t.Context(), c, file), fs.ErrExist)
		require.DirExists(t, filepath.Join(c.Dir, dir))
	}

	c := Config{Dir: t.TempDir()}
	lock, err := lockFolder(c.Dir)
	require.NoError(t, err)
	err = Restore(t.Context(), c, file)
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, c.Dir, "it is not the backup that another process has open")
	_, err = Open(t.Context(), c)
	require.ErrorIs(t, err, ErrInUse)
	require.NoError(t, lock.Close())
}

func TestAPanicOfEtcdInARestoreIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "foreign")
	db, err := bbolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "backup")
	require.NoError(t, os.WriteFile(file, hashed(content), 0o600))
	c, err := Config{Dir: "d"}.complete()
	require.NoError(t, err)
	require.ErrorContains(t, unpack(c, file, filepath.Join(t.TempDir(), "etcd")), "etcd cannot read this file: ")
}

func TestTheFoldersOfAServer(t *testing.T) {
	complete, incomplete := databases(Config{Dir: "d"})
	require.Equal(t, []string{"d/etcd", "d/etcd.new"}, []string{complete, incomplete})
	complete, incomplete = databases(Config{Dir: "d", Cluster: Cluster{Name: "a"}})
	require.Equal(t, []string{"d/peer", "d/peer.new"}, []string{complete, incomplete})
}

// TestALockWhoseFileIsGoneIsTakenAgain does after the lock was taken what a Restore that fails may do before.
func TestALockWhoseFileIsGoneIsTakenAgain(t *testing.T) {
	for name, test := range map[string]struct {
		after func(t *testing.T, path string, lock *fileutil.LockedFile)
		tries int
		text  string
	}{
		"nothing":    {func(*testing.T, string, *fileutil.LockedFile) {}, 1, ""},
		"it is gone": {func(t *testing.T, path string, _ *fileutil.LockedFile) { require.NoError(t, os.Remove(path)) }, 2, ""},
		"it is another": {func(t *testing.T, path string, _ *fileutil.LockedFile) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, fileAt(path))
		}, 2, ""},
		"its folder is a file": {func(t *testing.T, path string, _ *fileutil.LockedFile) {
			require.NoError(t, os.RemoveAll(filepath.Dir(path)))
			require.NoError(t, fileAt(filepath.Dir(path)))
		}, 1, "not a directory"},
		"it is closed": {func(t *testing.T, _ string, lock *fileutil.LockedFile) { require.NoError(t, lock.Close()) }, 1, "file already closed"},
	} {
		path, tries := filepath.Join(t.TempDir(), "fleet", "lock"), 0
		require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
		lock, err := lockNamed(path, func() (*fileutil.LockedFile, error) {
			lock, err := fileutil.TryLockFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
			if tries++; tries == 1 {
				test.after(t, path, lock)
			}
			return lock, err
		})
		require.Equal(t, test.tries, tries, name)
		if test.text != "" {
			require.ErrorContains(t, err, test.text, name)
			continue
		}
		require.NoError(t, err, name)
		_, err = fileutil.TryLockFile(path, os.O_WRONLY, 0o600)
		require.ErrorIs(t, err, fileutil.ErrLocked, name)
		require.NoError(t, lock.Close())
	}
}

func TestAFolderExistsWithTheDatabaseOfEitherKindOfServer(t *testing.T) {
	for _, kind := range []string{"", aloneDir, peerDir} {
		dir := filepath.Join(t.TempDir(), "above", "data")
		require.NoError(t, makeFolder(filepath.Join(dir, kind)))
		exists, err := Exists(dir)
		require.NoError(t, err)
		require.Equal(t, kind != "", exists, kind)
		require.NoError(t, makeFolder(dir), "it may exist already")
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, makeFolder(file), "what exists is not touched")
	require.Error(t, makeFolder(filepath.Join(file, "data")))
	_, err := Exists(file)
	require.Error(t, err)
}
