// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// The test reads the words of all paths from the sources of the routers, and sends requests with every method for the
// paths that can be made of them.
//
// SECURITY.md: With `-auth-file` every request needs a password, except the requests of the list below.
func TestTheListOfSECURITYHasEveryPathWithoutAPassword(t *testing.T) {
	page, err := os.ReadFile("../../SECURITY.md")
	require.NoError(t, err)
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(/[^`]*)` \\|").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, row[1])
	}
	slices.Sort(listed)

	hash, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
	require.NoError(t, err)
	users := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(users, append([]byte("admin:"), hash...), 0o600))
	s := serveHere(t, "-demo", "0", "-auth-file", users)

	public := map[string]bool{}
	ask := func(method, path string) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
		require.NoError(t, err)
		answer, err := s.client.Do(r)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, answer.Body)
		require.NoError(t, answer.Body.Close())
		if answer.StatusCode != http.StatusUnauthorized {
			public[path] = true
		}
	}
	words := routedWords(t)
	for _, word := range []string{
		"nodes", "states", "lookup", "heartbeat", "continue_inspection", "runbooks", "metrics", "explorer", "vmedia",
	} {
		require.Contains(t, words, word)
	}
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
		ask(method, "/")
		for _, word := range words {
			for _, shape := range []string{
				"/WORD", "/v1/WORD", "/v1/WORD/NODE", "/v1/WORD/NODE/x", "/v1/nodes/NODE/WORD", "/v1/nodes/NODE/WORD/x", "/explorer/WORD", "/WORD/x",
			} {
				ask(method, strings.ReplaceAll(strings.ReplaceAll(shape, "WORD", word), "NODE", "node-1"))
			}
		}
	}
	found := slices.Sorted(maps.Keys(public))
	for i := range found {
		found[i] = strings.ReplaceAll(found[i], "node-1", "NODE")
	}
	require.Equal(t, listed, found)
}

// segment matches a segment of a path.
var segment = regexp.MustCompile(`^[a-z][a-z0-9_.-]*$`)

// routedWords returns the segments of all paths in the sources of the API and of this program: the keys of tables, and
// the segments of texts that have a slash.
func routedWords(t *testing.T) []string {
	words := map[string]bool{}
	add := func(literal ast.Expr, anyText bool) {
		basic, ok := literal.(*ast.BasicLit)
		if !ok || basic.Kind != token.STRING {
			return
		}
		text, err := strconv.Unquote(basic.Value)
		require.NoError(t, err)
		for _, word := range strings.Split(text, "/") {
			if segment.MatchString(word) && (anyText || strings.Contains(text, "/")) {
				words[word] = true
			}
		}
	}
	for _, folder := range []string{".", "../../conductor/api"} {
		require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.KeyValueExpr:
					add(n.Key, true)
				case *ast.ImportSpec:
					return false
				case *ast.BasicLit:
					add(n, false)
				}
				return true
			})
			return nil
		}))
	}
	return slices.Sorted(maps.Keys(words))
}
