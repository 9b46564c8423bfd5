// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/traits"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// maxTraits is the maximum number of traits of a node.
const maxTraits = 50

// listTraits answers GET /v1/nodes/NODE/traits.
var listTraits = checks{arguments(), nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.ObjectWith("traits", func(w *wire.Writer) { w.Texts(q.node.Traits) }), nil
})

// setTraits answers PUT and DELETE of /v1/nodes/NODE/traits and .../traits/TRAIT.
var setTraits = checks{traitsDecode, nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	a := rest.NoContent
	if q.Method == http.MethodPut && q.traits.Trait != "" {
		a.Location = "nodes/" + q.Param(0) + "/traits/" + q.traits.Trait
	}
	return a, q.update(func(n *node) (err error) {
		if n.Traits, err = q.traits.Apply(n.UUID, n.Traits); err == nil && len(n.Traits) > maxTraits {
			err = conductor.Held(fault.Invalid("Could not modify traits for node %s as it would exceed the maximum number of traits "+
				"per node (%d vs. %d)", n.UUID, len(n.Traits), maxTraits))
		}
		return err
	})
})

// traitsDecode reads the change of the traits.
func traitsDecode(q *request) (err error) {
	q.traits, err = traits.Decode(q.Request, "node", func() error { _, err := q.FindNode(q.Param(0)); return err })
	return err
}
