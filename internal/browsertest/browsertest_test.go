// SPDX-License-Identifier: Apache-2.0

package browsertest_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/browsertest"
	"github.com/ironstate/ironstate/internal/needs"
)

func TestChromiumLeavesNoFiles(t *testing.T) {
	needs.Programs(t, "chromium")
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Run("Open", func(t *testing.T) {
		require.Equal(t, 2, browsertest.Eval[int](browsertest.Open(t, func(string) bool { return false }), "1+1"))
	})
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}
