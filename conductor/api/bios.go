package api

import (
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/pyrepr"
)

// biosFields are the fields of a BIOS setting; the first two are in every response.
//
// Source: ironic/api/controllers/v1/bios.py.
var biosFields = []string{
	"name", "value", "allowable_values", "attribute_type", "lower_bound", "max_length", "min_length", "read_only",
	"reset_required", "unique", "upper_bound",
}

// listBIOS answers GET /v1/nodes/NODE/bios.
func listBIOS(r *request) (answer, error) {
	a := r.queryArgs("detail", "fields")
	fields, detail := fieldSet(a.list("fields")), a.boolean("detail")
	if a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	if fields != nil && r.version < since.BIOSRegistry {
		return answer{}, invalid("Invalid query parameter ?fields=%s received.", pyrepr.List(fields))
	}
	fields, err = r.chooseFields(fields, detail, biosFields[:2], since.BIOSRegistry)
	if err != nil {
		return answer{}, err
	}
	return objectWith("bios", func(w *writer) {
		w.openList()
		for _, s := range n.BIOSSettings {
			r.writeBIOS(w, r.param(0), s, fields)
		}
		w.closeList()
	}), nil
}

// showBIOS answers GET /v1/nodes/NODE/bios/NAME.
func showBIOS(r *request) (answer, error) {
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	i := slices.IndexFunc(n.BIOSSettings, func(s conductor.BIOSSetting) bool { return s.Name == r.param(1) })
	if i < 0 {
		return answer{}, notFound("Node %s doesn't have a BIOS setting '%s'", n.UUID, show(r.param(1)))
	}
	fields := biosFields
	if r.version < since.BIOSRegistry {
		fields = biosFields[:2]
	}
	w := newWriter(512)
	w.open()
	w.key(r.param(1))
	r.writeBIOS(w, n.UUID, n.BIOSSettings[i], fields)
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// writeBIOS writes a setting; node is the identifier of the node in links.
func (r *request) writeBIOS(w *writer, node string, s conductor.BIOSSetting, fields fieldSet) {
	w.open()
	w.key("created_at").time(&s.CreatedAt)
	w.key("updated_at").time(s.UpdatedAt)
	for _, name := range biosFields {
		switch {
		case !fields.has(name):
		case name == "name":
			w.key(name).text(s.Name)
		case name == "value":
			w.key(name).text(s.Value)
		case name == "allowable_values" && s.Registry[name] == nil:
			w.key(name).texts(nil)
		default:
			w.key(name).value(s.Registry[name])
		}
	}
	w.key("links").links(r.base(), "nodes/", node, "/bios/", s.Name)
	w.close()
}
