// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// search runs a copy of .ci/search with programs that do nothing, but for the given ones, which are scripts.
func search(t *testing.T, part string, programs map[string]string) (output string, err error) {
	t.Helper()
	script, err := os.ReadFile("../../.ci/search")
	require.NoError(t, err)
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
	}
	write(".ci/search", string(script))
	for _, program := range []string{"bin/apt-get", "bin/git", "bin/go", "bin/npm", "e2e/ironic/make.sh"} {
		write(program, "#!/bin/sh\n"+programs[filepath.Base(program)])
	}
	command := exec.CommandContext(t.Context(), "bash", filepath.Join(root, ".ci/search"), part, "-for", "0s")
	command.Env = append(os.Environ(), "PATH="+filepath.Join(root, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"), "TMPDIR="+root)
	out, err := command.CombinedOutput()
	return string(out), err
}

func TestAnInstallationThatFailsIsFound(t *testing.T) {
	for _, program := range []string{"apt-get", "npm", "make.sh"} {
		out, err := search(t, "systems", map[string]string{program: "exit 100"})
		require.Error(t, err, program)
		require.Contains(t, out, "FOUND: install ", program)
	}
	out, err := search(t, "systems", nil)
	require.NoError(t, err, out)
}

// The search of orders of goroutines is none where the runtime's source has no such constant.
func TestAnotherRuntimeEndsTheSearchOfOrders(t *testing.T) {
	goroot := t.TempDir()
	source := filepath.Join(goroot, "src/runtime/proc.go")
	require.NoError(t, os.MkdirAll(filepath.Dir(source), 0o700))
	run := func(text string) (string, error) {
		require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
		return search(t, "chance", map[string]string{"go": "[ \"$*\" != 'env GOROOT' ] || echo " + goroot})
	}
	out, err := run("const randomizeScheduler = chosen\n")
	require.Error(t, err)
	require.NotContains(t, out, "nothing found")
	out, _ = run("const randomizeScheduler = raceenabled\n")
	require.Contains(t, out, "nothing found")
}
