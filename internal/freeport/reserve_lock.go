// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package freeport

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// reservations is the file of the ports of all processes of a user, nil if it cannot be opened.
var reservations = sync.OnceValue(func() *os.File {
	return open(filepath.Join(os.TempDir(), fmt.Sprintf("ironstate-ports-%d.lock", os.Getuid())))
})

// open opens a file in which each byte stands for a port. It is never closed, since a process that closes a file loses
// its locks on it.
func open(path string) *os.File {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil
	}
	return file
}

// reserve reserves a port for this process until it ends, and reports whether no other process has it.
func reserve(port int) bool {
	file := reservations()
	return file == nil || lock(file, port)
}

// lock locks the byte of a port until the process ends, and reports whether no other process has locked it. Child
// processes do not inherit the lock.
func lock(file *os.File, port int) bool {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: int64(port), Len: 1}
	return syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &lock) == nil
}
