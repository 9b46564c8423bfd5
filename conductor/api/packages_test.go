// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const internal = "github.com/ironstate/ironstate/conductor/api/internal/"

// parseInternal returns the parsed files of each package below internal, without tests.
func parseInternal(t *testing.T, set *token.FileSet) map[string][]*ast.File {
	paths, err := filepath.Glob("internal/*/*.go")
	require.NoError(t, err)
	packages := map[string][]*ast.File{}
	for _, path := range paths {
		file, err := parser.ParseFile(set, path, nil, 0)
		require.NoError(t, err)
		packages[filepath.Base(filepath.Dir(path))] = append(packages[filepath.Base(filepath.Dir(path))], file)
	}
	return packages
}

// TestPackagesImportWhatThePictureShows compares the imports of the packages below internal with the picture
// in doc.go: a package imports only those that its arrows reach.
func TestPackagesImportWhatThePictureShows(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	arrows := map[string][]string{}
	for _, line := range regexp.MustCompile(`(?m)^//\t(\w+) +(?:-> ((?:\w+, )*\w+))?  `).FindAllStringSubmatch(string(text), -1) {
		arrows[line[1]] = strings.FieldsFunc(line[2], func(c rune) bool { return c == ',' || c == ' ' })
	}
	var reach func(pkg string, seen map[string]bool)
	reach = func(pkg string, seen map[string]bool) {
		for _, to := range arrows[pkg] {
			if !seen[to] {
				seen[to] = true
				reach(to, seen)
			}
		}
	}
	packages := parseInternal(t, token.NewFileSet())
	require.Len(t, arrows, len(packages), "the picture shows %v", arrows)
	for pkg, files := range packages {
		require.Contains(t, arrows, pkg, "the picture in doc.go lacks a package")
		reached := map[string]bool{}
		reach(pkg, reached)
		require.False(t, reached[pkg], "%s imports itself through others", pkg)
		reached["since"] = true
		for _, file := range files {
			for _, spec := range file.Imports {
				if to, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), internal); ours {
					require.True(t, reached[to], "%s imports %s, to which the picture in doc.go has no arrow", pkg, to)
				}
			}
		}
	}
}

// TestVersionsHaveNames refuses a number in place of one of the names of package since.
func TestVersionsHaveNames(t *testing.T) {
	set := token.NewFileSet()
	isVersion := regexp.MustCompile(`(?i)(version|highest|since)$`)
	name := func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.SelectorExpr:
			return e.Sel.Name
		}
		return ""
	}
	number := func(e ast.Expr) bool {
		literal, ok := e.(*ast.BasicLit)
		return ok && literal.Kind == token.INT && literal.Value != "0"
	}
	for pkg, files := range parseInternal(t, set) {
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					bare := isVersion.MatchString(name(n.X)) && number(n.Y) || isVersion.MatchString(name(n.Y)) && number(n.X)
					require.False(t, bare, "%v: a version without a name", set.Position(n.Pos()))
				case *ast.KeyValueExpr:
					require.False(t, isVersion.MatchString(name(n.Key)) && number(n.Value), "%v: a version without a name", set.Position(n.Pos()))
				case *ast.CallExpr:
					for _, argument := range n.Args {
						field := strings.HasSuffix(name(n.Fun), "Field") || strings.HasSuffix(name(n.Fun), "Filter")
						require.False(t, field && pkg == "objects" && number(argument), "%v: a version without a name", set.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}
