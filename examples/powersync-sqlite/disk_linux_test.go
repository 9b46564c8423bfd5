package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// smallDisk is a file system of 1 MiB.
func smallDisk(t *testing.T) string {
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m")
	needs.Installed(t, err == nil, "the right to mount a tmpfs")
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// fill fills the disk and returns a function that frees it.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	filler, err := os.Create(filepath.Join(dir, "filler"))
	require.NoError(t, err)
	defer filler.Close()
	for {
		if _, err := filler.Write(make([]byte, 512)); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			return func() { require.NoError(t, os.Remove(filler.Name())) }
		}
	}
}

func TestADiskThatIsFullAndFreedLosesNothing(t *testing.T) {
	const n = 100
	dir := smallDisk(t)
	store := open(t, filepath.Join(dir, "fleet.db"))
	require.NoError(t, store.Add(t.Context(), fleet(n)...))
	hardware := &machines{off: map[string]bool{}}
	syncer := newSyncer(t, store, hardware, nil)
	finish, err := syncer.Begin(t.Context(), "node-000000", states.PowerOff, 0)
	require.NoError(t, err)

	free := fill(t, dir)
	require.ErrorIs(t, finish(t.Context()), powersync.ErrNotSaved)
	failed := 0
	for i := range 5 {
		for n := range 10 {
			hardware.off[fmt.Sprintf("node-%06d", 1+10*i+n)] = true
		}
		report, err := syncer.Sync(t.Context())
		require.NoError(t, err)
		require.Equal(t, n, report.Seen, "reading goes on")
		failed += report.Nodes[powersync.StoreFailed]
	}
	require.Positive(t, failed)

	free()
	for range 2 {
		_, err = syncer.Sync(t.Context())
		require.NoError(t, err)
	}
	require.Zero(t, syncer.Stats().Held)
	r, err := store.Load(context.Background(), "node-000000")
	require.NoError(t, err)
	require.Equal(t, states.PowerOff, r.Power, "the request's outcome was stored in the end")
	var integrity string
	require.NoError(t, store.db.QueryRow("PRAGMA integrity_check").Scan(&integrity))
	require.Equal(t, "ok", integrity)
	seen := 0
	for r, err := range store.Records(t.Context()) {
		require.NoError(t, err)
		require.Empty(t, r.Reservation)
		require.False(t, r.Maintenance)
		require.Equal(t, hardware.off[r.ID], r.Power == states.PowerOff, "%s", r.ID)
		seen++
	}
	require.Equal(t, n, seen)
}

func TestTheProgramOnAFullDiskSaysSoAndLeavesNothing(t *testing.T) {
	dir := smallDisk(t)
	fill(t, dir)
	t.Setenv("TMPDIR", dir)
	err := run(t.Context(), nil, os.Stdout, os.Stderr)
	require.Error(t, err)
	left, err := filepath.Glob(filepath.Join(dir, "powersync-sqlite-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
