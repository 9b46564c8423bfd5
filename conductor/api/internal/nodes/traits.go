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
func listTraits(r *rest.Request, n *node) (rest.Answer, error) {
	return rest.ObjectWith("traits", func(w *wire.Writer) { w.Texts(n.Traits) }), nil
}

// setTraits answers PUT and DELETE of /v1/nodes/NODE/traits and .../traits/TRAIT.
func setTraits(r *rest.Request) (rest.Answer, error) {
	trait, change, err := traits.Change(r, "node", func() error { _, err := r.FindNode(r.Param(0)); return err })
	if err != nil {
		return rest.Answer{}, err
	}
	a := rest.NoContent
	if r.Method == http.MethodPut && trait != "" {
		a.Location = "nodes/" + r.Param(0) + "/traits/" + trait
	}
	return a, update(r, nil, func(n *conductor.Node) (err error) {
		if n.Traits, err = change(n.UUID, n.Traits); err == nil && len(n.Traits) > maxTraits {
			err = conductor.Held(fault.Invalid("Could not modify traits for node %s as it would exceed the maximum number of traits "+
				"per node (%d vs. %d)", n.UUID, len(n.Traits), maxTraits))
		}
		return err
	})
}
