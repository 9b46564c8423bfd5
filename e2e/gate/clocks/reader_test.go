// SPDX-License-Identifier: Apache-2.0

package clocks

import "go/ast"

// reader reads the declaration of one unit.
type reader struct {
	*finder
	file     file
	unit     string
	function string
	receiver string // a method's mention of its own type makes no object
}

// read finds the clocks of a file, and what its units use.
func (f *finder) read(file file) {
	for _, decl := range file.syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Body != nil {
				name := functionName(decl)
				r := reader{finder: f, file: file, unit: file.folder + " " + name, function: name, receiver: receiverOf(decl)}
				r.node(decl.Body, false)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				for _, name := range specNames(spec) {
					if name == "_" { // says that a type implements an interface
						continue
					}
					r := reader{finder: f, file: file, unit: file.folder + " " + name, function: name}
					r.spec(spec)
				}
			}
		}
	}
}

func (r reader) spec(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		r.node(spec.Type, false)
	case *ast.ValueSpec:
		if spec.Type != nil {
			r.node(spec.Type, false)
		}
		for _, value := range spec.Values {
			r.node(value, false)
		}
	}
}

// node reads a node, which is safe in a bubble and after a guard.
func (r reader) node(node ast.Node, safe bool) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			r.statements(n.List, safe)
			return false
		case *ast.CaseClause:
			for _, value := range n.List {
				r.node(value, safe)
			}
			r.statements(n.Body, safe)
			return false
		case *ast.CallExpr:
			r.add(n, clockOf(n.Fun), safe)
			if r.isOne(r.bubbles, r.file, n) {
				r.node(n.Fun, safe)
				for _, argument := range n.Args {
					r.node(argument, true)
				}
				return false
			}
		case *ast.CompositeLit:
			r.add(n, timeoutOf(n), safe)
		case *ast.KeyValueExpr:
			if _, field := n.Key.(*ast.Ident); field {
				r.node(n.Value, safe)
				return false
			}
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok {
				if folder := r.file.imported(of.Name); folder != "" {
					r.uses(folder+" "+n.Sel.Name, safe)
					return false
				}
			}
			for _, method := range r.methods[r.file.folder+" "+n.Sel.Name] {
				r.uses(method, safe)
			}
			r.node(n.X, safe)
			return false
		case *ast.FuncType:
			return false // the mention of a type makes no object
		case *ast.Ident:
			if n.Name != r.receiver {
				r.uses(r.file.folder+" "+n.Name, safe)
			}
		}
		return true
	})
}

func (r reader) statements(list []ast.Stmt, safe bool) {
	for _, statement := range list {
		r.node(statement, safe)
		safe = safe || r.guarded(r.file, statement)
	}
}

func (r reader) add(n ast.Node, call string, safe bool) {
	if call == "" {
		return
	}
	line := r.fset.Position(n.Pos()).Line
	r.found = append(r.found, found{clock{r.file.name, line, r.function, call}, r.unit, safe})
}

func (r reader) uses(name string, safe bool) {
	if u := r.units[name]; u != nil && name != r.unit {
		u.usedBy = append(u.usedBy, use{r.unit, safe})
	}
}

// The functions that are clocks, by their packages, and what a test of the gate uses in their place.
const (
	event   = "wait on a channel or a watch, with t.Context() and no limit of its own"
	nothing = "synctest.Wait in a bubble, or wait for an event after which it cannot happen"
	cancel  = "t.Context(), or a cancel on the event that the test is about"
	bubble  = "a channel, or a bubble of testing/synctest"
	noLimit = "the limit of go test alone"
)

var (
	functions = map[string]string{
		"context.WithTimeout": cancel, "context.WithTimeoutCause": cancel, "context.WithDeadline": cancel, "context.WithDeadlineCause": cancel,
		"time.Sleep": bubble, "time.After": bubble, "time.AfterFunc": bubble,
		"time.Tick": bubble, "time.NewTimer": bubble, "time.NewTicker": bubble,
		"net.DialTimeout": noLimit, "http.Client.Timeout": noLimit,
	}
	methods = map[string]string{
		"Eventually": event, "Eventuallyf": event, "EventuallyWithT": event, "EventuallyWithTf": event, "Never": nothing, "Neverf": nothing,
		"SetDeadline": noLimit, "SetReadDeadline": noLimit, "SetWriteDeadline": noLimit,
	}
)

// clockOf returns the name of a clock's function, and "" for another one.
func clockOf(function ast.Expr) string {
	selector, ok := function.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	of, ok := selector.X.(*ast.Ident)
	switch name := selector.Sel.Name; {
	case ok && functions[of.Name+"."+name] != "":
		return of.Name + "." + name
	case methods[name] != "":
		return name
	}
	return ""
}

// timeoutOf returns http.Client.Timeout for a client with a timeout.
func timeoutOf(literal *ast.CompositeLit) string {
	selector, ok := literal.Type.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "Client" {
		return ""
	}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Timeout" {
				return "http.Client.Timeout"
			}
		}
	}
	return ""
}
