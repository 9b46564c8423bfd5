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
var listVIFs = checks{arguments(), nodeExists}.Then(newRequest, func(*request) (rest.Answer, error) {
	return rest.ObjectWith("vifs", func(w *wire.Writer) { w.Texts(nil) }), nil
})

// attachVIF answers POST /v1/nodes/NODE/vifs.
var attachVIF = checks{bodyDecodes, vifValid, nodeExists, vifOnOnePort}.Then(newRequest, touchNode)

// detachVIF answers DELETE /v1/nodes/NODE/vifs/ID.
var detachVIF = checks{identValid("vif_id"), nodeExists}.Then(newRequest, touchNode)

func touchNode(q *request) (rest.Answer, error) {
	return rest.NoContent, q.Conductor.TouchNode(q.Context(), q.node.UUID)
}

// vifValid refuses a body that violates the schema, and an invalid identifier.
func vifValid(q *request) error {
	if err := vifSchema.Validate("vif", q.sent); err != nil {
		return err
	}
	return rest.CheckIdent("id", q.body["id"].(string))
}

// vifOnOnePort refuses a virtual interface with a port and a port group, in versions that have them.
func vifOnOnePort(q *request) error {
	_, port := q.body["port_uuid"]
	_, group := q.body["portgroup_uuid"]
	if port && group && q.Version >= since.VIFPort { // also null
		return fault.Invalid("Cannot specify both port_uuid and portgroup_uuid")
	}
	return nil
}

// vifSchema describes a virtual interface.
//
// Source: VIF_VALIDATOR in ironic/api/controllers/v1/node.py.
var vifSchema = &schema.Schema{Types: []string{"object"}, Required: []string{"id"},
	Properties: []schema.Property{{Name: "id", Schema: schema.Text}}}
