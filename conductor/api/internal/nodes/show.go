// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// allowFields returns an error for a field that the request's version lacks.
func allowFields(r *rest.Request, fields []string) error {
	if fields != nil && r.Version < since.Fields {
		return fault.NotAcceptable
	}
	for _, name := range fields {
		if f := fieldsByName[name]; f != nil && f.since > r.Version && f.since <= r.Highest {
			return fault.NotAcceptable
		}
	}
	return nil
}

// checkFields returns an error for a field that the request's version or every version lacks.
func checkFields(r *rest.Request, fields []string) error {
	if err := allowFields(r, fields); err != nil {
		return err
	}
	for _, name := range fields {
		if f := fieldsByName[name]; f == nil || f.hidden || f.since > r.Highest {
			return fault.Invalid("Field %s is not a valid field.", fault.Show(name))
		}
	}
	return nil
}

// Write writes the fields of a node that the request's version has.
func Write(r *rest.Request, w *wire.Writer, n *node, fields rest.FieldSet) {
	w.Open()
	for i := range allFields {
		f := &allFields[i]
		if f.since <= r.Version && fields.Has(f.name) {
			w.Literal(f.key)
			f.write(w, r, n)
		}
	}
	w.Key("links").Links(r.Base(), "nodes/", n.UUID)
	for _, link := range links {
		if fields == nil && r.Version >= link.since {
			w.Key(link.name).Links(r.Base(), "nodes/", n.UUID, "/", link.name)
		}
	}
	w.Close()
}

// links are the links of a node's full response, each with its first version.
var links = []struct {
	name  string
	since states.APIVersion
}{{"ports", since.First}, {"states", since.StateLinks}, {"portgroups", since.PortGroupsBelow}, {"volume", since.Volumes}}

// answer returns an answer with a node as its body.
func answer(r *rest.Request, status int, n *node, fields rest.FieldSet) rest.Answer {
	return rest.Answer{Status: status, Write: func(w *wire.Writer) { Write(r, w, n, fields) }}
}

// show answers GET /v1/nodes/NODE.
func show(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("fields")
	fields := a.List("fields")
	if a.Err != nil {
		return rest.Answer{}, a.Err
	}
	n, err := r.FindNodeOrJSON(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	if err := checkFields(r, fields); err != nil {
		return rest.Answer{}, err
	}
	return answer(r, http.StatusOK, n, fields), nil
}
