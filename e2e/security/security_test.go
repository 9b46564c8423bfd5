// SPDX-License-Identifier: Apache-2.0

// Package security compares SECURITY.md with the tests of the repository. A test that holds a sentence of the section
// "What is defended" has the sentence in its comment:
//
//	// SECURITY.md: A refused password is not sent again.
package security

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

func TestEachSentenceOfWhatIsDefendedHasATest(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## What is defended\n")
	require.True(t, found)
	section, _, found = strings.Cut(section, "\n## ")
	require.True(t, found)
	_, section, found = strings.Cut(section, "\n### ") // after the introduction
	require.True(t, found)
	section = "### " + section

	tests := map[string][]string{} // by the sentence
	for _, sentence := range sentences(section) {
		require.NotContains(t, tests, sentence, "the page says it twice")
		tests[sentence] = nil
	}
	require.Greater(t, len(tests), 20)
	for test, text := range claims(t) {
		for _, sentence := range sentences(text) {
			require.Contains(t, tests, sentence, "%s names a sentence that SECURITY.md lacks", test)
			tests[sentence] = append(tests[sentence], test)
		}
	}
	for sentence, by := range tests {
		require.NotEmpty(t, by, "no comment of a test has the sentence %q", sentence)
	}
}

// notProse matches headings and the list of paths, which a test of cmd/ironstate compares with the router.
var notProse = regexp.MustCompile(`(?m)^(#.*|\| .*|\|-.*)$`)

// sentenceEnd matches the end of a sentence and the beginning of the next one.
var sentenceEnd = regexp.MustCompile(`[.]\s+([A-Z\x60])`)

// sentences returns the sentences of a text. Line breaks and the dashes of a list count as spaces.
func sentences(text string) []string {
	text = notProse.ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?m)^- `).ReplaceAllString(text, "")
	text = strings.Join(strings.Fields(text), " ")
	return strings.FieldsFunc(sentenceEnd.ReplaceAllString(text, ".\n$1"), func(r rune) bool { return r == '\n' })
}

// claims returns the text after "SECURITY.md:" in the comments of all tests and fuzz tests, by their folder and name.
func claims(t *testing.T) map[string]string {
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz") {
				continue
			}
			if _, text, has := strings.Cut(f.Doc.Text(), "SECURITY.md: "); has {
				found[filepath.ToSlash(filepath.Dir(path))+"."+f.Name.Name] = text
			}
		}
		return nil
	}))
	return found
}
