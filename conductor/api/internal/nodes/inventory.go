// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// showInventory answers GET /v1/nodes/NODE/inventory. The inventory has the node's UUID.
func showInventory(r *rest.Request, n *node) (rest.Answer, error) {
	o, err := r.Conductor.Object(r.Context(), conductor.KindInventory, n.UUID)
	if errors.Is(err, conductor.NotFound) {
		return rest.Answer{}, fault.NotFound("Node inventory record for node %s could not be found.", n.UUID)
	}
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Object(func(w *wire.Writer) {
		inventory := o.(*conductor.Inventory)
		w.Key("inventory").Object(inventory.Inventory)
		w.Key("plugin_data").Object(inventory.PluginData)
	}), nil
}
