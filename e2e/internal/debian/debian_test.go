// SPDX-License-Identifier: Apache-2.0

package debian_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/internal/debian"
)

func TestAProgramOfAFolderIsEntered(t *testing.T) {
	require.Equal(t, []string{"true", "a"}, debian.Root("").Command(t.Context(), "true", "a").Args)
	args := debian.Root("/srv/sid").Command(t.Context(), "ironic", "a").Args
	require.Equal(t, []string{"unshare", "--mount", "--", "sh", "-ec"}, args[:5])
	require.Equal(t, []string{"enter", "/srv/sid", "ironic", "a"}, args[6:])
}

func TestTheInterpreterIsInTheFirstLineOfTheProgram(t *testing.T) {
	root := t.TempDir()
	bin := filepath.Join(root, "usr/bin")
	require.NoError(t, os.MkdirAll(bin, 0o700))
	for name, text := range map[string]string{"script": "#! /usr/bin/python3\nimport sys\n", "other": "\x7fELF"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700))
	}
	interpreter, err := debian.Root(root).Interpreter("script")
	require.NoError(t, err)
	require.Equal(t, "/usr/bin/python3", interpreter)
	_, err = debian.Root(root).Interpreter("other")
	require.ErrorContains(t, err, "is no script")
	_, err = debian.Root(root).Interpreter("missing")
	require.ErrorIs(t, err, os.ErrNotExist)
	t.Setenv("PATH", bin)
	interpreter, err = debian.Root("").Interpreter("script")
	require.NoError(t, err)
	require.Equal(t, "/usr/bin/python3", interpreter)
	_, err = debian.Root("").Interpreter("missing")
	require.ErrorIs(t, err, exec.ErrNotFound)
}
