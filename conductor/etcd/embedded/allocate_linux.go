// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"os"
	"syscall"
)

// keepSize is FALLOC_FL_KEEP_SIZE of fallocate(2).
const keepSize = 1

// allocate makes the file system reserve blocks for the first size bytes of a file, whose size and content stay as they
// are.
func allocate(file *os.File, size int64) error {
	return os.NewSyscallError("fallocate", syscall.Fallocate(int(file.Fd()), keepSize, 0, size))
}
