// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// etcdFolder returns a folder with a database, and with a log if logged is set.
func etcdFolder(t *testing.T, database []byte, logged bool) string {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "member", "snap"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "member", "snap", "db"), database, 0o600))
	if logged {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "member", "wal"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "member", "wal", "0000000000000000-0000000000000000.wal"), nil, 0o600))
	}
	return dir
}

// special returns a folder with something at a path.
func special(t *testing.T, path string, create func(path string) error) string {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700))
	require.NoError(t, create(filepath.Join(dir, path)))
	return dir
}

func pipeAt(path string) error { return syscall.Mkfifo(path, 0o600) }
func fileAt(path string) error { return os.WriteFile(path, nil, 0o600) }

func TestAFolderIsCheckedBeforeEtcdStarts(t *testing.T) {
	damaged := sound()
	damaged.page(bucketsPage)[8] = 0xff
	for name, test := range map[string]struct {
		dir  string
		text string // of the error, "" for none
	}{
		"no folder":                 {filepath.Join(t.TempDir(), "none"), ""},
		"an empty folder":           {t.TempDir(), ""},
		"a sound database":          {etcdFolder(t, sound(), true), ""},
		"a damaged database":        {etcdFolder(t, damaged, true), "cannot be read: page 2"},
		"a database without a log":  {etcdFolder(t, sound(), false), "has lost its log"},
		"a pipe":                    {special(t, "member/wal/pipe", pipeAt), "is neither a file nor a folder"},
		"a file in place of member": {special(t, "member", fileAt), "not a directory"},
		"a folder within a file":    {filepath.Join(special(t, "file", fileAt), "file", "etcd"), "not a directory"},
	} {
		err := checkFolder(t.Context(), test.dir)
		if test.text == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, test.text, name)
		}
	}
	require.ErrorIs(t, checkDatabase(t.Context(), filepath.Join(t.TempDir(), "none"), 0), os.ErrNotExist)
}

func TestADatabaseWithoutItsLogIsKeptIfItHasRecords(t *testing.T) {
	unused := sound()
	putLeaf(unused.page(branchOfRecords), branchOfRecords, 0)
	begun := make([]byte, 4*os.Getpagesize()) // etcd has created the file and no buckets
	for name, test := range map[string]struct {
		dir  string
		text string
	}{
		"no folder":                 {filepath.Join(t.TempDir(), "none"), ""},
		"no database":               {t.TempDir(), ""},
		"a file in place of member": {special(t, "member", fileAt), "not a directory"},
		"a new file":                {etcdFolder(t, begun, false), ""},
		"a damaged database":        {etcdFolder(t, append(begun, 0), false), "is damaged and has lost its log"},
		"without records":           {etcdFolder(t, unused, false), ""},
		"with records":              {etcdFolder(t, sound(), false), "has lost its log: replace this server, or restore a backup"},
	} {
		err := checkUnused(t.Context(), test.dir)
		if test.text == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, test.text, name)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, checkUnused(ended, etcdFolder(t, sound(), false)), context.Canceled)

	dir := etcdFolder(t, unused, false)
	require.NoError(t, checkUnused(t.Context(), dir))
	db, err := bbolt.Open(filepath.Join(dir, "member", "snap", "db"), 0o600, &bbolt.Options{Timeout: time.Millisecond})
	require.NoError(t, err, "the check has closed it")
	require.Error(t, checkUnused(t.Context(), dir), "another process has it")
	require.NoError(t, db.Close())
}
