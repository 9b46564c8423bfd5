// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
)

func init() { roles["filled-disk"] = filledDisk }

// SECURITY.md: With little free space, writes are refused and reads go on, also when other programs take the rest of
// the space.
func TestAServerOutlivesADiskThatBecomesFullWhileItWrites(t *testing.T) {
	p := spawnMounted(t, "filled-disk", t.TempDir())
	for _, want := range []string{
		"the ballast is there",
		"writes are refused",
		"no byte is free, since another program has taken the ballast, too",
		"reads are answered",
		"writes are accepted without a restart, and the log has got new files",
		"the ballast is there again",
		"every acknowledged record is there",
	} {
		require.Equal(t, want, p.Line(t))
	}
	require.False(t, p.Lines.Scan(), p.Lines.Text())
	require.NoError(t, p.Wait())
}

// filledDisk is the role "filled-disk". Another program, played by a goroutine, takes each free byte while records are
// written.
func filledDisk(dir string) error {
	const mib = 1 << 20
	if err := mountSmall(dir, 896*mib); err != nil {
		return err
	}
	ctx := context.Background()
	fleet := filepath.Join(dir, "fleet")
	store, err := embedded.Open(ctx, embedded.Config{Dir: fleet, Reserve: 64 * mib})
	if err != nil {
		return err
	}
	defer store.Close()
	// The first record is read all the time, and the second one is written.
	read, written := conductor.Record{Kind: etcdtest.Kind, ID: "read", Value: []byte("{}")},
		conductor.Record{Kind: etcdtest.Kind, ID: "written"}
	if read.Revision, err = store.Create(ctx, read); err != nil {
		return err
	}
	count := 0
	write := func(size int) error {
		next := written
		next.Value = fmt.Appendf(nil, "%0*d", size, count+1)
		var err error
		if next.Revision == 0 {
			next.Revision, err = store.Create(ctx, next)
		} else {
			next.Revision, err = store.Update(ctx, next)
		}
		if err == nil {
			written, count = next, count+1
		}
		return err
	}
	ballast, next := filepath.Join(fleet, "ballast"), filepath.Join(fleet, "etcd", "member", "wal", "1.tmp")
	for !exists(ballast) || !exists(next) {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("the ballast is there")

	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		return err
	}
	var stop atomic.Bool
	filled := make(chan error, 1)
	go func() {
		taken, most := int64(0), int64(16*mib) // a request for more than is free would give all of it back
		for !stop.Load() {
			free, err := embedded.FreeSpace(dir)
			size := min(free, most)
			if err == nil && size > 0 {
				err = syscall.Fallocate(int(filler.Fd()), 0, taken, size)
			}
			switch {
			case errors.Is(err, syscall.ENOSPC):
				most = max(most/2, 4096)
			case err != nil:
				filled <- err
				return
			case size > 0:
				taken += size
			default:
				time.Sleep(time.Millisecond)
			}
		}
		filled <- errors.Join(filler.Close(), os.Remove(filler.Name()))
	}()
	for err = write(10_000); !errors.Is(err, etcd.ErrNoSpace); err = write(10_000) {
		if err != nil {
			return err
		}
	}
	fmt.Println("writes are refused")
	for free := int64(1); exists(ballast) || free > 0; time.Sleep(10 * time.Millisecond) {
		if free, err = embedded.FreeSpace(dir); err != nil {
			return err
		}
	}
	fmt.Println("no byte is free, since another program has taken the ballast, too")
	for range 300 {
		if err := write(10_000); !errors.Is(err, etcd.ErrNoSpace) {
			return fmt.Errorf("a write without space: %w", err)
		}
		if _, err := store.Get(ctx, read.Kind, read.ID); err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("reads are answered")

	stop.Store(true)
	if err := <-filled; err != nil {
		return err
	}
	for err = write(mib); errors.Is(err, etcd.ErrNoSpace); err = write(mib) {
		time.Sleep(10 * time.Millisecond)
	}
	for range 140 { // two files of the log have 64 MB each
		if err = errors.Join(err, write(mib)); err != nil {
			return err
		}
	}
	fmt.Println("writes are accepted without a restart, and the log has got new files")
	for !exists(ballast) {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("the ballast is there again")
	for _, r := range []conductor.Record{read, written} {
		if got, err := store.Get(ctx, r.Kind, r.ID); err != nil || got.Revision != r.Revision {
			return fmt.Errorf("%s has revision %d, want %d: %w", r.ID, got.Revision, r.Revision, err)
		}
	}
	fmt.Println("every acknowledged record is there")
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
