// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAFileThatCannotBeSynchronizedIsNotLeft puts /dev/null, which has no fsync, in the place of the file.
func TestAFileThatCannotBeSynchronizedIsNotLeft(t *testing.T) {
	here := t.TempDir()
	_, err := createFile(filepath.Join(here, "nodes.db"), func(w io.Writer) error {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer null.Close()
		return syscall.Dup3(int(null.Fd()), int(w.(*os.File).Fd()), syscall.O_CLOEXEC)
	})
	require.ErrorIs(t, err, syscall.EINVAL)
	require.Empty(t, files(t, here))
}
