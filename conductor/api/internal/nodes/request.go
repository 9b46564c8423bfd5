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
	sent  any            // the body, set by bodyDecodes
	body  map[string]any // the same if it is an object, otherwise nil
	node  *node          // set by nodeExists

	page      rest.Page                  // set by pageValid
	traits    traits.Change              // set by traitsDecode
	method    string                     // of the vendor interface, set by methodNamed
	isAsync   bool                       // the method is asynchronous, set by methodExists
	provision provisionQuery             // set by provisionDecodes
	completed conductor.ProvisionRequest // set by provisionCompletes
}

func newRequest(r *rest.Request) *request { return &request{Request: r} }

type checks = rest.Checks[*request]

// key is the name of an argument whose values are of type T.
type key[T any] struct {
	name string
	read func(*rest.Args, string) T // refuses a value of another type
}

// of returns the value in a request whose arguments have been read.
func (k key[T]) of(q *request) T { return k.read(q.args, k.name) }

// given reports whether the request has the argument, and not null.
func (k key[T]) given(q *request) bool { return q.args.Has(k.name) }

func (k key[T]) argument() string      { return k.name }
func (k key[T]) check(args *rest.Args) { k.read(args, k.name) }

// parameter is the key of an argument of any type.
type parameter interface {
	argument() string
	check(args *rest.Args)
}

// typed returns the keys of the type that read reads.
func typed[T any](read func(*rest.Args, string) T) func(name string) key[T] {
	return func(name string) key[T] { return key[T]{name, read} }
}

var (
	text    = typed((*rest.Args).Text)
	word    = typed((*rest.Args).Word)
	uuid    = typed((*rest.Args).UUID)
	ident   = typed((*rest.Args).Ident)
	list    = typed((*rest.Args).List)
	boolean = typed((*rest.Args).Boolean)
	integer = typed(func(a *rest.Args, name string) int { n, _ := a.Integer(name); return n })

	fields = list("fields")
	detail = boolean("detail")
)

// need returns the key of an argument that a request must have.
func need[T any](k key[T]) key[T] {
	return key[T]{k.name, func(a *rest.Args, name string) T { return k.read(a.Need(name), name) }}
}

// arguments reads the arguments of a request, also in the body of a PUT. It refuses others, and wrong types.
func arguments(parameters ...parameter) func(*request) error {
	var names []string
	for _, p := range parameters {
		names = append(names, p.argument())
	}
	return func(q *request) error {
		if q.Method == http.MethodPut {
			q.args = q.BodyArgs(rest.MaxBody, names...)
		} else {
			q.args = q.QueryArgs(names...)
		}
		for _, p := range parameters {
			p.check(q.args)
		}
		return q.args.Err
	}
}

// from returns a check that refuses a request of an API version before the first one that has the requested function.
func from(first states.APIVersion, refusal error) func(*request) error {
	return func(q *request) error {
		if q.Version < first {
			return refusal
		}
		return nil
	}
}

// bodyDecodes reads the body.
func bodyDecodes(q *request) (err error) {
	q.sent, err = q.Decode(rest.MaxBody)
	q.body, _ = q.sent.(map[string]any)
	return err
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
