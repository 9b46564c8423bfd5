package etcd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"

	"github.com/ironstate/ironstate/conductor"
)

// Backup writes a snapshot of etcd's whole database, while others read and write: the
// file that `etcdctl snapshot save` writes, and that [Restore] and `etcdutl snapshot
// restore` read. Of the server in this process it has every write that has returned
// before. Of a cluster it is the database of one server, which may lack the last ones,
// and etcd's user needs the role root. It holds the passwords of BMCs as they are.
//
// The error is [ErrClosed], the writer's, or etcd's; what was written then is no backup.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	if err := s.backup(ctx, w); err != nil {
		return fmt.Errorf("back up etcd: %w", err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, w io.Writer) error {
	ctx, done, err := s.beginWatch(ctx) // it may take long
	if err != nil {
		return err
	}
	defer done()
	if w == nil {
		return &conductor.ConfigError{Field: "the writer", Want: "set"}
	}
	content, err := s.client.Snapshot(ctx)
	if err != nil {
		return failure(ctx, err)
	}
	defer content.Close()
	size, err := io.Copy(w, content)
	switch {
	case err != nil:
		return failure(ctx, err)
	case size%512 != sha256.Size: // pages, and their hash
		return io.ErrUnexpectedEOF
	}
	return nil
}

// Restore makes the database of the folder that c.Dir names from a backup: a file that
// [Store.Backup] or `etcdctl snapshot save` has written. The store that [Open] then finds
// in the folder is as it was at the time of the backup, with the same revisions. Nothing
// is left where it fails.
//
// The error matches [fs.ErrExist] where the folder has a database already, [ErrInUse]
// where another process has the folder open, and [fs.ErrNotExist] where there is no
// such file.
func Restore(c Config, file string) error {
	c, err := c.complete()
	if err == nil && c.Dir == "" {
		err = errors.New("a backup is restored into Dir, which is not set: a cluster is restored by etcdutl")
	}
	if err == nil {
		err = restore(c, file)
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", file, err)
	}
	return nil
}

func restore(c Config, file string) (err error) {
	if _, err := os.Stat(file); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	lock, err := lockFolder(c.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	dir, incomplete := databases(c.Dir)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%w: %s has a database, and a backup is restored where there is none", fs.ErrExist, c.Dir))
	}
	if err := os.RemoveAll(incomplete); err != nil {
		return err
	}
	if err := unpack(c, file, incomplete); err != nil {
		return errors.Join(err, os.RemoveAll(incomplete))
	}
	return rename(incomplete, dir)
}

// unpack makes etcd's files from a backup. etcd panics where the database in it is
// damaged.
func unpack(c Config, file, dir string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("etcd cannot read this file: %v", p)
		}
	}()
	quiet := new(atomic.Bool)
	quiet.Store(true)
	log := zapLogger(c.Log, quiet)
	config := serverConfig(dir, c.Quota, log)
	return snapshot.NewV3(log).Restore(snapshot.RestoreConfig{
		SnapshotPath: file, OutputDataDir: dir, Name: config.Name, PeerURLs: []string{config.AdvertisePeerUrls[0].String()},
		InitialCluster: config.InitialCluster, InitialClusterToken: config.InitialClusterToken,
	})
}

// databases returns the folder of etcd's files, and the one in which they are made.
func databases(dir string) (complete, incomplete string) {
	return filepath.Join(dir, aloneDir), filepath.Join(dir, aloneDir+".new")
}

// lockFolder keeps other processes out of the folder. etcd locks its files too, but waits
// for them without end.
func lockFolder(dir string) (*fileutil.LockedFile, error) {
	lock, err := fileutil.TryLockFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_WRONLY, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, ErrInUse
	}
	return lock, err
}
