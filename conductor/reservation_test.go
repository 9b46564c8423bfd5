// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writers returns the functions that set the field Reservation or Claim of a value, in an assignment,
// through a pointer or in a literal of a Node.
func writers(file *ast.File) map[string]bool {
	found := make(map[string]bool)
	reserves := func(e ast.Expr) bool {
		switch field := e.(type) {
		case *ast.SelectorExpr:
			return field.Sel.Name == "Reservation" || field.Sel.Name == "Claim"
		case *ast.Ident: // a key of a literal
			return field.Name == "Reservation" || field.Name == "Claim"
		}
		return false
	}
	for _, d := range file.Decls {
		name := "a declaration"
		if f, ok := d.(*ast.FuncDecl); ok {
			name = f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					if _, ok := e.(*ast.SelectorExpr); ok && reserves(e) {
						found[name] = true
					}
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND && reserves(n.X) {
					found[name] = true
				}
			case *ast.CompositeLit:
				if kind, ok := n.Type.(*ast.Ident); !ok || kind.Name != "Node" {
					return true
				}
				for _, e := range n.Elts {
					if field, ok := e.(*ast.KeyValueExpr); ok && reserves(field.Key) {
						found[name] = true
					}
				}
			}
			return true
		})
	}
	return found
}

func TestOnlyTheEngineReservesNodes(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	found := make(map[string]bool)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for name := range writers(file) {
			found[path+" "+name] = true
		}
	}
	require.Equal(t, map[string]bool{"engine.go reserve": true, "engine.go drop": true}, found)
}
