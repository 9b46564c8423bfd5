// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheBallastIsMadeAboveTheReserveAndReleasedWhenNothingElseIsLeft(t *testing.T) {
	const reserve = 256 << 20
	for free := int64(0); free < 2*reserve; free += 1 << 20 {
		for _, held := range []bool{false, true} {
			hold, release := ballastWork(free, reserve, held)
			require.Equal(t, !held && free >= 320<<20+ballastSize, hold, "%d", free)
			require.Equal(t, held && free < 16<<20, release, "%d", free)
		}
	}
}

func TestTheBallastHasItsSpaceAndGivesItBack(t *testing.T) {
	a := newPreallocation(Config{Dir: t.TempDir()})
	require.False(t, a.held())
	require.NoError(t, a.release(), "there is none")
	require.NoError(t, os.WriteFile(a.file+".new", []byte("of a process that was killed"), 0o600))
	require.NoError(t, a.hold())
	require.True(t, a.held())
	info, err := os.Stat(a.file)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)
	require.NoFileExists(t, a.file+".new")
	require.NoError(t, a.release())
	require.False(t, a.held())
	require.Error(t, newPreallocation(Config{Dir: filepath.Join(t.TempDir(), "none")}).hold())
}

// TestTheNextBlocksOfADatabaseAreAllocatedOnceForEachFile replaces the database by another file of the same size, as a
// defragmentation may do.
func TestTheNextBlocksOfADatabaseAreAllocatedOnceForEachFile(t *testing.T) {
	a := newPreallocation(Config{Dir: t.TempDir()})
	for _, folder := range []string{"snap", "wal"} {
		require.NoError(t, os.MkdirAll(filepath.Join(a.folder, "member", folder), 0o700))
	}
	database := filepath.Join(a.folder, "member", "snap", "db")
	for range 2 {
		require.NoError(t, os.WriteFile(database+".new", make([]byte, 4096), 0o600))
		require.NoError(t, os.Rename(database+".new", database))
		require.NoError(t, a.take(databasePreallocation))
		first := a.database
		now, err := os.Stat(database)
		require.NoError(t, err)
		require.True(t, os.SameFile(first, now), "the new file has the blocks")
		require.NoError(t, a.take(databasePreallocation))
		require.Same(t, first, a.database, "nothing is allocated again")
	}
}
