// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bufio"
	"bytes"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/internal/build"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

func TestConductor(t *testing.T) {
	needs.Time(t)
	program := filepath.Join(t.TempDir(), "conductor")
	require.NoError(t, build.Ironstate(bounded(t), program))
	runClients(t, ofThisMachine, func(t *testing.T) string { return startConductor(t, program, "2023.1") }, knownOfConductor)
	t.Run("gophercloud, the latest series", func(t *testing.T) {
		results, err := Gophercloud(bounded(t), startConductor(t, program, states.Latest().String()))
		require.NoError(t, err)
		require.Len(t, results, 20)
		check(t, nil, results)
	})
}

// startConductor starts cmd/ironstate with the rules of a series, until the end of
// the test, and returns its URL.
func startConductor(t *testing.T, program, series string) string {
	t.Helper()
	conductor := exec.Command(program, "-listen", "127.0.0.1:0", "-series", series, "-demo", "0",
		"-name", "conductor-1", "-data", t.TempDir())
	var logged bytes.Buffer
	conductor.Stderr = &logged
	conductor.WaitDelay = time.Minute
	out, err := conductor.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, conductor.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			drained := make(chan struct{})
			go func() { defer close(drained); _, _ = io.Copy(io.Discard, out) }()
			t.Cleanup(func() {
				assert.NoError(t, conductor.Process.Signal(syscall.SIGTERM))
				<-drained
				assert.NoError(t, conductor.Wait(), logged.String())
				if t.Failed() {
					t.Logf("the conductor's log:\n%s", logged.String())
				}
			})
			return url
		}
	}
	require.NoError(t, conductor.Wait(), logged.String())
	require.FailNow(t, "the conductor does not say where it listens")
	return ""
}
