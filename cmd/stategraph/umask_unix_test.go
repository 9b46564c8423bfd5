// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestANewFileHasTheModeThatTheUmaskLeaves(t *testing.T) {
	for umask, mode := range map[int]os.FileMode{0o077: 0o600, 0o022: 0o644} {
		file := filepath.Join(t.TempDir(), "states.dot")
		before := syscall.Umask(umask) // of the process
		_, stderr, code := execute("-o", file)
		syscall.Umask(before)
		require.Zero(t, code, stderr)
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm())
	}
}
