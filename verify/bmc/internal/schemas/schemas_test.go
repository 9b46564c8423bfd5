// SPDX-License-Identifier: Apache-2.0

package schemas_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A change of gofish's packages, as in v0.22, is then a change of one package.
func TestNoOtherPackageImportsGofish(t *testing.T) {
	const module = "../.."
	own, err := filepath.Abs(".")
	require.NoError(t, err)
	found := 0
	require.NoError(t, filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Abs(filepath.Dir(path))
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if strings.HasPrefix(imported+"/", "github.com/stmcginnis/gofish/") {
				found++
				require.Equal(t, own, folder, "%s imports %s: package schemas has what is used of it", path, imported)
			}
		}
		return err
	}))
	require.Equal(t, 3, found, "what this package imports")
}
