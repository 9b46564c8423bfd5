// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/storage/wal"
)

// etcd ends the process if it cannot write. Writes of clients are refused when the free space is below the reserve, but
// etcd also writes by itself, and another program may take the rest of the space at any moment. So the space that etcd
// needs next is taken before: the next blocks of its database and the next file of its log. A ballast beside them is
// given up when nothing else is left.
const (
	ballastSize = 64 << 20
	// databasePreallocation is the space beyond the size of the database. Between two looks at the free space, writes
	// need less.
	databasePreallocation = 64 << 20
)

// ballastWork returns what to do with the ballast. It is made when it fits into the space above the reserve, at whose
// end an alarm ends, and released when a sixteenth of the reserve is left.
func ballastWork(free, reserve int64, held bool) (hold, release bool) {
	return !held && free >= reserve+reserve/4+ballastSize, held && free < reserve/16
}

// preallocation is the space that a server has taken before it needs it.
type preallocation struct {
	folder string // of etcd's files
	file   string // the ballast

	database os.FileInfo // of the last allocation
}

func newPreallocation(c Config) *preallocation {
	folder, _ := databases(c)
	return &preallocation{folder: folder, file: filepath.Join(c.Dir, "ballast")}
}

// held reports whether the ballast is there.
func (p *preallocation) held() bool {
	info, err := os.Stat(p.file)
	return err == nil && info.Mode().IsRegular()
}

// hold makes the ballast. A part of it is not left behind.
func (p *preallocation) hold() error {
	part := p.file + ".new"
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = allocate(file, ballastSize); err != nil { // not every file system can
		_, err = io.CopyN(file, rand.Reader, ballastSize) // which no file system compresses
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(part, p.file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("make the ballast: %w", err), os.Remove(part))
	}
	return nil
}

// release gives the space of the ballast up.
func (p *preallocation) release() error {
	if err := os.Remove(p.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// take allocates the next blocks of the database, if its file has changed, and the file that etcd's log needs after the
// one that etcd has allocated itself. etcd gives them the names 0.tmp and 1.tmp in turn, and uses a file that exists.
// It takes at most room bytes.
//
// Source: filePipeline.alloc in server/storage/wal/file_pipeline.go of etcd.
func (p *preallocation) take(room int64) error {
	path := filepath.Join(p.folder, "member", "snap", "db")
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if room >= databasePreallocation && (p.database == nil || !os.SameFile(p.database, info) || p.database.Size() != info.Size()) {
		room -= databasePreallocation
		if err := allocateNamed(path, os.O_WRONLY, info.Size()+databasePreallocation); err != nil {
			return err
		}
		p.database = info
	}
	for _, name := range []string{"0.tmp", "1.tmp"} {
		path := filepath.Join(p.folder, "member", "wal", name)
		if _, err := os.Stat(path); room < wal.SegmentSizeBytes || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		room -= wal.SegmentSizeBytes
		if err := allocateNamed(path, os.O_WRONLY|os.O_CREATE, wal.SegmentSizeBytes); err != nil {
			return err
		}
	}
	return nil
}

// allocateNamed allocates blocks of a file. A file system that cannot is no error: the reserve alone remains.
func allocateNamed(path string, flag int, size int64) error {
	file, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return err
	}
	err = allocate(file, size)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, file.Close())
}
