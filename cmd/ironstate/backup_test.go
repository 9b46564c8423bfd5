// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/freeport"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/program/programtest"
)

// runs runs the program in this process until it ends, and returns its output.
func runs(t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	require.Equal(t, program.Good, program.Run("ironstate", args, &out, &errOut, serve), "%s", &errOut)
	return out.String()
}

// SECURITY.md: Only the owner has permissions on the folder of `-data`, on backups and on the socket for backups.
func TestABackupIsMadeWhileTheNodesAreServedAndRestored(t *testing.T) {
	needs.Time(t)
	data := filepath.Join(t.TempDir(), "data")
	s := serveProcess(t, "-data", data, "-demo", "0")
	create := func(name string) {
		status, answer := s.do(http.MethodPost, "/v1/nodes",
			`{"name": "`+name+`", "driver": "fake-hardware", "driver_info": {"redfish_password": "open sesame"}}`)
		assert.Equal(t, http.StatusCreated, status, "%v", answer)
	}
	const before = 50
	for i := range before {
		create(fmt.Sprint("before-", i))
	}
	var writer sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				create(fmt.Sprint("meanwhile-", i))
			}
		}
	})
	file := filepath.Join(t.TempDir(), "backup")
	require.Contains(t, runs(t, "-data", data, "-backup", file), "in "+file)
	close(stop)
	writer.Wait()
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "a backup has passwords")
	info, err = os.Stat(filepath.Dir(socket(data)))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "nobody else may ask for one")
	create("after")

	restored := filepath.Join(t.TempDir(), "restored")
	runs(t, "-data", restored, "-restore", file)
	s = serveProcess(t, "-data", restored, "-demo", "0")
	_, list := s.do(http.MethodGet, "/v1/nodes", "")
	names := map[string]bool{}
	for _, n := range list["nodes"].([]any) {
		names[n.(map[string]any)["name"].(string)] = true
	}
	for i := range before {
		require.True(t, names[fmt.Sprint("before-", i)])
	}
	for i := range len(names) - before { // the nodes created during the backup have no gap
		require.True(t, names[fmt.Sprint("meanwhile-", i)])
	}
	require.False(t, names["after"])
	s.provision("before-0", "manage")
	s.waitFor("before-0", "manageable")
}

func TestABackupIsMadeWhileNoProcessServesTheNodes(t *testing.T) {
	needs.Time(t)
	data := filepath.Join(t.TempDir(), "data")
	s := serveProcess(t, "-data", data, "-demo", "0")
	status, _ := s.do(http.MethodPost, "/v1/nodes", `{"name": "one", "driver": "fake-hardware"}`)
	require.Equal(t, http.StatusCreated, status)
	s.kill() // leaves the socket behind
	file := filepath.Join(t.TempDir(), "backup")
	runs(t, "-data", data, "-backup", file)
	restored := filepath.Join(t.TempDir(), "restored")
	runs(t, "-data", restored, "-restore", file)
	s = serveProcess(t, "-data", restored, "-demo", "0")
	status, _ = s.do(http.MethodGet, "/v1/nodes/one", "")
	require.Equal(t, http.StatusOK, status)
}

func TestABackupReplacesNoFile(t *testing.T) {
	needs.Time(t)
	data, file := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backup")
	require.NoError(t, os.WriteFile(file, []byte("the backup of yesterday"), 0o600))
	serveProcess(t, "-data", data)
	var errOut strings.Builder
	require.Equal(t, program.Failed, program.Run("ironstate", []string{"-data", data, "-backup", file}, io.Discard, &errOut, serve))
	require.Contains(t, errOut.String(), file+": file already exists")
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "the backup of yesterday", string(kept))
}

// A named pipe would block a program that opens it.
func TestABackupIsNeitherWrittenToNorReadFromAPipeOrAFolder(t *testing.T) {
	needs.Time(t)
	here := t.TempDir()
	data := filepath.Join(here, "data")
	serveProcess(t, "-data", data, "-demo", "0")
	pipe, folder := filepath.Join(here, "pipe"), filepath.Join(here, "folder")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Mkdir(folder, 0o700))
	for _, file := range []string{pipe, folder} {
		for _, args := range [][]string{{"-data", data, "-backup", file}, {"-data", filepath.Join(here, "new"), "-restore", file}} {
			var errOut strings.Builder
			require.Equal(t, program.Failed, program.Run("ironstate", args, io.Discard, &errOut, serve), "%v", args)
			require.Contains(t, errOut.String(), file)
		}
	}
	left, err := os.ReadDir(here)
	require.NoError(t, err)
	require.Len(t, left, 3, "data, folder and pipe")
}

func TestAFailedBackupLeavesNoFile(t *testing.T) {
	needs.Time(t)
	here, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	s := serveProcess(t, "-data", data, "-demo", "0")
	require.NoError(t, os.Remove(socket(data)))
	for want, args := range map[string][]string{
		"has no nodes":     {"-data", here + "/nothing", "-backup", here + "/b"},
		"request a backup": {"-data", data, "-backup", here + "/b"},
		"no such file":     {"-data", data, "-restore", here + "/b"},
	} {
		var errOut strings.Builder
		require.Equal(t, program.Failed, program.Run("ironstate", args, io.Discard, &errOut, serve), "%v: %s", args, &errOut)
		require.Contains(t, errOut.String(), want)
	}
	left, err := os.ReadDir(here)
	require.NoError(t, err)
	require.Empty(t, left)
	s.kill()
}

// SECURITY.md: A backup has its name only when it is complete.
func TestAKilledBackupLeavesNoFileWithTheNameOfABackup(t *testing.T) {
	needs.Time(t)
	here, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	s := serveProcess(t, "-data", data, "-demo", "0")
	file := filepath.Join(here, "nodes.db")
	require.NoError(t, s.process.Process.Signal(syscall.SIGSTOP)) // so that the backup waits for its first byte
	backup := programtest.Command("-data", data, "-backup", file)
	require.NoError(t, backup.Start())
	t.Cleanup(func() { _ = backup.Process.Kill() })
	var left []os.DirEntry
	for len(left) == 0 {
		var err error
		left, err = os.ReadDir(here)
		require.NoError(t, err)
		time.Sleep(10 * time.Millisecond)
	}
	require.NoError(t, backup.Process.Kill())
	require.Error(t, backup.Wait())
	require.Len(t, left, 1)
	require.Regexp(t, `^\.backup-\d+\.partial$`, left[0].Name())
	info, err := left[0].Info()
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "it has passwords")
	require.NoFileExists(t, file)

	require.NoError(t, s.process.Process.Signal(syscall.SIGCONT))
	runs(t, "-data", data, "-backup", file)
	left, err = os.ReadDir(here)
	require.NoError(t, err)
	require.Len(t, left, 2, "the second backup has left nothing beside its file")
	runs(t, "-data", filepath.Join(here, "restored"), "-restore", file)
}

func TestABackupReplacesNoFileThatAppearsWhileItIsWritten(t *testing.T) {
	here := t.TempDir()
	file := filepath.Join(here, "nodes.db")
	_, err := createFile(file, func(w io.Writer) error {
		return os.WriteFile(file, []byte("of another process"), 0o600)
	})
	require.ErrorIs(t, err, os.ErrExist)
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "of another process", string(kept))
	left, err := os.ReadDir(here)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// TestEmbeddedServersAreBackedUpAndRestored makes a backup from one of three serving processes,
// and restores the folders of three new processes from it.
func TestEmbeddedServersAreBackedUpAndRestored(t *testing.T) {
	needs.Time(t)
	names := []string{"alpha", "beta", "gamma"}
	free, err := freeport.Addresses(len(names))
	require.NoError(t, err)
	var peers []string
	for i, name := range names {
		peers = append(peers, name+"=http://"+free[i])
	}
	here := t.TempDir()
	flags := func(folder, name string) []string {
		return []string{"-cluster", strings.Join(peers, ","), "-name", name, "-data", filepath.Join(here, folder, name), "-demo", "0"}
	}
	start := func(folder string) (all []*server) {
		for _, name := range names {
			all = append(all, launch(t, programtest.Command(flags(folder, name)...))) // the first waits for another
		}
		for _, s := range all {
			s.ready()
		}
		return all
	}
	old := start("old")
	status, _ := old[0].do(http.MethodPost, "/v1/nodes", `{"name": "one", "driver": "fake-hardware"}`)
	require.Equal(t, http.StatusCreated, status)
	for _, s := range old { // each process has seen the backup's last node
		for status := 0; status != http.StatusOK; time.Sleep(20 * time.Millisecond) {
			status, _ = s.do(http.MethodGet, "/v1/nodes/one", "")
		}
	}
	file := filepath.Join(here, "backup")
	runs(t, "-data", filepath.Join(here, "old", "beta"), "-backup", file)
	for _, s := range old {
		s.kill()
	}

	for _, name := range names {
		runs(t, append(flags("new", name), "-restore", file)...)
	}
	for _, s := range start("new") {
		status, _ := s.do(http.MethodGet, "/v1/nodes/one", "")
		require.Equal(t, http.StatusOK, status)
	}
}
