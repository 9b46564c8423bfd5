// SPDX-License-Identifier: Apache-2.0

package ramdisk

import (
	"maps"
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// inspectionSchema describes the inspection data of an agent.
var inspectionSchema = &schema.Schema{Types: []string{"object"}, Required: []string{"inventory"}, Properties: []schema.Property{
	{Name: "inventory", Schema: &schema.Schema{Types: []string{"object"}, Required: []string{"interfaces"}, Properties: []schema.Property{
		{Name: "bmc_address", Schema: &schema.Schema{Types: schema.TextOrNull}},
		{Name: "bmc_v6address", Schema: &schema.Schema{Types: schema.TextOrNull}},
		{Name: "interfaces", Schema: &schema.Schema{Types: []string{"array"}, MinItems: 1, Items: &schema.Schema{
			Types: []string{"object"}, Required: []string{"mac_address"}, Properties: []schema.Property{{Name: "mac_address", Schema: schema.Text}},
		}}},
	}}},
	{Name: "error", Schema: &schema.Schema{Types: schema.TextOrNull}},
}}

// ContinueInspection answers POST /v1/continue_inspection, which an agent sends with its findings about its
// machine. Agents send it without a version, which stands for the lowest one.
//
// Source: ContinueInspectionController in ironic/api/controllers/v1/ramdisk.py.
var ContinueInspection = checks{
	bodyDecodes(rest.MaxInspectionBody), parametersNamed, inspectionInSchema, nodeIsUUID, inspectionInVersion,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	old := q.Version < since.ContinueInspection
	n, token, err := q.Conductor.ContinueInspection(q.Context(), q.Source(), q.body.(map[string]any), q.uuid, !old)
	if err != nil {
		return rest.Answer{}, undisclosed(err)
	}
	a := agentAnswer(q.Request, n, token)
	if old {
		a = rest.ObjectWith("uuid", func(w *wire.Writer) { w.Text(n.UUID) })
	}
	a.Status = http.StatusAccepted
	return a, nil
})

// parametersNamed refuses other query parameters than node_uuid, unless the body hides them.
func parametersNamed(q *request) error {
	object, _ := q.body.(map[string]any)
	maps.DeleteFunc(q.Query, func(name string, _ []string) bool { _, hidden := object[name]; return hidden })
	q.args = q.QueryArgs("node_uuid")
	return q.args.Err
}

// inspectionInSchema refuses data that do not satisfy the schema.
func inspectionInSchema(q *request) error { return inspectionSchema.Validate("data", q.body) }

// nodeIsUUID reads the query.
func nodeIsUUID(q *request) error {
	q.uuid = q.args.UUID("node_uuid")
	return q.args.Err
}

// inspectionInVersion refuses an old version, but for the lowest one without a node.
func inspectionInVersion(q *request) error {
	if q.Version < since.ContinueInspection && (q.Version != since.First || q.uuid != "") {
		return fault.NotFound("API version %v or newer is required", since.ContinueInspection)
	}
	return nil
}
