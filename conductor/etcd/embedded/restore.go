// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
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
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/ironstate/ironstate/conductor/etcd/internal/zaplog"
)

// Restore creates the database in the folder c.Dir from a backup, which is a file that
// [etcd.Store.Backup] or `etcdctl snapshot save` has written. [Open] then returns a store with
// the records and revisions of the time of the backup. If c.Cluster is set, the folder belongs to the
// server c.Cluster.Name; restore the folders of the other servers from the same backup. A Restore
// that fails, or whose context ends, leaves no database and no lock behind.
//
// The error matches [fs.ErrExist] if the folder already has a database, [ErrInUse] if another
// process has the folder open, and [fs.ErrNotExist] if the file does not exist.
func Restore(ctx context.Context, c Config, file string) error {
	c, err := c.complete()
	if err == nil {
		err = restore(ctx, c, file)
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", file, err)
	}
	return nil
}

func restore(ctx context.Context, c Config, file string) (err error) {
	if err := checkBackup(ctx, file); err != nil {
		return err
	}
	if _, missing := os.Stat(c.Dir); errors.Is(missing, fs.ErrNotExist) {
		defer func() {
			if err != nil {
				_ = os.Remove(c.Dir) // if it is empty
			}
		}()
	}
	if err := makeFolder(c.Dir); err != nil {
		return err
	}
	lock, err := lockFolder(c.Dir)
	if err != nil {
		return fmt.Errorf("lock %s: %w", c.Dir, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if exists, err := Exists(c.Dir); exists || err != nil {
		return errors.Join(err, fmt.Errorf("%w: %s already has a database, and a backup is restored into a folder without one",
			fs.ErrExist, c.Dir))
	}
	dir, incomplete := databases(c)
	if err := os.RemoveAll(incomplete); err != nil {
		return err
	}
	err = unpack(c, file, incomplete)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(incomplete), os.Remove(lock.Name()))
	}
	return rename(incomplete, dir)
}

// checkBackup returns an error if the file is not a whole backup, which consists of a sound database in
// blocks of 512 bytes and of their SHA-256 hash.
func checkBackup(ctx context.Context, file string) error {
	info, err := os.Stat(file) // before it is opened, since opening a named pipe waits
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNoBackup
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	pages, hash, written := info.Size()-sha256.Size, sha256.New(), make([]byte, sha256.Size)
	if pages <= 0 || pages%512 != 0 {
		return errNoBackup
	}
	if _, err := io.CopyN(hash, untilDone{ctx, f}, pages); err != nil {
		return err
	}
	if _, err := io.ReadFull(f, written); err != nil {
		return err
	}
	if !bytes.Equal(hash.Sum(nil), written) {
		return errNoBackup
	}
	return checkDatabase(ctx, file, pages)
}

// untilDone is a reader that returns the context's error once the context has ended.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (r untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

var errNoBackup = errors.New("the file is damaged or is not a backup: want one that this package or etcdctl snapshot save has written")

// unpack creates etcd's files from a backup. It recovers the panic of etcd for a damaged
// database.
func unpack(c Config, file, dir string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("etcd cannot read this file: %v", p)
		}
	}()
	log := zaplog.New(c.Log, new(atomic.Bool))
	config, err := anyConfig(dir, c, log)
	if err != nil {
		return err
	}
	return snapshot.NewV3(log).Restore(snapshot.RestoreConfig{
		SnapshotPath: file, OutputDataDir: dir, Name: config.Name, PeerURLs: []string{config.AdvertisePeerUrls[0].String()},
		InitialCluster: config.InitialCluster, InitialClusterToken: config.InitialClusterToken,
	})
}

// databases returns the folder of etcd's files, and the temporary folder in which they are
// created.
func databases(c Config) (complete, incomplete string) {
	dir := filepath.Join(c.Dir, aloneDir)
	if c.Cluster.isSet() {
		dir = filepath.Join(c.Dir, peerDir)
	}
	return dir, dir + ".new"
}

// anyConfig returns the configuration of a single server or of one server of a cluster.
func anyConfig(dir string, c Config, log *zap.Logger) (*embed.Config, error) {
	if c.Cluster.isSet() {
		return peerConfig(dir, c, log)
	}
	return serverConfig(dir, c.Quota, log), nil
}

// lockFolder locks the folder against other processes, without waiting. etcd locks its files too,
// but waits for them forever.
func lockFolder(dir string) (*fileutil.LockedFile, error) {
	path := filepath.Join(dir, "lock")
	if info, err := os.Lstat(path); err == nil {
		if err := checkType(path, info.Mode()); err != nil {
			return nil, err
		}
	}
	return lockNamed(path, func() (*fileutil.LockedFile, error) {
		return fileutil.TryLockFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	})
}

// lockNamed returns the file that try has locked, once it is the one with the name.
func lockNamed(path string, try func() (*fileutil.LockedFile, error)) (*fileutil.LockedFile, error) {
	for {
		lock, err := try()
		if errors.Is(err, fileutil.ErrLocked) {
			return nil, ErrInUse
		}
		if err != nil {
			return nil, err
		}
		opened, err := lock.Stat()
		named, gone := os.Stat(path)
		if os.SameFile(opened, named) {
			return lock, nil
		}
		// A failed Restore has removed the file after it was opened here.
		if err = errors.Join(err, lock.Close()); err != nil || gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			return nil, errors.Join(err, gone)
		}
	}
}
