package embedded

import (
	"bytes"
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
// the records and revisions of the time of the backup. If c.Cluster is set, the folder is that of the
// server c.Cluster.Name; restore the folders of the other servers from the same backup. A Restore
// that fails leaves no database and no lock behind.
//
// The error matches [fs.ErrExist] if the folder already has a database, [ErrInUse] if another
// process has the folder open, and [fs.ErrNotExist] if the file does not exist.
func Restore(c Config, file string) error {
	c, err := c.complete()
	if err == nil {
		err = restore(c, file)
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", file, err)
	}
	return nil
}

func restore(c Config, file string) (err error) {
	if err := checkBackup(file); err != nil {
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
	for _, dir := range []string{aloneDir, peerDir} {
		if _, err := os.Stat(filepath.Join(c.Dir, dir)); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("%w: %s already has a database, and a backup is restored into a folder without one", fs.ErrExist, c.Dir))
		}
	}
	dir, incomplete := databases(c)
	if err := os.RemoveAll(incomplete); err != nil {
		return err
	}
	if err := unpack(c, file, incomplete); err != nil {
		return errors.Join(err, os.RemoveAll(incomplete), os.Remove(lock.Name()))
	}
	return rename(incomplete, dir)
}

// checkBackup returns an error if the file is not a whole backup: pages of 512 bytes followed by their SHA-256 hash.
func checkBackup(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	pages, hash, written := info.Size()-sha256.Size, sha256.New(), make([]byte, sha256.Size)
	if !info.Mode().IsRegular() || pages <= 0 || pages%512 != 0 {
		return errNoBackup
	}
	if _, err := io.CopyN(hash, f, pages); err != nil {
		return err
	}
	if _, err := io.ReadFull(f, written); err != nil {
		return err
	}
	if !bytes.Equal(hash.Sum(nil), written) {
		return errNoBackup
	}
	return nil
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
	quiet := new(atomic.Bool)
	quiet.Store(true)
	log := zaplog.New(c.Log, quiet)
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
	for {
		lock, err := fileutil.TryLockFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if errors.Is(err, fileutil.ErrLocked) {
			return nil, ErrInUse
		}
		if err != nil {
			return nil, err
		}
		opened, err := lock.Stat()
		named, gone := os.Stat(path)
		if err == nil && gone == nil && os.SameFile(opened, named) {
			return lock, nil
		}
		// A failed Restore has removed the file after it was opened here.
		if err = errors.Join(err, lock.Close()); err != nil || gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			return nil, errors.Join(err, gone)
		}
	}
}
