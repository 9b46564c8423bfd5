// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

// search runs .ci/search for a part, see script.
func search(t *testing.T, part string, programs map[string]string) (output string, err error) {
	return script(t, programs, ".ci/search", part, "-for", "0s")
}

// script runs a copy of a script with programs that do nothing, but for the given ones, which are scripts, too.
func script(t *testing.T, programs map[string]string, name string, args ...string) (output string, err error) {
	t.Helper()
	needs.Programs(t, "bash")
	text, err := os.ReadFile(filepath.Join("../..", name))
	require.NoError(t, err)
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
	}
	write(name, string(text))
	for _, program := range []string{"bin/apt-get", "bin/git", "bin/go", "bin/npm", "e2e/ironic/make.sh"} {
		write(program, "#!/bin/sh\n"+programs[filepath.Base(program)])
	}
	command := exec.CommandContext(t.Context(), "bash", append([]string{filepath.Join(root, name)}, args...)...)
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

// A program that imports nothing would run.
func TestAStrangerWhoGetsNoModuleFails(t *testing.T) {
	release := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(release, "go.mod"), []byte("module x\n\ngo 1.26.0\n"), 0o600))
	for _, fails := range []string{"get", "list", "build"} {
		out, err := script(t, map[string]string{
			"git": "echo v0.1.0",
			"go": `case $1 in
` + fails + `) echo "no module" >&2; exit 1 ;;
list) echo 'import _ "x"' ;;
build) printf '#!/bin/sh\necho ran\n' >program; chmod +x program ;;
esac`,
		}, ".ci/stranger", release)
		require.Error(t, err, fails)
		require.Contains(t, out, "no module", fails)
		require.NotContains(t, out, "ran", fails)
	}
}
