// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// files returns the names of the files of a folder.
func files(t *testing.T, folder string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, file := range all {
		names = append(names, file.Name())
	}
	return names
}

// SECURITY.md: A backup has its name only when it is complete.
func TestAFileIsPrivateAndNamedOnlyWhenComplete(t *testing.T) {
	here := t.TempDir()
	size, err := createFile(filepath.Join(here, "nodes.db"), func(w io.Writer) error {
		_, err := io.WriteString(w, "all nodes")
		require.Len(t, files(t, here), 1)
		require.Regexp(t, `^\.backup-\d+\.partial$`, files(t, here)[0])
		info, statErr := w.(*os.File).Stat()
		require.NoError(t, statErr)
		require.Zero(t, info.Mode().Perm()&0o077, "it has passwords")
		return err
	})
	require.NoError(t, err)
	require.EqualValues(t, len("all nodes"), size)
	require.Equal(t, []string{"nodes.db"}, files(t, here))
	info, err := os.Stat(filepath.Join(here, "nodes.db"))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)
}

func TestAFileThatCannotBeWrittenIsNotLeft(t *testing.T) {
	here, broken := t.TempDir(), errors.New("the store is closed")
	_, err := createFile(filepath.Join(here, "nodes.db"), func(w io.Writer) error {
		_, err := io.WriteString(w, "the first nodes")
		return errors.Join(err, broken)
	})
	require.ErrorIs(t, err, broken)
	require.Empty(t, files(t, here))
}

func TestABackupOfAnotherProcessIsItsWholeStoreOrAnError(t *testing.T) {
	for _, failure := range []error{nil, errors.New("the store is closed")} {
		data := t.TempDir()
		stop, err := offerBackups(data, func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "the first nodes")
			return errors.Join(err, failure)
		}, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		info, err := os.Stat(filepath.Dir(socket(data)))
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "nobody else may ask for one")
		here := t.TempDir()
		_, err = createFile(filepath.Join(here, "nodes.db"), func(w io.Writer) error { return requestBackup(t.Context(), data, w) })
		if failure == nil {
			require.NoError(t, err)
			require.Equal(t, []string{"nodes.db"}, files(t, here))
		} else {
			require.Error(t, err)
			require.Empty(t, files(t, here))
		}
		stop()
	}
}
