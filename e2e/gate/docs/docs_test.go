// SPDX-License-Identifier: Apache-2.0

// Package docs checks the documentation of all packages. It has tests alone.
package docs

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// A tab counts as one column. The output of an example, and a command for go generate, cannot be broken.
func TestNoLineIsTooLong(t *testing.T) {
	files, err := exec.Command("git", "ls-files", "*.go", ":!:*/testdata/*").Output()
	require.NoError(t, err)
	for _, file := range strings.Fields(string(files)) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			width := 140
			comment := strings.TrimLeft(line, "\t")
			isText := strings.HasPrefix(comment, "// ") || strings.HasPrefix(comment, "//\t")
			if isText && !strings.HasPrefix(filepath.Base(file), "example") {
				width = 120
			}
			if n := utf8.RuneCountInString(line); n > width && !strings.HasPrefix(line, "//go:") {
				t.Errorf("%s:%d has %d columns, more than %d", file, i+1, n, width)
			}
		}
	}
}

// go build in the folder of a program leaves the program there, which is then committed easily.
func TestNoProgramIsCommitted(t *testing.T) {
	files, err := exec.Command("git", "ls-files").Output()
	require.NoError(t, err)
	for _, file := range strings.Fields(string(files)) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.False(t, bytes.HasPrefix(text, []byte("\x7fELF")), "%s is a program", file)
	}
}

// The comment of every package that others can import has code, and links to the
// package's main types and functions, as in [Table]. Each of these has its own Example,
// and each package has at least one.
func TestPackageCommentsAndLinkedNamesHaveExamples(t *testing.T) {
	packages := 0
	for _, folder := range folders(t) {
		p := parse(t, folder)
		if p == nil || p.Name == "main" || folder == "." {
			continue
		}
		packages++
		t.Run(folder, func(t *testing.T) {
			require.True(t, strings.HasPrefix(p.Doc, "Package "+p.Name+" "), "the package comment begins %.40q", p.Doc)
			text := p.Parser().Parse(p.Doc)
			require.True(t, slices.ContainsFunc(text.Content, isCode), "the package comment has no code")
			shown := examples(p)
			require.NotEmpty(t, shown, "the package has no Example")
			require.Empty(t, deadLink.FindString(string(p.Printer().Text(text))), "the package comment has a dead link")
			for _, name := range links(text.Content) {
				if n, known := shown[name]; known {
					require.Positive(t, n, "the package comment links %s, which has no Example", name)
				}
			}
		})
	}
	require.Greater(t, packages, 5)
}

// The list in doc.go has every package that others can import, and the folders of cmd, e2e and internal.
func TestTheListOfPackagesIsComplete(t *testing.T) {
	list, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	all := folders(t)
	for _, parent := range []string{"cmd", "e2e", "internal"} {
		entries, err := os.ReadDir(parent)
		require.NoError(t, err)
		for _, e := range entries {
			if e.IsDir() {
				all = append(all, filepath.Join(parent, e.Name()))
			}
		}
	}
	for _, folder := range all {
		if p := parse(t, folder); p != nil && folder != "." {
			require.Regexp(t, `(?m)^//\t`+regexp.QuoteMeta(folder)+`( |$)`, string(list))
		}
	}
}

// The packages of the folder internal are foundations: they import no package that others can import.
func TestInternalPackagesImportNoPublicOnes(t *testing.T) {
	const module = "github.com/ironstate/ironstate/"
	require.NoError(t, filepath.WalkDir("internal", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imported := range file.Imports {
			ours, ok := strings.CutPrefix(strings.Trim(imported.Path.Value, `"`), module)
			require.True(t, !ok || strings.HasPrefix(ours, "internal/"), "%s imports %s", path, ours)
		}
		return nil
	}))
}

// folders returns the folders that may have packages for other modules.
func folders(t *testing.T) (folders []string) {
	notForOthers := []string{"internal", "testdata", "cmd", "e2e", "examples", "node_modules"}
	require.NoError(t, filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if slices.Contains(notForOthers, e.Name()) || path != "." && strings.HasPrefix(e.Name(), ".") {
			return filepath.SkipDir
		}
		folders = append(folders, path)
		return nil
	}))
	return folders
}

// parse returns the documentation of a folder's package, or nil if there is no package.
func parse(t *testing.T, folder string) *doc.Package {
	t.Helper()
	files := token.NewFileSet()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var parsed []*ast.File
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") {
			file, err := parser.ParseFile(files, filepath.Join(folder, e.Name()), nil, parser.ParseComments)
			require.NoError(t, err)
			parsed = append(parsed, file)
		}
	}
	if len(parsed) == 0 {
		return nil
	}
	p, err := doc.NewFromFiles(files, parsed, folder)
	require.NoError(t, err)
	return p
}

// examples returns the number of Examples of each type and function. The Examples of a
// type's methods and constructors count for the type. The result is nil if the package
// has no Example.
func examples(p *doc.Package) map[string]int {
	shown, all := map[string]int{}, len(p.Examples)
	count := func(name string, examples []*doc.Example) {
		shown[name] += len(examples)
		all += len(examples)
	}
	for _, f := range p.Funcs {
		count(f.Name, f.Examples)
	}
	for _, typ := range p.Types {
		count(typ.Name, typ.Examples)
		for _, f := range slices.Concat(typ.Funcs, typ.Methods) {
			count(typ.Name, f.Examples)
		}
	}
	if all == 0 {
		return nil
	}
	return shown
}

// deadLink matches a link that go/doc left as text because no declaration has its name.
var deadLink = regexp.MustCompile(`(?m)^\S.*\[\*?[A-Z][A-Za-z.]*\]`)

func isCode(b comment.Block) bool { _, ok := b.(*comment.Code); return ok }

// links returns the names in their own package to which the paragraphs and lists of a
// comment link, without methods and fields.
func links(content []comment.Block) (names []string) {
	for _, block := range content {
		switch b := block.(type) {
		case *comment.Paragraph:
			for _, text := range b.Text {
				if link, ok := text.(*comment.DocLink); ok && link.ImportPath == "" && link.Recv == "" {
					names = append(names, link.Name)
				}
			}
		case *comment.List:
			for _, item := range b.Items {
				names = append(names, links(item.Content)...)
			}
		}
	}
	return names
}

// The rows of CONTRIBUTING.md that say where something is decided name functions and types of the files behind them.
func TestCONTRIBUTINGNamesFunctionsThatExist(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "\nWhere the failure of a deployment by the agent is decided")
	require.True(t, found)
	rows, _, _ := strings.Cut(rest, "\n\nA hardware type of your own")
	places := regexp.MustCompile("((?:`\\w+`(?:, | and )?)+) \\(`([a-z_/]+\\.go)`\\)").FindAllStringSubmatch(rows, -1)
	require.Greater(t, len(places), 10)
	for _, place := range places {
		file, err := os.ReadFile(filepath.Join("conductor", place[2]))
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(strings.ReplaceAll(place[1], " and ", " "), -1) {
			require.Regexp(t, `(?m)^(func (\([^)]+\) )?`+name+`\(|type `+name+` )`, string(file), "%s of %s", name, place[2])
		}
	}
}
