// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// biosFields are the fields of a BIOS setting; the first two are in every response.
//
// Source: ironic/api/controllers/v1/bios.py.
var biosFields = []string{
	"name", "value", "allowable_values", "attribute_type", "lower_bound", "max_length", "min_length", "read_only",
	"reset_required", "unique", "upper_bound",
}

// listBIOS answers GET /v1/nodes/NODE/bios.
var listBIOS = checks{
	arguments(fields, detail), biosQueryInSchema, nodeExists, biosFieldsChosen,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.ObjectWith("bios", func(w *wire.Writer) {
		wire.List(w, q.node.BIOSSettings, func(s conductor.BIOSSetting) { q.writeBIOS(w, q.Param(0), s) })
	}), nil
})

// biosQueryInSchema refuses fields that a BIOS setting does not have, since 2025.2.
//
// Source: ironic/api/schemas/v1/bios.py.
func biosQueryInSchema(q *request) error {
	switch q.shown = fields.of(q); {
	case q.Series < states.Flamingo:
		return nil
	case q.shown != nil && q.Version < since.BIOSRegistry:
		return fault.Invalid("Schema error: Additional properties are not allowed ('fields' was unexpected)")
	}
	known := []string{
		"allowable_values", "attribute_type", "created_at", "lower_bound", "links", "max_length", "min_length", "name", "node_uuid",
		"read_only", "reset_required", "unique", "updated_at", "value",
	}
	return fault.OneOf(known, q.shown...)
}

// biosFieldsChosen chooses the fields of a list.
func biosFieldsChosen(q *request) (err error) {
	if q.shown != nil && q.Version < since.BIOSRegistry {
		return fault.Invalid("Invalid query parameter ?fields=%s received.", pyrepr.List(q.shown))
	}
	q.shown, err = q.ChooseFields(q.shown, detail.of(q), biosFields[:2], since.BIOSRegistry)
	return err
}

// showBIOS answers GET /v1/nodes/NODE/bios/NAME.
var showBIOS = checks{biosNameInSchema, arguments(), nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	name := q.Param(1)
	i := slices.IndexFunc(q.node.BIOSSettings, func(s conductor.BIOSSetting) bool { return s.Name == name })
	if i < 0 {
		return rest.Answer{}, fault.NotFound("Node %s doesn't have a BIOS setting '%s'", q.node.UUID, fault.Show(name))
	}
	if q.shown = biosFields; q.Version < since.BIOSRegistry {
		q.shown = biosFields[:2]
	}
	return rest.ObjectWith(name, func(w *wire.Writer) { q.writeBIOS(w, q.node.UUID, q.node.BIOSSettings[i]) }), nil
})

// biosNameInSchema refuses a name that no BIOS setting can have, since 2025.2.
func biosNameInSchema(q *request) error {
	if name := q.Param(1); q.Series >= states.Flamingo && !rest.IsName(name) {
		return fault.Invalid("Schema error: %s does not match '(?i)^[A-Z0-9-._~]+$'", fault.Repr(name))
	}
	return nil
}

// writeBIOS writes a setting; node is the identifier of the node in links.
func (q *request) writeBIOS(w *wire.Writer, node string, s conductor.BIOSSetting) {
	w.Open()
	w.Key("created_at").Time(&s.CreatedAt)
	w.Key("updated_at").Time(s.UpdatedAt)
	for _, name := range biosFields {
		switch {
		case !q.shown.Has(name):
		case name == "name":
			w.Key(name).Text(s.Name)
		case name == "value":
			w.Key(name).Value(s.Value)
		case name == "allowable_values" && s.Registry[name] == nil:
			w.Key(name).Texts(nil)
		default:
			w.Key(name).Value(s.Registry[name])
		}
	}
	w.Key("links").Links(q.Base(), "nodes/", node, "/bios/", s.Name)
	w.Close()
}
