package api

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// allowNodeFields returns an error for a field that the request's version lacks.
func (r *request) allowNodeFields(fields []string) error {
	if fields != nil && r.version < since.Fields {
		return errNotAcceptable
	}
	for _, name := range fields {
		if f := nodeFieldsByName[name]; f != nil && f.since > r.version && f.since <= r.highest {
			return errNotAcceptable
		}
	}
	return nil
}

// checkNodeFields returns an error for a field that the request's version or every version lacks.
func (r *request) checkNodeFields(fields []string) error {
	if err := r.allowNodeFields(fields); err != nil {
		return err
	}
	for _, name := range fields {
		if f := nodeFieldsByName[name]; f == nil || f.hidden || f.since > r.highest {
			return invalid("Field %s is not a valid field.", show(name))
		}
	}
	return nil
}

// writeNode writes the fields of a node that the request's version has.
func (r *request) writeNode(w *writer, n *node, fields fieldSet) {
	w.open()
	for i := range nodeFields {
		f := &nodeFields[i]
		if f.since <= r.version && fields.has(f.name) {
			w.literal(f.key)
			f.write(w, r, n)
		}
	}
	w.key("links").links(r.base(), "nodes/", n.UUID)
	if fields == nil {
		r.writeNodeLinks(w, n)
	}
	w.close()
}

// writeNodeLinks writes the links to a node's ports, states, port groups and volumes.
func (r *request) writeNodeLinks(w *writer, n *node) {
	for _, link := range []struct {
		name  string
		since states.APIVersion
	}{{"ports", since.First}, {"states", since.StateLinks}, {"portgroups", since.PortGroupsBelow}, {"volume", since.Volumes}} {
		if r.version >= link.since {
			w.key(link.name).links(r.base(), "nodes/", n.UUID, "/", link.name)
		}
	}
}

// nodeAnswer returns an answer with a node as its body.
func (r *request) nodeAnswer(status int, n *node, fields fieldSet) answer {
	return answer{status: status, write: func(w *writer) { r.writeNode(w, n, fields) }}
}

// showNode answers GET /v1/nodes/NODE.
func showNode(r *request) (answer, error) {
	a := r.queryArgs("fields")
	fields := a.list("fields")
	if a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	if err := r.checkNodeFields(fields); err != nil {
		return answer{}, err
	}
	return r.nodeAnswer(http.StatusOK, n, fields), nil
}
