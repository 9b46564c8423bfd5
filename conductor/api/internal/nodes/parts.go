// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// firmwareFields are the fields of a firmware component.
//
// Source: ironic/api/controllers/v1/firmware.py.
var firmwareFields = []string{"component", "initial_version", "current_version", "last_version_flashed"}

// listFirmware answers GET /v1/nodes/NODE/firmware. As in Ironic, detail=true leaves out the fields but
// the times.
func listFirmware(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("detail", "fields")
	fields, detail := rest.FieldSet(a.List("fields")), a.Boolean("detail")
	n, err := r.NodeOf(a)
	if err != nil {
		return rest.Answer{}, err
	}
	if fields, err = r.ChooseFields(fields, detail, firmwareFields, since.Firmware); err != nil {
		return rest.Answer{}, err
	}
	return rest.ObjectWith("firmware", func(w *wire.Writer) {
		w.OpenList()
		for _, c := range n.Firmware {
			w.Open()
			w.Key("created_at").Time(&c.CreatedAt)
			w.Key("updated_at").Time(c.UpdatedAt)
			for i, value := range []string{c.Component, c.InitialVersion, c.CurrentVersion, c.LastVersionFlashed} {
				if slices.Contains(fields, firmwareFields[i]) {
					w.Key(firmwareFields[i]).TextOrNull(value)
				}
			}
			w.Close()
		}
		w.CloseList()
	}), nil
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
