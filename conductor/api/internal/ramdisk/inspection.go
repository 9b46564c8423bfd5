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
func ContinueInspection(r *rest.Request) (rest.Answer, error) {
	old := r.Version < since.ContinueInspection
	body, err := r.Decode(rest.MaxInspectionBody)
	if err != nil {
		return rest.Answer{}, err
	}
	object, _ := body.(map[string]any)
	maps.DeleteFunc(r.Query, func(name string, _ []string) bool { _, hidden := object[name]; return hidden })
	q := r.QueryArgs("node_uuid")
	if q.Err == nil { // their names come before the body, and their types after it
		q.Err = inspectionSchema.Validate("data", body)
	}
	uuid := q.UUID("node_uuid")
	if err := r.CheckArgs(q); err != nil {
		return rest.Answer{}, err
	}
	if old && (r.Version != since.First || uuid != "") {
		return rest.Answer{}, &fault.Fault{Status: http.StatusNotFound,
			Text: "API version " + since.ContinueInspection.String() + " or newer is required"}
	}
	n, token, err := r.Conductor.ContinueInspection(r.Context(), r.Source(), object, uuid, !old)
	if err != nil && fault.Of(err).Status == http.StatusNotFound {
		return rest.Answer{}, fault.NoSuchResource // do not disclose which nodes exist
	}
	if err != nil {
		return rest.Answer{}, err
	}
	a := agentAnswer(r, n, token)
	if old {
		a = rest.ObjectWith("uuid", func(w *wire.Writer) { w.Text(n.UUID) })
	}
	a.Status = http.StatusAccepted
	return a, nil
}
