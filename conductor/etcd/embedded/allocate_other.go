// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package embedded

import (
	"errors"
	"os"
)

// allocate makes the file system reserve blocks for the first size bytes of a file, where that is supported.
func allocate(*os.File, int64) error { return errors.ErrUnsupported }
