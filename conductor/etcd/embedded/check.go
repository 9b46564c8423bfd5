// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// checkFolder returns an error if etcd could not start from its folder, but would wait forever or
// panic in a goroutine of its own. A folder that does not exist is accepted.
func checkFolder(ctx context.Context, dir string) error {
	if err := checkFiles(dir); err != nil {
		return err
	}
	db, log := filepath.Join(dir, "member", "snap", "db"), filepath.Join(dir, "member", "wal")
	info, err := os.Stat(db)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !wal.Exist(log):
		return fmt.Errorf("the database %s has lost its log %s: restore a backup", db, log)
	}
	return checkDatabase(ctx, db, info.Size())
}

// checkUnused returns an error if the folder has a database with records although it has no log: the log was lost, and
// the database must not be deleted.
func checkUnused(ctx context.Context, dir string) error {
	file := filepath.Join(dir, "member", "snap", "db")
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if damage := checkDatabase(ctx, file, info.Size()); damage != nil {
		if ctx.Err() != nil || info.Size() <= newDatabase() {
			return ctx.Err() // etcd was interrupted while it created the file
		}
		return fmt.Errorf("the database %s is damaged and has lost its log: replace this server, or restore a backup: %w", file, damage)
	}
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bbolt.Tx) error {
		if first, _ := tx.Bucket(schema.Key.Name()).Cursor().First(); first != nil {
			return fmt.Errorf("the database %s has lost its log: replace this server, or restore a backup", file)
		}
		return nil
	})
}

// newDatabase returns the size in bytes of the file that bbolt creates. A database with the buckets of etcd is larger.
func newDatabase() int64 { return 4 * int64(os.Getpagesize()) }

// checkFiles returns an error if the folder contains anything but files and folders: opening a
// named pipe could wait forever.
func checkFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		default:
			return checkType(path, entry.Type())
		}
	})
}

func checkType(path string, mode fs.FileMode) error {
	if mode.IsDir() || mode.IsRegular() {
		return nil
	}
	return fmt.Errorf("%s is neither a file nor a folder", path)
}

// checkDatabase returns an error if a file whose first size bytes are a database is not a sound
// database of etcd. etcd and bbolt panic for a damaged one in goroutines of their own, where a panic cannot be
// recovered. The check reads all pages in use. It does not find a byte of a record's value that has
// changed, since a database has no checksums.
func checkDatabase(ctx context.Context, file string, size int64) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := readPages(ctx, f, size); err != nil {
		return fmt.Errorf("the database %s cannot be read: %w", file, err)
	}
	return nil
}
