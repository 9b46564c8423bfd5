// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// listChildren answers GET /v1/nodes/NODE/children.
func listChildren(r *rest.Request) (rest.Answer, error) {
	n, err := r.Node(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	children, err := r.Conductor.NodesIn(r.Context(), conductor.Range{Of: &n.UUID})
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Object(func(w *wire.Writer) {
		w.Key("children").OpenList()
		for child := range children {
			w.Text(child.UUID)
		}
		w.CloseList()
		w.Key("links").Link("children", r.Base(), "/v1/nodes?parent_node=", n.UUID)
	}), nil
}
