// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// errWrite is matched by errors of writing a file. They name the file as the user did.
var errWrite = errors.New("write")

// save writes to a file, or to standard output if the file name is empty.
func save(ctx context.Context, file string, data []byte, stdout io.Writer) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if file == "" || file == "-" {
		return unlessEnded(ctx, func() error {
			_, err := stdout.Write(data)
			return err
		})
	}
	err := replace(ctx, file, data)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w %s: %w", errWrite, file, reason(err))
}

// reason returns an error without its path, which may be the path of the temporary file.
func reason(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	default:
		return err
	}
}

// unlessEnded calls write, which may block on a reader, such as a pipe's. When the
// context ends, it abandons the call: the program is about to exit.
func unlessEnded(ctx context.Context, write func() error) error {
	done := make(chan error, 1)
	go func() { done <- write() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// replace writes a temporary file beside the named one and renames it, so that no
// reader sees half of it. It writes to a pipe or device directly. It keeps a symbolic
// link, also one to a file that does not exist yet, and the mode of the file.
func replace(ctx context.Context, file string, data []byte) error {
	info, err := os.Stat(file)
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case isNew:
		file, err = followed(file)
	case err != nil:
	case !info.Mode().IsRegular():
		return unlessEnded(ctx, func() error { return os.WriteFile(file, data, 0) })
	default:
		file, err = filepath.EvalSymlinks(file)
	}
	if err != nil {
		return err
	}
	beside, err := os.OpenFile(filepath.Join(filepath.Dir(file), ".stategraph-"+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = beside.Write(data)
	if !isNew { // a new one has the mode that the umask leaves
		err = errors.Join(err, beside.Chmod(info.Mode().Perm()))
	}
	err = errors.Join(err, beside.Close())
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = os.Rename(beside.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(beside.Name()))
	}
	return nil
}

// followed returns the path to which a file that does not exist leads, through symbolic links if it is one. Their
// folders must exist.
func followed(file string) (string, error) {
	for {
		to, err := os.Readlink(file)
		if err != nil {
			return file, nil
		}
		if !filepath.IsAbs(to) {
			folder, _ := filepath.Split(file)
			to = folder + to
		}
		folder, name := filepath.Split(to) // unlike Dir and Base it keeps "..", which may follow another link
		folder, err = filepath.EvalSymlinks(cmp.Or(folder, "."))
		if err != nil {
			return "", err
		}
		file = filepath.Join(folder, name)
	}
}
