// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/internal/needs"
)

func init() { roles["sockets"] = printSockets }

// printSockets is the role "sockets": it opens the store in the folder and prints the number of its sockets.
func printSockets(dir string) error {
	s, err := embedded.Open(context.Background(), embedded.Config{Dir: dir})
	if err != nil {
		return err
	}
	_, err = s.Create(context.Background(), conductor.Record{Kind: etcdtest.Kind, ID: "a", Value: []byte("{}")})
	if err != nil {
		return err
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	sockets := 0
	for _, file := range files {
		if target, err := os.Readlink("/proc/self/fd/" + file.Name()); err == nil && strings.HasPrefix(target, "socket:") {
			sockets++
		}
	}
	fmt.Printf("%d of %d files are sockets\n", sockets, len(files))
	return s.Close()
}

func TestAFolderNeedsNoSocket(t *testing.T) {
	needs.Time(t)
	require.Regexp(t, `^0 of \d+ files are sockets$`, etcdtest.Spawn(t, "sockets", t.TempDir()).Line(t))
}

func TestNothingIsPrinted(t *testing.T) {
	needs.Time(t)
	errors, err := os.CreateTemp(t.TempDir(), "stderr")
	require.NoError(t, err)
	p := etcdtest.SpawnWith(t, errors, "opener", t.TempDir())
	require.Equal(t, "opened", p.Line(t))
	require.False(t, p.Lines.Scan())
	printed, err := os.ReadFile(errors.Name())
	require.NoError(t, err)
	require.Empty(t, string(printed))
}
