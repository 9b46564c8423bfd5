// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// listChildren answers GET /v1/nodes/NODE/children.
var listChildren = checks{nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	children, err := q.Conductor.NodesIn(q.Context(), conductor.Range{Of: &q.node.UUID})
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Object(func(w *wire.Writer) {
		w.Key("children").OpenList()
		for child := range children {
			w.Text(child.UUID)
		}
		w.CloseList()
		w.Key("links").Link("children", q.Base(), "/v1/nodes?parent_node=", q.node.UUID)
	}), nil
})
