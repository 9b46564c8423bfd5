// SPDX-License-Identifier: Apache-2.0

package clocks

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// A goroutine of a bubble that has slept runs beside those that were due at the same time, so that chance decides what
// it sees of them. bubble.Sleep waits for them.
func TestATestThatSleepsInABubbleWaitsForWhatIsDue(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	found, err := sleeps(os.DirFS(filepath.Join(here, "../..") + "/.."))
	require.NoError(t, err)
	require.Empty(t, strings.Join(found, "\n"), "call bubble.Sleep in place of time.Sleep")
}

// sleeps returns the calls of time.Sleep in the functions that tests give to synctest.Test, without those in functions
// inside these, which other goroutines may call.
func sleeps(files fs.FS) (found []string, err error) {
	fset := token.NewFileSet()
	direct := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if isCall(n, "time", "Sleep") {
				found = append(found, fset.Position(n.Pos()).String())
			}
		}
		return true
	}
	tests, err := parseTests(files, fset)
	for _, test := range tests {
		ast.Inspect(test.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isCall(call, "synctest", "Test") && len(call.Args) == 2 {
				if body, ok := call.Args[1].(*ast.FuncLit); ok {
					ast.Inspect(body.Body, direct)
				}
			}
			return true
		})
	}
	return found, err
}

func isCall(call *ast.CallExpr, pkg, function string) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || fun.Sel.Name != function {
		return false
	}
	of, ok := fun.X.(*ast.Ident)
	return ok && of.Name == pkg
}

func TestSleepsOfTestsAreFound(t *testing.T) {
	found, err := sleeps(fstest.MapFS{"a_test.go": {Data: []byte(`package a
func TestA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for { time.Sleep(1) }
		go func() { time.Sleep(2) }()
		bubble.Sleep(3)
	})
	time.Sleep(4)
}`)}, "a.go": {Data: []byte("not a test")}})
	require.NoError(t, err)
	require.Equal(t, []string{"a_test.go:4:9"}, found)
}
