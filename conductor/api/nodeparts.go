package api

import (
	"errors"
	"net/http"

	"github.com/ironstate/ironstate/conductor"
)

// emptyList answers requests for a list that is empty with every hardware type.
func emptyList(name string, arguments ...string) func(*request) (answer, error) {
	return func(r *request) (answer, error) {
		if a := r.queryArgs(arguments...); a.err != nil {
			return answer{}, a.err
		}
		if _, err := r.node(r.param(0)); err != nil {
			return answer{}, err
		}
		return objectWith(name, func(w *writer) { w.texts(nil) }), nil
	}
}

// showInventory answers GET /v1/nodes/NODE/inventory. The inventory has the node's UUID.
func showInventory(r *request) (answer, error) {
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	o, err := r.conductor.Object(r.Context(), conductor.KindInventory, n.UUID)
	if errors.Is(err, conductor.NotFound) {
		return answer{}, notFound("Node inventory record for node %s could not be found.", n.UUID)
	}
	if err != nil {
		return answer{}, err
	}
	w := newWriter(4096)
	w.open()
	inventory := o.(*conductor.Inventory)
	w.key("inventory").object(inventory.Inventory)
	w.key("plugin_data").object(inventory.PluginData)
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// listChildren answers GET /v1/nodes/NODE/children.
func listChildren(r *request) (answer, error) {
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	children, err := r.conductor.NodesIn(r.Context(), conductor.NodeRange{Parent: &n.UUID})
	if err != nil {
		return answer{}, err
	}
	w := newWriter(512)
	w.open()
	w.key("children").openList()
	for child := range children {
		w.text(child.UUID)
	}
	w.closeList()
	w.key("links").link("children", r.base(), "/v1/nodes/?parent_node=", n.UUID)
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}
