// SPDX-License-Identifier: Apache-2.0

// Package namedfile reads files whose paths the users of a service name, such as agent_verify_ca in a node's
// driver_info:
//
//	text, err := namedfile.Read("/etc/ssl/ca.pem", 1<<20)
//
// Only regular files with content are opened. Opening or reading anything else may block, change the state of a
// device, or never end: a FIFO, /dev/watchdog, /proc/kmsg, /proc/self/pagemap.
package namedfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Read returns the content of a file of at most so many bytes. It reads the bytes that the file has when it is opened,
// even if the file grows meanwhile.
func Read(path string, most int64) ([]byte, error) {
	file, at, err := open(host{}, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if at.Size() > most {
		return nil, fmt.Errorf("the file %q has %d bytes, and at most %d are read", path, at.Size(), most)
	}
	return io.ReadAll(io.LimitReader(file, at.Size()))
}

// Open opens a file in a folder. Its name may be a symbolic link, which must not lead out of the folder.
func Open(folder *os.Root, name string) (*os.File, error) {
	file, _, err := open(folder, name)
	return file, err
}

// List returns the names of at most so many files in a folder, in any order. More are an error.
func List(path string, most int) ([]string, error) {
	folder, _, err := openAny(host{}, path, fs.FileInfo.IsDir, "is not a folder")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(most + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(names) > most:
		return nil, fmt.Errorf("the folder %q has more than %d files", path, most)
	}
	return names, nil
}

// opener opens files: an [os.Root] within its folder, and host anywhere.
type opener interface {
	Stat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
}

type host struct{}

func (host) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

func (host) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// open opens a regular file with content. The kernel's files are regular, too, but most have no size.
func open(from opener, name string) (*os.File, fs.FileInfo, error) {
	file, at, err := openAny(from, name, func(at fs.FileInfo) bool { return at.Mode().IsRegular() }, "is not a regular file")
	if err == nil && at.Size() == 0 {
		_ = file.Close()
		return nil, nil, fmt.Errorf("the file %q is empty or one of the kernel", name)
	}
	return file, at, err
}

// openAny opens what has the right kind. The kind is checked before, since opening a device may change its state, and
// again on the open file, since another one may have taken the name.
func openAny(from opener, name string, right func(fs.FileInfo) bool, wrong string) (*os.File, fs.FileInfo, error) {
	at, err := from.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !right(at) {
		return nil, nil, fmt.Errorf("%q %s", name, wrong)
	}
	file, err := from.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO opens without a writer
	if err != nil {
		return nil, nil, err
	}
	if at, err = file.Stat(); err == nil && !right(at) {
		err = fmt.Errorf("%q %s", name, wrong)
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, at, nil
}
