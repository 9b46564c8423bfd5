// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
)

// sockets returns the number of sockets of this process.
func sockets(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}

func TestAFolderNeedsNoSocket(t *testing.T) {
	before := sockets(t)
	s := open(t, embedded.Config{Dir: t.TempDir()})
	etcdtest.Create(t, s, "a")
	require.Equal(t, before, sockets(t))
}

func TestNothingIsPrinted(t *testing.T) {
	errors, err := os.CreateTemp(t.TempDir(), "stderr")
	require.NoError(t, err)
	p := etcdtest.SpawnWith(t, errors, "opener", t.TempDir())
	require.Equal(t, "opened", p.Line(t))
	require.False(t, p.Lines.Scan())
	printed, err := os.ReadFile(errors.Name())
	require.NoError(t, err)
	require.Empty(t, string(printed))
}
