package states_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// sources parses the package's files, tests left out.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	files := make(map[string]*ast.File)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
	}
	return files
}

func TestOnlyTheStandardLibraryIsImportedAndNoIO(t *testing.T) {
	for name, file := range sources(t) {
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			first, _, _ := strings.Cut(path, "/")
			require.NotContains(t, first, ".", "%s imports %s", name, path)
			require.NotContains(t, []string{"io", "net", "os"}, first, "%s imports %s", name, path)
		}
	}
}

// docs returns the comment of each constant in a file, by its name.
func docs(file *ast.File) map[string]string {
	docs := make(map[string]string)
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			docs[spec.Names[0].Name] = strings.Join(strings.Fields(spec.Doc.Text()), " ")
		}
		return true
	})
	return docs
}

var since = regexp.MustCompile(`(?:[Ss]ince|Until) (20\d\d\.\d|[A-Z][a-z]+)`)

// firstSeries returns the first series whose facts satisfy a test, NoSeries if
// none do.
func firstSeries(all map[string]facts, has func(facts) bool) states.Series {
	for s := range states.AllSeries() {
		if has(all[s.String()]) {
			return s
		}
	}
	return states.NoSeries
}

// A state's comment tells its word, the series that brought it and who moves a
// node out of it.
func TestStatesAreDocumented(t *testing.T) {
	upstream := readFacts(t)
	undated := states.SetOf(states.DeployDone, states.Deleted, states.Rebuild)
	comments := docs(sources(t)["state.go"])
	mover := regexp.MustCompile(`person|conductor|itself|moves the node|No series has it`)
	for s := range states.AllStates() {
		name, comment := commentOn(comments, s.String())
		require.NotEmpty(t, comment, "no comment has the word %q", s)
		require.True(t, strings.HasPrefix(comment, name+" ("), comment)
		require.Regexp(t, mover, comment, "who moves a node out of %v", s)

		brought := firstSeries(upstream, func(f facts) bool { _, ok := f.States[s.String()]; return ok })
		if undated.Has(s) {
			require.Equal(t, states.NoSeries, brought)
			require.Contains(t, comment, "No series has it")
			continue
		}
		require.Contains(t, seriesNamed(t, comment), brought, "%s came with %v", name, brought)
		require.Equal(t, states.Latest().Table().Stable().Has(s), strings.Contains(comment, "Stable; since"), comment)
	}
}

// commentOn returns the name and the comment of the constant for a word.
func commentOn(comments map[string]string, word string) (name, comment string) {
	for name, comment := range comments {
		if strings.Contains(comment, name+` ("`+word+`"`) {
			return name, comment
		}
	}
	return "", ""
}

// seriesNamed returns the series that a comment names with "since" or "until".
func seriesNamed(t *testing.T, comment string) []states.Series {
	t.Helper()
	var named []states.Series
	for _, match := range since.FindAllStringSubmatch(comment, -1) {
		s, err := states.ParseSeries(strings.ToLower(match[1]))
		require.NoError(t, err, comment)
		named = append(named, s)
	}
	return named
}

func TestEventsAreDocumented(t *testing.T) {
	upstream := readFacts(t)
	comments := docs(sources(t)["event.go"])
	for event := range states.AllEvents() {
		name, comment := commentOn(comments, event.String())
		require.NotEmpty(t, comment, "no comment has the word %q", event)

		brought := firstSeries(upstream, func(f facts) bool {
			for _, row := range f.Transitions {
				if row[1] == event.String() {
					return true
				}
			}
			return false
		})
		if event == states.EventError {
			require.Contains(t, seriesNamed(t, comment), states.Rocky, "the last that has it")
			continue
		}
		require.Contains(t, seriesNamed(t, comment), brought, "%s came with %v", name, brought)
	}
}
