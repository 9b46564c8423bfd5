package api

import "github.com/ironstate/ironstate/conductor/api/internal/since"

// listVIFs answers GET /v1/nodes/NODE/vifs. The network interface of every hardware type is
// noop, which accepts virtual interfaces and stores none.
func listVIFs(r *request) (answer, error) {
	if _, err := r.node(r.param(0)); err != nil {
		return answer{}, err
	}
	return objectWith("vifs", func(w *writer) { w.texts(nil) }), nil
}

// attachVIF answers POST /v1/nodes/NODE/vifs.
func attachVIF(r *request) (answer, error) {
	body, err := r.decode(maxBody)
	if err != nil {
		return answer{}, err
	}
	if err := vifSchema.validate("vif", body); err != nil {
		return answer{}, err
	}
	vif := body.(map[string]any)
	id := vif["id"].(string)
	if !isUUID(id) && !isName(id) {
		return answer{}, invalid("Expected UUID or name for id: %s", show(id))
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	if vif["port_uuid"] != nil && vif["portgroup_uuid"] != nil && r.version >= since.VIFPort {
		return answer{}, invalid("Cannot specify both port_uuid and portgroup_uuid")
	}
	return statusNoContent, r.conductor.TouchNode(r.Context(), n.UUID)
}

// detachVIF answers DELETE /v1/nodes/NODE/vifs/ID.
func detachVIF(r *request) (answer, error) {
	if id := r.param(1); !isUUID(id) && !isName(id) {
		return answer{}, invalid("Expected UUID or name for vif_id: %s", show(id))
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	return statusNoContent, r.conductor.TouchNode(r.Context(), n.UUID)
}

// vifSchema describes a virtual interface.
//
// Source: VIF_VALIDATOR in ironic/api/controllers/v1/node.py.
var vifSchema = &schema{types: []string{"object"}, required: []string{"id"}, properties: []property{{"id", textSchema}}}
