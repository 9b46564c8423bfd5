// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// listVIFs answers GET /v1/nodes/NODE/vifs. The network interface of every hardware type is
// noop, which accepts virtual interfaces and stores none.
func listVIFs(r *rest.Request, _ *node) (rest.Answer, error) {
	return rest.ObjectWith("vifs", func(w *wire.Writer) { w.Texts(nil) }), nil
}

// attachVIF answers POST /v1/nodes/NODE/vifs.
func attachVIF(r *rest.Request) (rest.Answer, error) {
	body, err := r.Decode(rest.MaxBody)
	if err != nil {
		return rest.Answer{}, err
	}
	if err := vifSchema.Validate("vif", body); err != nil {
		return rest.Answer{}, err
	}
	vif := body.(map[string]any)
	id := vif["id"].(string)
	if err := rest.CheckIdent("id", id); err != nil {
		return rest.Answer{}, err
	}
	n, err := r.Node(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	_, port := vif["port_uuid"]
	_, group := vif["portgroup_uuid"]
	if port && group && r.Version >= since.VIFPort { // also null
		return rest.Answer{}, fault.Invalid("Cannot specify both port_uuid and portgroup_uuid")
	}
	return rest.NoContent, r.Conductor.TouchNode(r.Context(), n.UUID)
}

// detachVIF answers DELETE /v1/nodes/NODE/vifs/ID.
func detachVIF(r *rest.Request) (rest.Answer, error) {
	if err := rest.CheckIdent("vif_id", r.Param(1)); err != nil {
		return rest.Answer{}, err
	}
	n, err := r.Node(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.NoContent, r.Conductor.TouchNode(r.Context(), n.UUID)
}

// vifSchema describes a virtual interface.
//
// Source: VIF_VALIDATOR in ironic/api/controllers/v1/node.py.
var vifSchema = &schema.Schema{Types: []string{"object"}, Required: []string{"id"},
	Properties: []schema.Property{{Name: "id", Schema: schema.Text}}}
