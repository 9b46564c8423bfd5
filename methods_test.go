// SPDX-License-Identifier: Apache-2.0

package ironstate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoTypeHasMoreThan45Methods counts the methods that each package of each module declares.
func TestNoTypeHasMoreThan45Methods(t *testing.T) {
	const most = 45
	methods := map[string]int{} // by folder and type
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range parsed.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[filepath.ToSlash(filepath.Dir(path))+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
		return nil
	}))
	require.Greater(t, methods["conductor.Conductor"], 20)
	for name, count := range methods {
		require.LessOrEqual(t, count, most, name)
	}
}

// receiver returns the name of a method's type.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	default:
		return ""
	}
}
