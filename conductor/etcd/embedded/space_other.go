// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin && !freebsd

package embedded

import "errors"

// FreeSpace returns the bytes that this process can still write to the file system of a folder. The error
// matches [errors.ErrUnsupported] on an operating system without it.
func FreeSpace(string) (int64, error) { return 0, errors.ErrUnsupported }
