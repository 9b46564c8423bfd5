// SPDX-License-Identifier: Apache-2.0

package clocks

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// clock is a use of a clock in the code of tests.
type clock struct {
	file     string // from the repository's root
	line     int
	function string // or the type and the method, or the variable
	call     string
}

func (c clock) String() string {
	return fmt.Sprintf("%s:%d: %s calls %s; instead: %s", c.file, c.line, c.function, c.call, cmp.Or(functions[c.call], methods[c.call]))
}

// unit is a function, a method, a type or a variable of a package, with those that use it. A unit that is used in
// bubbles and after guards alone cannot let the clock decide about a test of the gate.
type unit struct {
	receiver string // of a method
	usedBy   []use
	loose    bool // the go command runs it, or something outside uses it
	tight    bool // a benchmark, or an example without output: go test does not run it
}

// use is the use of a unit by another one. It is safe in a bubble, and after a guard.
type use struct {
	by   string
	safe bool
}

// found is a clock, and the unit that it is in.
type found struct {
	clock
	unit string
	safe bool
}

// finder finds the clocks of packages. It resolves names by their text: a method stands for all methods of its name in
// its package.
type finder struct {
	fset    *token.FileSet
	files   []file
	units   map[string]*unit    // by package and name, such as conductor/api server.wait
	methods map[string][]string // the units of the methods, by package and name
	found   []found
	bubbles map[string]bool // the functions that run a function among their arguments in a bubble
	guards  map[string]bool // the functions that leave the test that calls them out of the gate
}

type file struct {
	name, folder string
	syntax       *ast.File
}

// clocks returns the clocks of test files and of the packages support, which only tests use. It leaves out what only
// bubbles, benchmarks and tests outside the gate run.
func clocks(files fs.FS, support ...string) ([]clock, error) {
	f := &finder{
		fset: token.NewFileSet(), units: map[string]*unit{}, methods: map[string][]string{},
		bubbles: map[string]bool{"synctest.Test": true},
		guards:  map[string]bool{"needs.Time": true, "needs.Programs": true, "needs.Chance": true, "needs.Given": true},
	}
	var err error
	if f.files, err = parseTests(files, f.fset, support...); err != nil {
		return nil, err
	}
	for _, file := range f.files {
		f.declare(file)
	}
	for f.learn() {
	}
	for _, file := range f.files {
		f.read(file)
	}
	f.loosen()
	var all []clock
	for _, c := range f.found {
		if !c.safe && f.units[c.unit].loose {
			all = append(all, c.clock)
		}
	}
	return all, nil
}

// parseTests returns the test files and the files of the packages support.
func parseTests(files fs.FS, fset *token.FileSet, support ...string) (all []file, err error) {
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		hidden := len(entry.Name()) > 1 && strings.HasPrefix(entry.Name(), ".")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (hidden || entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case !strings.HasSuffix(name, "_test.go") && !(strings.HasSuffix(name, ".go") && slices.Contains(support, path.Dir(name))):
			return nil
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution|parser.ParseComments)
		all = append(all, file{name, path.Dir(name), syntax})
		return err
	})
	return all, err
}

// entry matches the functions that the go command runs.
var entry = regexp.MustCompile(`^(Test|Fuzz|Example|init$|main$)`)

// declare adds the units of a file.
func (f *finder) declare(file file) {
	for _, decl := range file.syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name, receiver := functionName(decl), receiverOf(decl)
			u := &unit{receiver: receiver}
			if receiver != "" {
				method := file.folder + " " + decl.Name.Name
				f.methods[method] = append(f.methods[method], file.folder+" "+name)
			} else {
				u.tight = strings.HasPrefix(name, "Benchmark") || strings.HasPrefix(name, "Example") && !file.hasOutput(decl)
				u.loose = !u.tight && entry.MatchString(name)
			}
			f.units[file.folder+" "+name] = u
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				for _, name := range specNames(spec) {
					f.units[file.folder+" "+name] = &unit{}
				}
			}
		}
	}
}

// hasOutput reports whether a function has a comment that says what it prints.
func (f file) hasOutput(decl *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.syntax.Comments, func(c *ast.CommentGroup) bool {
		return decl.Pos() < c.Pos() && c.End() < decl.End() && strings.Contains(strings.ToLower(c.Text()), "output:")
	})
}

// learn finds functions that start a bubble or are guards by the functions that it knows. It reports whether it found
// one.
func (f *finder) learn() (more bool) {
	for _, file := range f.files {
		for _, decl := range file.syntax.Decls {
			decl, ok := decl.(*ast.FuncDecl)
			if !ok || decl.Body == nil || decl.Recv != nil || strings.HasPrefix(decl.Name.Name, "Test") {
				continue
			}
			name := file.folder + " " + decl.Name.Name
			if !f.guards[name] && slices.ContainsFunc(decl.Body.List, func(s ast.Stmt) bool { return f.guarded(file, s) }) {
				f.guards[name], more = true, true
			}
			if !f.bubbles[name] && f.bubblesItsArgument(file, decl) {
				f.bubbles[name], more = true, true
			}
		}
	}
	return more
}

// guarded reports whether what follows a statement is left out of the gate.
func (f *finder) guarded(file file, s ast.Stmt) (guarded bool) {
	switch s.(type) {
	case *ast.ExprStmt, *ast.AssignStmt, *ast.ReturnStmt, *ast.DeclStmt:
	default:
		return false
	}
	ast.Inspect(s, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			guarded = guarded || f.isOne(f.guards, file, call)
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return guarded
}

// bubblesItsArgument reports whether a function uses a parameter that is a function in a bubble.
func (f *finder) bubblesItsArgument(file file, decl *ast.FuncDecl) (does bool) {
	parameters := map[string]bool{}
	for _, field := range decl.Type.Params.List {
		if _, is := field.Type.(*ast.FuncType); is {
			for _, name := range field.Names {
				parameters[name.Name] = true
			}
		}
	}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && f.isOne(f.bubbles, file, call) {
			for _, argument := range call.Args {
				ast.Inspect(argument, func(n ast.Node) bool {
					name, ok := n.(*ast.Ident)
					does = does || ok && parameters[name.Name]
					return true
				})
			}
		}
		return true
	})
	return does
}

// isOne reports whether a call's function is one of a set: of the file's package, of another package that is known by
// its folder, or one that the set names by its package's name.
func (f *finder) isOne(set map[string]bool, file file, call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return set[file.folder+" "+fun.Name]
	case *ast.SelectorExpr:
		if of, ok := fun.X.(*ast.Ident); ok {
			return set[of.Name+"."+fun.Sel.Name] || set[file.imported(of.Name)+" "+fun.Sel.Name]
		}
	}
	return false
}

// imported returns the folder of a package of this project that the file imports under a name, or "".
func (f file) imported(name string) string {
	for _, spec := range f.syntax.Imports {
		folder, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "github.com/ironstate/ironstate/")
		if ok && (spec.Name != nil && spec.Name.Name == name || spec.Name == nil && path.Base(folder) == name) {
			return folder
		}
	}
	return ""
}

// loosen finds the units that run outside bubbles in the gate.
func (f *finder) loosen() {
	isLoose := func(name string) bool {
		uses := f.units[name].usedBy
		return len(uses) == 0 || slices.ContainsFunc(uses, func(u use) bool { return !u.safe && f.units[u.by].loose })
	}
	for more := true; more; {
		more = false
		for name, u := range f.units {
			if u.loose || u.tight {
				continue
			}
			// An object of a type that is made in bubbles alone is used in bubbles alone.
			folder, _, _ := strings.Cut(name, " ")
			made := folder + " " + u.receiver
			if isLoose(name) && (u.receiver == "" || f.units[made] == nil || f.units[made].loose) {
				u.loose, more = true, true
			}
		}
	}
}

func specNames(spec ast.Spec) (names []string) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return []string{spec.Name.Name}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

func receiverOf(decl *ast.FuncDecl) (name string) {
	if decl.Recv == nil {
		return ""
	}
	ast.Inspect(decl.Recv.List[0].Type, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok && name == "" {
			name = ident.Name
		}
		return true
	})
	return name
}

func functionName(decl *ast.FuncDecl) string {
	if receiver := receiverOf(decl); receiver != "" {
		return receiver + "." + decl.Name.Name
	}
	return decl.Name.Name
}
