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
func listBIOS(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("detail", "fields")
	fields, detail := rest.FieldSet(a.List("fields")), a.Boolean("detail")
	if a.Err == nil && r.Series >= states.Flamingo {
		if err := biosQueryInSchema(r, fields); err != nil {
			return rest.Answer{}, err
		}
	}
	n, err := r.PathNode(a)
	if err != nil {
		return rest.Answer{}, err
	}
	if fields != nil && r.Version < since.BIOSRegistry {
		return rest.Answer{}, fault.Invalid("Invalid query parameter ?fields=%s received.", pyrepr.List(fields))
	}
	fields, err = r.ChooseFields(fields, detail, biosFields[:2], since.BIOSRegistry)
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.ObjectWith("bios", func(w *wire.Writer) {
		w.OpenList()
		for _, s := range n.BIOSSettings {
			writeBIOS(r, w, r.Param(0), s, fields)
		}
		w.CloseList()
	}), nil
}

// biosQueryInSchema refuses fields that a BIOS setting does not have.
//
// Source: ironic/api/schemas/v1/bios.py.
func biosQueryInSchema(r *rest.Request, fields rest.FieldSet) error {
	if fields != nil && r.Version < since.BIOSRegistry {
		return fault.Invalid("Schema error: Additional properties are not allowed ('fields' was unexpected)")
	}
	known := []string{
		"allowable_values", "attribute_type", "created_at", "lower_bound", "links", "max_length", "min_length", "name", "node_uuid",
		"read_only", "reset_required", "unique", "updated_at", "value",
	}
	return fault.OneOf(known, fields...)
}

// showBIOS answers GET /v1/nodes/NODE/bios/NAME.
func showBIOS(r *rest.Request) (rest.Answer, error) {
	if name := r.Param(1); r.Series >= states.Flamingo && !rest.IsName(name) {
		return rest.Answer{}, fault.Invalid("Schema error: %s does not match '(?i)^[A-Z0-9-._~]+$'", fault.Repr(name))
	}
	n, err := r.PathNode(r.QueryArgs())
	if err != nil {
		return rest.Answer{}, err
	}
	i := slices.IndexFunc(n.BIOSSettings, func(s conductor.BIOSSetting) bool { return s.Name == r.Param(1) })
	if i < 0 {
		return rest.Answer{}, fault.NotFound("Node %s doesn't have a BIOS setting '%s'", n.UUID, fault.Show(r.Param(1)))
	}
	fields := biosFields
	if r.Version < since.BIOSRegistry {
		fields = biosFields[:2]
	}
	return rest.Object(func(w *wire.Writer) {
		w.Key(r.Param(1))
		writeBIOS(r, w, n.UUID, n.BIOSSettings[i], fields)
	}), nil
}

// writeBIOS writes a setting; node is the identifier of the node in links.
func writeBIOS(r *rest.Request, w *wire.Writer, node string, s conductor.BIOSSetting, fields rest.FieldSet) {
	w.Open()
	w.Key("created_at").Time(&s.CreatedAt)
	w.Key("updated_at").Time(s.UpdatedAt)
	for _, name := range biosFields {
		switch {
		case !fields.Has(name):
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
	w.Key("links").Links(r.Base(), "nodes/", node, "/bios/", s.Name)
	w.Close()
}
