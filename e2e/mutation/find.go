// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/try"
)

// mutant is one change of one file. Its String has no line number, so that the name
// stays the same when code elsewhere in the file changes.
type mutant struct {
	file string // from the repository's root, with slashes
	decl string // the function or the declaration
	was  string // the code around the change
	is   string // the changed code
	nth  int    // number among the equal changes of this declaration, from 1

	edit edit
	unit edit // the edit of the whole changed expression or statement
	kind kind
}

// edit replaces bytes of a file.
type edit struct {
	from, to int
	text     string
}

// kind is the kind of a mutant's unit. It decides how one binary can hold both the
// original code and the mutant.
type kind uint8

const (
	alone     kind = iota // not at all: the mutant needs a binary of its own
	condition             // an expression of type bool
	statement             // a statement of a block
	simple                // a simple statement elsewhere: the last part of a for clause
)

func (m mutant) String() string {
	name := fmt.Sprintf("%s %s: %s => %s", m.file, m.decl, m.was, m.is)
	if m.nth > 1 {
		name += fmt.Sprintf(" #%d", m.nth)
	}
	return name
}

// sources returns the files of packages without tests, by their paths from the root.
func sources(root string, folders ...string) map[string][]byte {
	files := map[string][]byte{}
	for _, folder := range folders {
		for _, name := range try.Get(filepath.Glob(filepath.Join(root, folder, "*.go"))) {
			if !strings.HasSuffix(name, "_test.go") {
				files[path.Join(folder, filepath.Base(name))] = try.Get(os.ReadFile(name))
			}
		}
	}
	return files
}

// findIn returns the mutants of files, in the order of the file names and of the code.
func findIn(files map[string][]byte) (all []mutant) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, try.Get(findInFile(name, files[name]))...)
	}
	return all
}

// findInFile returns the mutants of one file.
func findInFile(name string, source []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{name: name, source: source, file: fset.File(parsed.FileStart)}
	for _, declaration := range parsed.Decls {
		switch declaration := declaration.(type) {
		case *ast.FuncDecl:
			f.constant = false
			f.decl = funcName(declaration)
			f.inspect(declaration)
		case *ast.GenDecl:
			f.constant = declaration.Tok == token.CONST
			for _, spec := range declaration.Specs {
				if spec, ok := spec.(*ast.ValueSpec); ok {
					f.decl = spec.Names[0].Name
					f.inspect(spec)
				}
			}
		}
	}
	slices.SortStableFunc(f.found, func(a, b mutant) int { return cmp.Compare(a.edit.from, b.edit.from) })
	seen := map[string]int{}
	for i, m := range f.found {
		seen[m.String()]++
		f.found[i].nth = seen[m.String()]
	}
	return f.found, nil
}

// funcName returns "Name", or "Type.Name" for a method.
func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver, _, _ := strings.Cut(types.ExprString(f.Recv.List[0].Type), "[")
	return strings.TrimPrefix(receiver, "*") + "." + f.Name.Name
}

// finder collects the mutants of a file.
type finder struct {
	name   string
	source []byte
	file   *token.File
	found  []mutant

	decl     string
	constant bool // whether decl is a constant
}

func (f *finder) inspect(root ast.Node) {
	ast.Inspect(root, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BinaryExpr:
			f.binary(node)
		case *ast.UnaryExpr:
			if node.Op == token.NOT {
				f.replace(condition, node, node, node.OpPos, 1, "")
			}
			if node.Op == token.SUB {
				f.replace(alone, node, node, node.OpPos, 1, "")
			}
		case *ast.IfStmt:
			f.negate(node.Cond, node.Cond)
		case *ast.ForStmt:
			f.negate(node.Cond, node.Cond)
			if post, ok := node.Post.(*ast.IncDecStmt); ok {
				f.operators(simple, post, post.TokPos, post.Tok)
			}
		case *ast.SwitchStmt:
			if node.Tag != nil {
				break
			}
			for _, clause := range node.Body.List {
				for _, c := range clause.(*ast.CaseClause).List {
					f.negate(c, c)
				}
			}
		case *ast.AssignStmt:
			f.operators(alone, node, node.TokPos, node.Tok)
		case *ast.BranchStmt:
			f.operators(alone, node, node.TokPos, node.Tok)
		case *ast.BlockStmt:
			f.statements(node.List)
		case *ast.CaseClause:
			f.statements(node.Body)
		case *ast.CommClause:
			f.statements(node.Body)
		}
		return true
	})
}

func (f *finder) binary(e *ast.BinaryExpr) {
	switch e.Op {
	case token.LAND, token.LOR:
		f.operators(condition, e, e.OpPos, e.Op)
		f.negate(e.X, e)
		f.negate(e.Y, e)
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		f.operators(condition, e, e.OpPos, e.Op)
	default:
		if !joinsText(e) {
			f.operators(alone, e, e.OpPos, e.Op)
		}
	}
}

// joinsText reports whether an expression has a string literal and thus joins strings.
func joinsText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (joinsText(e.X) || joinsText(e.Y))
	default:
		return false
	}
}

// instead has the operators that replace each operator in mutants. The mutant need not
// compile.
var instead = map[token.Token][]token.Token{
	token.EQL: {token.NEQ},
	token.NEQ: {token.EQL},
	token.LSS: {token.LEQ, token.GEQ},
	token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ},
	token.GEQ: {token.GTR, token.LSS},

	token.LAND: {token.LOR},
	token.LOR:  {token.LAND},

	token.ADD: {token.SUB},
	token.SUB: {token.ADD},
	token.MUL: {token.QUO},
	token.QUO: {token.MUL},
	token.REM: {token.MUL},

	token.AND:     {token.OR},
	token.OR:      {token.AND},
	token.XOR:     {token.AND},
	token.AND_NOT: {token.AND},
	token.SHL:     {token.SHR},
	token.SHR:     {token.SHL},

	token.INC:            {token.DEC},
	token.DEC:            {token.INC},
	token.ADD_ASSIGN:     {token.SUB_ASSIGN},
	token.SUB_ASSIGN:     {token.ADD_ASSIGN},
	token.MUL_ASSIGN:     {token.QUO_ASSIGN},
	token.QUO_ASSIGN:     {token.MUL_ASSIGN},
	token.AND_ASSIGN:     {token.OR_ASSIGN},
	token.OR_ASSIGN:      {token.AND_ASSIGN},
	token.AND_NOT_ASSIGN: {token.OR_ASSIGN},
	token.SHL_ASSIGN:     {token.SHR_ASSIGN},
	token.SHR_ASSIGN:     {token.SHL_ASSIGN},

	token.BREAK:    {token.CONTINUE},
	token.CONTINUE: {token.BREAK},
}

func (f *finder) operators(k kind, n ast.Node, at token.Pos, operator token.Token) {
	for _, other := range instead[operator] {
		f.replace(k, n, n, at, len(operator.String()), other.String())
	}
}

// negate negates a condition that has no operator of its own.
func (f *finder) negate(c ast.Expr, in ast.Node) {
	switch c.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr:
		f.replace(condition, c, in, c.Pos(), 0, "!")
	}
}

// statements changes and removes one statement at a time. A removed statement stays in
// the code but is not executed, because Go requires that its variables and imports are
// used.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		k := statement
		switch s := s.(type) {
		case *ast.AssignStmt:
			if blank, ok := s.Lhs[0].(*ast.Ident); s.Tok == token.DEFINE || ok && blank.Name == "_" {
				continue
			}
		case *ast.IncDecStmt:
			f.operators(statement, s, s.TokPos, s.Tok)
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && isBuiltin(call, "panic") {
				k = alone // a function may end with it
			}
		case *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		default:
			continue
		}
		from, to := f.offsets(s)
		was := string(f.source[from:to])
		removed := edit{from, to, "if false { " + was + " }"}
		f.add(k, removed, removed, was, "removed")
	}
}

func isBuiltin(call *ast.CallExpr, name string) bool {
	called, ok := call.Fun.(*ast.Ident)
	return ok && called.Name == name
}

// replace adds the mutant of a unit in which some bytes are replaced; the mutant's name
// shows the code in.
func (f *finder) replace(k kind, unit, in ast.Node, at token.Pos, length int, text string) {
	from := f.file.Offset(at)
	e := edit{from, from + length, text}
	start, end := f.offsets(in)
	if k == condition && recovers(unit) {
		k = alone // the function of a unit would call recover, which must be called by the deferred function itself
	}
	f.add(k, e, f.changed(unit, e), string(f.source[start:end]), f.changed(in, e).text)
}

// recovers reports whether an expression calls recover.
func recovers(e ast.Node) (found bool) {
	ast.Inspect(e, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		found = found || ok && isBuiltin(call, "recover")
		return !found
	})
	return found
}

// changed extends an edit to the whole node that contains it.
func (f *finder) changed(n ast.Node, e edit) edit {
	from, to := f.offsets(n)
	return edit{from, to, string(f.source[from:e.from]) + e.text + string(f.source[e.to:to])}
}

func (f *finder) offsets(n ast.Node) (from, to int) {
	return f.file.Offset(n.Pos()), f.file.Offset(n.End())
}

func (f *finder) add(k kind, e, unit edit, was, is string) {
	if f.constant {
		k = alone
	}
	f.found = append(f.found, mutant{
		file: f.name, decl: f.decl, was: shorten(was), is: shorten(is),
		edit: e, unit: unit, kind: k,
	})
}

// shorten returns code on one line, without its middle if it is long.
func shorten(code string) string {
	code = strings.Join(strings.Fields(code), " ")
	const most = 120
	if len(code) <= most {
		return code
	}
	return code[:most/2] + "…" + code[len(code)-most/2:]
}
