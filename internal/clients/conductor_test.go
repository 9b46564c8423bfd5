package clients_test

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
)

func TestConductor(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "conductor")
	build := exec.CommandContext(bounded(t), "go", "build", "-o", program, ".")
	build.Dir = "../../examples/conductor"
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	runClients(t, func(t *testing.T) string { return startConductor(t, program) }, knownOfConductor)
}

// startConductor starts the program of examples/conductor, which ends with the test.
func startConductor(t *testing.T, program string) string {
	t.Helper()
	conductor := exec.Command(program, "-listen", "127.0.0.1:0", "-series", "2023.1", "-demo", "0",
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
			})
			return url
		}
	}
	require.NoError(t, conductor.Wait(), logged.String())
	require.FailNow(t, "the conductor does not say where it listens")
	return ""
}
