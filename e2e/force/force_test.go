// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/internal/etcdserver"
	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program"
)

var (
	seed     = flag.Uint64("force.seed", 0, "seed of the history that TestForce runs; 0 chooses one")
	duration = flag.Duration("force.for", 5*time.Second, "least time for which TestForce injects faults")
)

func TestMain(m *testing.M) {
	if etcdserver.Main() {
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

// TestForce runs two short histories. The command and -force.for run longer ones.
//
// SECURITY.md: A write that was acknowledged is not lost when processes are killed or a disk is full.
func TestForce(t *testing.T) {
	needs.Chance(t)
	needs.Turn(t)
	for name, store := range map[string]func(*cluster) store{
		"servers elsewhere": newEtcdServers, "servers in the conductors": newEmbeddedEtcd,
	} {
		t.Run(name, func(t *testing.T) {
			defer leaks.Check(t)
			var faults []string
			c := config{
				seed: *seed, duration: *duration, nodeCount: 200, machineCount: 4, clients: 24, lease: 3 * time.Second,
				store: store, verbose: true,
			}
			if c.seed == 0 {
				c.seed = uint64(time.Now().UnixNano())
			}
			result, err := execute(t.Context(), c, func(format string, args ...any) {
				t.Logf(format, args...)
				faults = append(faults, format)
			})
			require.NoError(t, err, "seed %d", c.seed)
			t.Logf("%v, %d operations on hardware, %d cleanings, %d deployments", result, result.operations, result.cleanings, result.deployments)
			require.Empty(t, result.findings, "seed %d", c.seed)
			require.Equal(t, c.total(), result.idle)
			require.GreaterOrEqual(t, result.cleanings, c.machineCount)
			require.GreaterOrEqual(t, result.deployments, c.machineCount)
			require.Positive(t, result.faults)
			require.Positive(t, result.requests[0])
			require.Positive(t, result.operations)
			require.Greater(t, result.versions, c.nodeCount)
			require.NotEmpty(t, faults)
			require.Positive(t, result.attacks.idle)
			for _, a := range allAttacks() {
				require.Positive(t, result.attacks.refused[a.name], "%s: %v", a.name, result.attacks)
			}
		})
	}
}

// ending is a writer that calls end after a write that contains the text.
type ending struct {
	bytes.Buffer
	text string
	end  context.CancelFunc
}

// Write implements [io.Writer].
func (w *ending) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.end()
	}
	return w.Buffer.Write(p)
}

func TestAnInterruptLeavesNothingBehind(t *testing.T) {
	needs.Time(t)
	defer leaks.Check(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	out := &ending{text: "requests", end: cancel}
	err := force(ctx, []string{"-for", "10m", "-nodes", "10", "-v"}, out, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"-for", "0s"}, {"-lease", "1s"}, {"-nodes", "0"}, {"-machines", "101"}, {"-clients", "1001"}, {"more"}} {
		require.Equal(t, program.Usage, program.Run("force", args, io.Discard, io.Discard, force), "%v", args)
	}
}
