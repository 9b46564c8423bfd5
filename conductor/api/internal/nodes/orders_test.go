// SPDX-License-Identifier: Apache-2.0

package nodes

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

// isKey matches the definition of a key of an argument.
var isKey = regexp.MustCompile(`^(need|text|word|uuid|ident|list|boolean|integer)\(`)

// TestNoOrderOfChecksChangesByAccident compares the lists of checks of the handlers in this package, and in the
// packages drivers, objects and ramdisk, with testdata/orders.txt, as a test of package objects does for the resources
// there. Whoever changes an order by Ironic's code changes the file, too.
func TestNoOrderOfChecksChangesByAccident(t *testing.T) {
	want, err := os.ReadFile("testdata/orders.txt")
	require.NoError(t, err)
	var files []string
	for _, folder := range []string{".", "../drivers", "../objects", "../ramdisk"} {
		found, err := filepath.Glob(folder + "/*.go")
		require.NoError(t, err)
		files = append(files, found...)
	}
	got := ""
	for _, name := range files {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
		require.NoError(t, err)
		text := func(of ast.Node) string { return string(source[of.Pos()-file.FileStart : of.End()-file.FileStart]) }
		list := func(name string, of *ast.CompositeLit) string {
			lines := name + ":\n"
			for _, check := range of.Elts {
				line, _, conditional := strings.Cut(text(check), ", func(")
				if conditional {
					line += ")"
				}
				lines += "\t" + line + "\n"
			}
			return lines
		}
		variable := ""
		for part := range ast.Preorder(file) {
			switch part := part.(type) {
			case *ast.ValueSpec:
				variable = part.Names[0].Name
				if len(part.Values) == 1 && isKey.MatchString(text(part.Values[0])) {
					got += variable + " = " + text(part.Values[0]) + "\n"
				}
			case *ast.CompositeLit:
				if of, is := part.Type.(*ast.Ident); is && of.Name == "completionChecks" {
					got += list(variable, part)
				}
			case *ast.SelectorExpr: // checks{...}.Then
				if of, is := part.X.(*ast.CompositeLit); is && part.Sel.Name == "Then" {
					got += list(variable, of)
				}
			}
		}
	}
	require.Equal(t, string(want), got)
}
