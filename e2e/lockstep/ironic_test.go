// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestSeveralRunAtOnceAndLeaveNothingBehind(t *testing.T) {
	first, second := start(t, Options{}), start(t, Options{Config: "[DEFAULT]\nhost = second\n"})
	require.NotEqual(t, first.Endpoint(), second.Endpoint())
	for host, i := range map[string]*Ironic{HostName: first, "second": second} {
		uuid := i.newNode(t.Context())
		node, answer := i.Client.Show(t.Context(), i.newest(), uuid)
		require.Equal(t, http.StatusOK, answer.Status)
		require.Equal(t, machine.Node{State: states.Enroll}, node.Node)
		require.Contains(t, string(answer.Body), `"conductor": "`+host+`"`)

		group := i.process.cmd.Process.Pid
		require.NoError(t, i.Close())
		require.NoError(t, i.Close(), "a second time")
		until(t, func() bool { return syscall.Kill(-group, 0) != nil })
		require.NoDirExists(t, i.dir)
	}
}

// The keeper's standard input is closed when its parent process ends, for any reason.
func TestIronicEndsWithTheProcessThatStartedIt(t *testing.T) {
	i := start(t, Options{})
	group := i.process.cmd.Process.Pid
	require.NoError(t, i.process.in.Close())
	until(t, func() bool { return syscall.Kill(-group, 0) != nil })
	require.NoDirExists(t, i.dir)
}

func TestAnIronicInAFolderLeavesNoProcessBehind(t *testing.T) {
	needs.Time(t)
	needs.Installed(t, len(Folders()) > 0, "an Ironic in a folder of "+FoldersVariable)
	for _, root := range Folders() {
		t.Run(filepath.Base(root), func(t *testing.T) {
			i := start(t, Options{Root: root})
			running := family(t, i.dir)
			require.NotEmpty(t, running)
			require.NoError(t, i.Close())
			until(t, func() bool {
				return !slices.ContainsFunc(running, func(id int) bool { return syscall.Kill(id, 0) == nil })
			})
		})
	}
}

// family returns the processes whose command line has the text, and their children.
func family(t *testing.T, text string) (ids []int) {
	t.Helper()
	listed, err := exec.CommandContext(t.Context(), "ps", "-e", "-o", "pid=,ppid=,args=").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(listed)) {
		var id, parent int
		_, err := fmt.Sscan(line, &id, &parent)
		require.NoError(t, err)
		if strings.Contains(line, text) || slices.Contains(ids, parent) {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestTheErrorOfAFailedStartHasTheReason(t *testing.T) {
	i := start(t, Options{})
	require.NoError(t, os.RemoveAll(i.path("http")))
	require.NoError(t, os.RemoveAll(i.path(driverInfo)))
	err := i.Restart(t.Context())
	require.ErrorContains(t, err, "ended at once")
	require.ErrorContains(t, err, driverName)
}

func TestAMissingIronicIsErrNotInstalled(t *testing.T) {
	dir := t.TempDir()
	if path, err := exec.LookPath("dpkg-query"); err == nil { // Debian may know the package while the programs are not found
		require.NoError(t, os.Symlink(path, filepath.Join(dir, "dpkg-query")))
	}
	t.Setenv("PATH", dir)
	_, err := Start(t.Context(), Options{})
	require.ErrorIs(t, err, ErrNotInstalled)
	require.ErrorContains(t, err, "ironic-conductor")
}

func TestAPythonThatFailsIsAnError(t *testing.T) {
	needs.Programs(t, "ironic")
	p := startPython(Installation{}, "input(); raise SystemExit(3)")
	require.Error(t, try.Catch(func() { p.ask("anything", nil) }))
	require.Error(t, p.close())
}

// A write that waits for the end of a reservation must not delay Ironic's write that ends it.
func TestAWriteThatWaitsForAReservationDoesNotLockTheDatabase(t *testing.T) {
	needs.Programs(t, "ironic")
	path := filepath.Join(t.TempDir(), databaseFile)
	locked := startPython(Installation{}, `
import sqlite3, sys
input()
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.executescript("""
    PRAGMA journal_mode = WAL;
    CREATE TABLE nodes (uuid, reservation, extra);
    INSERT INTO nodes VALUES ('1', 'another', '');
    BEGIN IMMEDIATE;
""")
print("{}", flush=True)
sys.stdin.read()
`, path)
	defer func() { _ = locked.close() }()
	locked.ask("", &struct{}{})
	d := database{startPython(Installation{}, databaseProgram, path, "0")}
	defer func() { require.NoError(t, d.close()) }()
	require.ErrorContains(t, try.Catch(func() { d.write("1", columns{"extra": "x"}) }), "another has reserved node 1 for 0 s")
	require.ErrorContains(t, try.Catch(func() { d.write("2", columns{"extra": "x"}) }), "there is no node 2")
}

func TestTheDatabaseRefusesUnknownNodesAndColumns(t *testing.T) {
	i := start(t, Options{})
	require.Error(t, try.Catch(func() { i.database.read("no such node") }))
	uuid := i.newNode(t.Context())
	require.ErrorContains(t, try.Catch(func() { i.database.write(uuid, columns{"no_such_column": 1}) }), "no_such_column")
}
