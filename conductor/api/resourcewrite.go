package api

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// show answers a GET of one record.
func (x *resource) show(r *request) (answer, error) {
	a := r.queryArgs("fields")
	fields := fieldSet(a.list("fields"))
	if err := r.accept(a); err != nil {
		return answer{}, err
	}
	ident, err := r.ident(x)
	if err != nil {
		return answer{}, err
	}
	if x.fieldsFirst {
		if err := x.allowFields(r, fields); err != nil {
			return answer{}, err
		}
	}
	o, err := r.object(x, ident)
	if err != nil {
		return answer{}, err
	}
	if err := x.allowFields(r, fields); err != nil {
		return answer{}, err
	}
	if err := x.knowFields(r, fields); err != nil {
		return answer{}, err
	}
	return x.answer(r, http.StatusOK, o, fields), nil
}

// create answers a POST.
func (x *resource) create(r *request) (answer, error) {
	o, err := x.decode(r)
	if err != nil {
		return answer{}, err
	}
	created, err := r.conductor.CreateObject(r.Context(), o)
	if err != nil {
		return answer{}, x.sayExists(r, o, err)
	}
	a := x.answer(r, http.StatusCreated, created, nil)
	a.location = x.path + "/" + created.Meta().UUID
	return a, nil
}

// decode returns the record in the body of a POST.
func (x *resource) decode(r *request) (conductor.Object, error) {
	body, err := r.decode(maxBody)
	if err != nil {
		return nil, err
	}
	object, _ := body.(map[string]any)
	if err := r.onlyBody(object); err != nil {
		return nil, err
	}
	if x.prepare != nil {
		if err := x.prepare(r, body); err != nil {
			return nil, err
		}
	}
	if err := x.bodySchema(r.service).validate(x.schema, body); err != nil {
		return nil, err
	}
	o := conductor.Clone(x.of)
	if err := x.take(r, o, object); err != nil {
		return nil, err
	}
	if err := r.accept(nil); err != nil {
		return nil, err
	}
	if err := x.checkNode(r, nil, o); err != nil {
		return nil, err
	}
	if err := x.checkNew(r, object, nil); err != nil {
		return nil, err
	}
	return o, x.settle(r, nil, o)
}

// settle checks a complete record.
func (x *resource) settle(r *request, before, o conductor.Object) error {
	if x.check != nil {
		if err := x.check(r, before, o); err != nil {
			return err
		}
	}
	if node := o.Meta().NodeUUID; node != "" && x.allow != nil && (before != nil || x.locks) {
		if err := r.conductor.TouchNode(r.Context(), node); err != nil {
			return err
		}
		return x.allow(r, before, o)
	}
	return nil
}

// checkNode refuses a record of an unknown node, and one that a patch moves to a node of another
// owner (CVE-2026-44918). The fault does not disclose whether that node exists; Ironic has it for
// unknown nodes too since 2026.2.
//
// Source: authorize_node_link in ironic/api/controllers/v1/utils.py.
func (x *resource) checkNode(r *request, before, o conductor.Object) error {
	node := o.Meta().NodeUUID
	if f := x.field("node_uuid"); f == nil || f.readOnly || before != nil && before.Meta().NodeUUID == node {
		return nil
	}
	n, err := r.nodeNamed(node)
	foreign := err != nil && r.series >= states.Hibiscus
	if before != nil && err == nil {
		old, err := r.nodeNamed(before.Meta().NodeUUID)
		if err != nil {
			return as400(err)
		}
		foreign = old.Owner != n.Owner
	}
	if before != nil && foreign {
		return invalid("Unable to apply the requested node_uuid '%s'. Requested value was invalid.", show(node))
	}
	if err != nil && before == nil && x.noNode != "" && asFault(err).status == http.StatusNotFound {
		return invalid(x.noNode, node)
	}
	return as400(err)
}

// patch answers a PATCH.
func (x *resource) patch(r *request) (answer, error) {
	if err := r.accept(r.queryArgs()); err != nil {
		return answer{}, err
	}
	ident := r.param(0)
	if !x.looseIdent {
		if _, err := r.ident(x); err != nil {
			return answer{}, err
		}
	}
	p, wrong := r.decodePatch()
	switch {
	case wrong != nil && !errors.Is(wrong, errNullPatch):
		return answer{}, wrong
	case r.version < x.patchSince:
		return answer{}, &fault{status: http.StatusMethodNotAllowed, text: "The API version does not allow updating " + x.path}
	}
	var before conductor.Object
	load := func() error {
		if x.named && !isUUID(ident) && !isName(ident) {
			return invalid("Expected a logical name or UUID but received %s.", show(ident))
		}
		o, err := r.object(x, ident)
		before = o
		return err
	}
	check := func() error {
		if wrong != nil {
			return wrong
		}
		return x.checkPatch(r, p)
	}
	order := []func() error{check, load}
	if x.loadFirst {
		order = []func() error{load, check}
	}
	for _, next := range order {
		if err := next(); err != nil {
			return answer{}, err
		}
	}
	attempt := conductor.Clone(before)
	o, err := r.conductor.UpdateObject(r.Context(), x.of.Kind(), before.Meta().UUID, func(o conductor.Object) error {
		before := conductor.Clone(o)
		if err := x.apply(r, p, o); err != nil {
			return err
		}
		attempt = o
		if x.touched {
			changed := time.Unix(0, 0) // replaced when it is stored
			o.Meta().UpdatedAt = &changed
		}
		return x.settle(r, before, o)
	})
	if errors.Is(err, conductor.NotFound) {
		return answer{}, x.notFound(ident)
	}
	if err != nil {
		return answer{}, x.sayExists(r, attempt, err)
	}
	return x.answer(r, http.StatusOK, o, nil), nil
}

// checkPatch refuses a patch of fields that clients may not change.
func (x *resource) checkPatch(r *request, p patch) error {
	names := x.patched
	if names == nil {
		for i := range x.fields {
			if f := &x.fields[i]; !f.readOnly && !f.fixed && f.since <= r.highest {
				names = append(names, f.name)
			}
		}
		slices.Sort(names)
	}
	if err := p.only(names); err != nil {
		return err
	}
	if err := x.checkNew(r, nil, p); err != nil || x.checkValues == nil {
		return err
	}
	return x.checkValues(r, p)
}

// checkNew refuses a POST or a patch that uses a field newer than its API version.
func (x *resource) checkNew(r *request, object map[string]any, p patch) error {
	tooNew := hasNew
	if x.tooNew != nil {
		tooNew = x.tooNew
	}
	if tooNew(x, r, object, p) {
		return errNotAcceptable
	}
	return nil
}

// apply applies a patch to a record.
func (x *resource) apply(r *request, p patch, o conductor.Object) error {
	document := map[string]any{}
	for i := range x.fields {
		if f := &x.fields[i]; !f.readOnly && !f.asked && f.since <= r.highest {
			document[f.name] = f.value(o)
		}
	}
	patched, err := p.apply(document)
	if err != nil {
		return err
	}
	if _, there := patched["mode"]; !there && x == portGroupResource {
		return invalid("'mode' is a mandatory attribute and can not be removed")
	}
	if err := x.checkLinks(r, p, o, patched); err != nil {
		return err
	}
	if err := x.bodySchema(r.service).validate("patch", patched); err != nil {
		return err
	}
	for i := range x.fields {
		if f := &x.fields[i]; f.nullable {
			patched[f.name] = patched[f.name]
		}
	}
	return x.take(r, o, patched)
}

// checkLinks refuses a patched document that names a port group or a node that the record cannot
// belong to.
func (x *resource) checkLinks(r *request, p patch, before conductor.Object, patched map[string]any) error {
	if group := patched["portgroup_uuid"]; p.startsWith("portgroup_uuid") && truthy(group) {
		if !isUUID(show(group)) {
			return as400(portGroupResource.notFound(show(group)))
		}
		if _, err := r.object(portGroupResource, show(group)); err != nil {
			return as400(err)
		}
	}
	node, has := patched["node_uuid"]
	if f := x.field("node_uuid"); f == nil || f.readOnly || !has || node == before.Meta().NodeUUID {
		return nil
	}
	ident := show(node)
	if _, err := strconv.Atoi(ident); err != nil && !isUUID(ident) {
		return invalid("Expected a UUID or int but received %s.", ident)
	}
	moved := conductor.Clone(before)
	moved.Meta().NodeUUID = ident
	return x.checkNode(r, before, moved)
}

// forbid answers a request for one record below another, which Ironic does not permit, once its
// arguments are right.
func (x *resource) forbid(r *request) (answer, error) {
	var names []string
	if r.Method == http.MethodGet {
		names = []string{"fields"}
	}
	a := r.queryArgs(names...)
	switch {
	case a.err != nil:
		return answer{}, a.err
	case r.Method == http.MethodPost || len(r.params) > 1 && (isUUID(r.param(1)) || x.named && isName(r.param(1))):
		return answer{}, errNotPermitted
	case len(r.params) == 1:
		return answer{}, invalid("Missing mandatory parameter: %s", x.identName())
	case x.named:
		return answer{}, invalid("Expected UUID or name for %s: %s", x.identName(), show(r.param(1)))
	default:
		return answer{}, invalid("Expected UUID for %s: %s", x.identName(), show(r.param(1)))
	}
}

// identName is the name of the argument that identifies a record.
func (x *resource) identName() string {
	if x.named {
		return x.schema + "_ident"
	}
	return x.schema + "_uuid"
}

// remove answers a DELETE.
func (x *resource) remove(r *request) (answer, error) {
	if err := r.accept(r.queryArgs()); err != nil {
		return answer{}, err
	}
	ident, err := r.ident(x)
	if err != nil {
		return answer{}, err
	}
	o, err := r.object(x, ident)
	if err != nil {
		return answer{}, err
	}
	if node := o.Meta().NodeUUID; node != "" {
		if err := r.conductor.TouchNode(r.Context(), node); err != nil && !errors.Is(err, conductor.NotFound) {
			return answer{}, err
		}
	}
	if x.deletable != nil {
		if err := x.deletable(r, o); err != nil {
			return answer{}, err
		}
	}
	err = r.conductor.DeleteObject(r.Context(), x.of.Kind(), o.Meta().UUID)
	if errors.Is(err, conductor.NotFound) {
		return answer{}, x.notFound(ident)
	}
	return statusNoContent, err
}
