package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

var errWrite = errors.New("write")

// save writes to a file, or to standard output where it has no name.
func save(file string, data []byte, stdout io.Writer) error {
	var err error
	if file == "" || file == "-" {
		_, err = stdout.Write(data)
	} else {
		err = replace(file, data)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errWrite, err)
	}
	return nil
}

// replace writes a file beside the named one and then gives it its name, so that
// nobody sees half of it. What is no regular file, as a pipe, is written to.
func replace(file string, data []byte) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(file, data, 0)
	}
	beside, err := os.CreateTemp(filepath.Dir(file), ".stategraph-*")
	if err != nil {
		return err
	}
	err = fill(beside, data)
	if err == nil {
		err = os.Rename(beside.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(beside.Name()))
	}
	return nil
}

// fill writes a new file, makes it readable for all and closes it.
func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	return errors.Join(err, f.Chmod(0o644), f.Close())
}
