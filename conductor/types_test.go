// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoTypeHasMoreThan45Methods counts the methods that this package declares.
func TestNoTypeHasMoreThan45Methods(t *testing.T) {
	const most = 45
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	methods := map[string]int{}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declared := range parsed.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	require.Greater(t, methods["Conductor"], 20)
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		require.LessOrEqual(t, methods[name], most, name)
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
