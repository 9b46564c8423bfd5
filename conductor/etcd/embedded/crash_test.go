// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/etcd/embedded"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/internal/needs"
)

// SECURITY.md: A write that was acknowledged is not lost when processes are killed or a disk is full.
func TestAKilledProcessHasLostNoAcknowledgedWrite(t *testing.T) {
	needs.Time(t)
	dir := t.TempDir()
	acknowledged := make(map[string]string) // the last acknowledged value of each record
	revisions := make(map[string]int64)
	for _, lines := range []int{0, 1, 50, 700, 300} {
		writer := etcdtest.Spawn(t, "writer", dir)
		for range lines {
			id, value, revision := parse(t, writer.Line(t))
			acknowledged[id], revisions[id] = value, revision
		}
		require.NoError(t, writer.Process.Kill())
		for writer.Lines.Scan() { // the remaining output of the killed process
			if strings.Count(writer.Lines.Text(), " ") != 2 {
				continue
			}
			id, value, revision := parse(t, writer.Lines.Text())
			acknowledged[id], revisions[id] = value, revision
		}
		_ = writer.Wait()

		s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir})
		require.NoError(t, err)
		for id, value := range acknowledged {
			r, err := s.Get(t.Context(), etcdtest.Kind, "name="+id)
			require.NoError(t, err)
			require.GreaterOrEqual(t, r.Revision, revisions[id])
			require.GreaterOrEqual(t, string(r.Value), value, "a later update may have been done whose end nobody was told of")
		}
		require.NoError(t, s.Close())
	}
	require.Greater(t, len(acknowledged), 300)
}

// parse reads a line of the role "writer".
func parse(t *testing.T, line string) (id, value string, revision int64) {
	t.Helper()
	fields := strings.Fields(line)
	require.Len(t, fields, 3, line)
	revision, err := strconv.ParseInt(fields[2], 10, 64)
	require.NoError(t, err)
	return fields[0], fields[1], revision
}

// The process dies at each fourth message that etcd logs.
func TestAFolderIsUsableAfterAProcessDiedWhileCreatingIt(t *testing.T) {
	needs.Time(t)
	for moment := 1; moment < 64; moment += 4 {
		dir := t.TempDir()
		dies := etcdtest.Spawn(t, "dier", fmt.Sprintf("%s %d", dir, moment))
		require.False(t, dies.Lines.Scan(), "the process has opened the folder")
		dies.Kill()
		s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir})
		require.NoError(t, err, "after message %d", moment)
		etcdtest.Create(t, s, "a")
		require.NoError(t, s.Close())
	}
}

func TestAFolderIsOpenInOneProcess(t *testing.T) {
	needs.Time(t)
	dir := t.TempDir()
	s := open(t, embedded.Config{Dir: dir})

	_, err := embedded.Open(t.Context(), embedded.Config{Dir: dir})
	require.ErrorIs(t, err, embedded.ErrInUse)
	require.ErrorContains(t, err, dir)

	require.Contains(t, etcdtest.Spawn(t, "opener", dir).Line(t), embedded.ErrInUse.Error())

	require.NoError(t, s.Close())
	require.Equal(t, "opened", etcdtest.Spawn(t, "opener", dir).Line(t))
}
