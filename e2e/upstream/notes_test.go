// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachNoteHasARowWhoseTestExists(t *testing.T) {
	tests := map[string]map[string]bool{}
	seen := map[string]bool{}
	for _, file := range []string{ironicNotes(document{}).file, sushyNotes().file} {
		rows, err := readNotes(file)
		require.NoError(t, err)
		for _, n := range rows {
			require.False(t, seen[file+n.Name], "%s has two rows", n.Name)
			seen[file+n.Name] = true
			if n.Test == "" {
				continue
			}
			if tests[n.Package] == nil {
				tests[n.Package] = testsOf(t, filepath.Join("../..", n.Package))
			}
			require.True(t, tests[n.Package][n.Test], "%s: no %s in %s", n.Name, n.Test, n.Package)
		}
	}
}

// testsOf returns the names of the tests in a folder.
func testsOf(t *testing.T, folder string) map[string]bool {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, folder)
	names := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

func TestTheReferenceHasTheTableOfWhatIsMissing(t *testing.T) {
	text, err := os.ReadFile("../../" + reference)
	require.NoError(t, err)
	table, err := missingTable()
	require.NoError(t, err)
	want, err := replaceTable(text, table)
	require.NoError(t, err)
	require.Equal(t, string(want), string(text), "go run ./e2e/upstream -missing writes it")
}

func TestARowHasASeriesANameAndAnAnswer(t *testing.T) {
	n, err := parseNote("2026.1 a-b-1 | some thing | refused conductor/api TestX nobody needs it")
	require.NoError(t, err)
	require.Equal(t, note{
		Series: "2026.1", Name: "a-b-1", About: "some thing", Kind: "refused", Package: "conductor/api", Test: "TestX", Reason: "nobody needs it",
	}, n)
	for _, line := range []string{
		"", "2026.1 a | x", "2026.1 | x | elsewhere docs", "2026.1 a | | elsewhere docs", "2021.3 a | x | elsewhere docs",
		"2026.1 a | x | elsewhere", "2026.1 a | x | elsewhere here", "2026.1 a | x | missing", "2026.1 a | x | done",
		"2026.1 a | x | test conductor", "2026.1 a | x | test conductor TestX why", "2026.1 a | x | refused conductor TestX",
	} {
		_, err := parseNote(line)
		require.Error(t, err, line)
	}
}

func TestNotesWithoutARowAreListedWithTheirFirstSeries(t *testing.T) {
	rows := []note{{Name: "old"}, {Name: "known"}}
	require.Equal(t, []string{
		"2025.1 fix | | ",
		"2026.2 new | | ",
		"old is in no note",
	}, lacking(rows, []string{"before", "fix", "known", "new"}, []string{"before"}, map[string][]string{
		"2025.1": {"before", "fix"}, "2026.1": {"before", "fix"},
	}))
}

func TestATableIsReplacedWithinItsText(t *testing.T) {
	text, err := replaceTable([]byte("a\n"+tableHead+"| old |\n| x |\n\nb\n"), "| new |\n")
	require.NoError(t, err)
	require.Equal(t, "a\n"+tableHead+"| new |\n\nb\n", string(text))
	_, err = replaceTable([]byte("a\n"), "| new |\n")
	require.Error(t, err)
}
