// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

// systemd-analyze reads the unit with the test binary in place of the installed program,
// and rates the exposure of the service on a scale to 10.
func TestTheSystemdUnitIsValidAndHardened(t *testing.T) {
	needs.Programs(t, "systemd-analyze")
	unit, err := os.ReadFile("ironstate.service")
	require.NoError(t, err)
	installed := "/usr/bin/ironstate "
	require.Contains(t, string(unit), installed)
	name := filepath.Join(t.TempDir(), "ironstate.service")
	require.NoError(t, os.WriteFile(name, []byte(strings.ReplaceAll(string(unit), installed, os.Args[0]+" ")), 0o600))

	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", name).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "ironstate.service", "a warning about the unit")
	out, err = exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=yes", "--threshold=20", name).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
