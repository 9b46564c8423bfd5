// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

type node = conductor.Node

// update changes a node for a request whose response does not contain the node.
func update(r *rest.Request, change func(n *node) error) error {
	n, err := r.Node(r.Param(0))
	if err != nil {
		return err
	}
	_, err = r.Conductor.UpdateNode(r.Context(), n.UUID, change)
	if errors.Is(err, conductor.NotFound) {
		return rest.NodeNotFound(r.Param(0))
	}
	return err
}
