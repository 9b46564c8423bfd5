// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheCommandsOfREADMEWriteTheirFiles runs each "go run ./cmd/stategraph" of the project's README in a folder.
func TestTheCommandsOfREADMEWriteTheirFiles(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	commands := 0
	for line := range strings.Lines(string(text)) {
		flags, ok := strings.CutPrefix(line, "go run ./cmd/stategraph ")
		if !ok {
			continue
		}
		commands++
		args := strings.Fields(flags)
		at := slices.Index(args, "-o") + 1
		require.Positive(t, at, line)
		args[at] = filepath.Join(t.TempDir(), args[at])
		_, stderr, code := execute(args...)
		require.Zero(t, code, "%s%s", line, stderr)
		written, err := os.Stat(args[at])
		require.NoError(t, err)
		require.Positive(t, written.Size(), line)
	}
	require.Positive(t, commands)
}
