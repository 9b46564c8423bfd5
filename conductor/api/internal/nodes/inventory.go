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
var showInventory = checks{arguments(), nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	o, err := q.Conductor.Object(q.Context(), conductor.KindInventory, q.node.UUID)
	if errors.Is(err, conductor.NotFound) {
		return rest.Answer{}, fault.NotFound("Node inventory record for node %s could not be found.", q.node.UUID)
	}
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Object(func(w *wire.Writer) {
		inventory := o.(*conductor.Inventory)
		w.Key("inventory").Object(inventory.Inventory)
		w.Key("plugin_data").Object(inventory.PluginData)
	}), nil
})
