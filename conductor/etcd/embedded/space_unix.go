// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd

package embedded

import "syscall"

// FreeSpace returns the bytes that this process can still write to the file system of a folder. The error
// matches [errors.ErrUnsupported] on an operating system without it.
func FreeSpace(dir string) (int64, error) {
	var found syscall.Statfs_t
	if err := syscall.Statfs(dir, &found); err != nil {
		return 0, err
	}
	return int64(found.Bavail) * int64(found.Bsize), nil
}
