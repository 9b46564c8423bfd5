// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryExampleIsInTheListAndHasAREADME(t *testing.T) {
	root, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	listed := strings.Count(string(root), "| [`./examples/")
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		listed--
		require.Contains(t, string(root), "\n| [`./examples/"+e.Name()+"`](examples/"+e.Name()+") | ")
		text, err := os.ReadFile(filepath.Join(e.Name(), "README.md"))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "# "+e.Name()+": "), "the heading of %s/README.md", e.Name())
		top, _, _ := strings.Cut(string(text), "\n## ")
		require.Less(t, strings.Count(top, "\n"), 30, "%s/README.md is to be short above its sections", e.Name())
	}
	require.Zero(t, listed, "README.md lists examples that are not here")
}
