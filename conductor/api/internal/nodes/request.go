// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/traits"
	"github.com/ironstate/ironstate/states"
)

type node = conductor.Node

// request is a request for a child resource of a node, with the results of its checks.
type request struct {
	*rest.Request
	args  *rest.Args     // set by arguments
	shown rest.FieldSet  // the fields to show, set by the checks of their names
	body  map[string]any // set by the checks of a body
	node  *node          // set by nodeExists

	page    rest.Page     // set by pageValid
	traits  traits.Change // set by traitsDecode
	method  string        // of the vendor interface, set by methodNamed
	isAsync bool          // the method is asynchronous, set by methodExists
}

type checks rest.Checks[*request]

// then returns the handler of a request: serve answers one that passes the checks.
func (c checks) then(serve func(q *request) (rest.Answer, error)) rest.Serve {
	return func(r *rest.Request) (rest.Answer, error) {
		q := &request{Request: r}
		if err := rest.Checks[*request](c).Fault(q); err != nil {
			return rest.Answer{}, err
		}
		return serve(q)
	}
}

// parameter is an argument of a request, and the function that refuses a value of another type.
type parameter struct {
	name  string
	check func(a *rest.Args, name string)
}

// typed returns the parameters of the type that read reads.
func typed[T any](read func(*rest.Args, string) T) func(name string) parameter {
	return func(name string) parameter { return parameter{name, func(a *rest.Args, name string) { read(a, name) }} }
}

var (
	text    = typed((*rest.Args).Text)
	word    = typed((*rest.Args).Word)
	uuid    = typed((*rest.Args).UUID)
	ident   = typed((*rest.Args).Ident)
	list    = typed((*rest.Args).List)
	boolean = typed((*rest.Args).Boolean)
	integer = typed(func(a *rest.Args, name string) int { n, _ := a.Integer(name); return n })
)

// need returns a parameter that a request must have.
func need(p parameter) parameter {
	return parameter{p.name, func(a *rest.Args, name string) { p.check(a.Need(name), name) }}
}

// arguments reads the arguments of a request, also in the body of a PUT. It refuses others, and wrong types.
func arguments(parameters ...parameter) func(*request) error {
	var names []string
	for _, p := range parameters {
		names = append(names, p.name)
	}
	return func(q *request) error {
		if q.Method == http.MethodPut {
			q.args = q.BodyArgs(rest.MaxBody, names...)
		} else {
			q.args = q.QueryArgs(names...)
		}
		for _, p := range parameters {
			p.check(q.args, p.name)
		}
		return q.args.Err
	}
}

// from returns a check that refuses a request below the first API version that has what it asks for.
func from(first states.APIVersion, refusal error) func(*request) error {
	return func(q *request) error {
		if q.Version < first {
			return refusal
		}
		return nil
	}
}

// identValid refuses the second identifier in the path if it is neither a UUID nor a name.
func identValid(name string) func(*request) error {
	return func(q *request) error { return rest.CheckIdent(name, q.Param(1)) }
}

// nodeExists finds the node in the path.
func nodeExists(q *request) (err error) {
	q.node, err = q.FindNode(q.Param(0))
	return err
}

// update changes the node of a request whose response does not contain the node.
func (q *request) update(change func(n *node) error) error {
	_, err := q.Conductor.UpdateNode(q.Context(), q.node.UUID, change)
	if errors.Is(err, conductor.NotFound) {
		return rest.NodeNotFound(q.Param(0))
	}
	return err
}
