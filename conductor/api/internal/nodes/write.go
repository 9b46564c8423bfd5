// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

type node = conductor.Node

// update changes the node in the path of a request whose response does not contain the node, or returns the fault of
// the arguments.
func update(r *rest.Request, a *rest.Args, change func(n *node) error) error {
	n, err := r.PathNode(a)
	if err != nil {
		return err
	}
	_, err = r.Conductor.UpdateNode(r.Context(), n.UUID, change)
	if errors.Is(err, conductor.NotFound) {
		return rest.NodeNotFound(r.Param(0))
	}
	return err
}
