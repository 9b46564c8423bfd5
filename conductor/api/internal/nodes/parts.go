// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// emptyList answers requests for a list that is empty with every hardware type.
func emptyList(name string, arguments ...string) func(*rest.Request) (rest.Answer, error) {
	return func(r *rest.Request) (rest.Answer, error) {
		if _, err := r.NodeOf(r.QueryArgs(arguments...)); err != nil {
			return rest.Answer{}, err
		}
		return rest.ObjectWith(name, func(w *wire.Writer) { w.Texts(nil) }), nil
	}
}

// showInventory answers GET /v1/nodes/NODE/inventory. The inventory has the node's UUID.
func showInventory(r *rest.Request) (rest.Answer, error) {
	n, err := r.Node(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
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
		w.Key("links").Link("children", r.Base(), "/v1/nodes/?parent_node=", n.UUID)
	}), nil
}
