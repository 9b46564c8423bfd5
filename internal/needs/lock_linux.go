// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file until unlock is called or the process ends; child processes do not inherit the lock. It
// reports whether another holds the lock. If the file cannot be locked for any other reason, there is no lock.
func tryLock(path string) (unlock func(), busy bool) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, errors.Is(err, syscall.EWOULDBLOCK)
	}
	return func() { _ = file.Close() }, false
}
