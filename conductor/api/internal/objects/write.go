// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/states"
)

// get answers a GET of one record.
func (x *resource) get(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("fields")
	fields := rest.FieldSet(a.List("fields"))
	if err := r.Accept(a); err != nil {
		return rest.Answer{}, err
	}
	ident, err := identOf(r, x)
	if err != nil {
		return rest.Answer{}, err
	}
	if x.fieldsFirst {
		if err := x.allowFields(r, fields); err != nil {
			return rest.Answer{}, err
		}
	}
	o, err := find(r, x, ident)
	if err != nil {
		return rest.Answer{}, err
	}
	if err := x.allowFields(r, fields); err != nil {
		return rest.Answer{}, err
	}
	if err := x.checkFields(r, fields); err != nil {
		return rest.Answer{}, err
	}
	return x.answer(r, http.StatusOK, o, fields), nil
}

// create answers a POST.
func (x *resource) create(r *rest.Request) (rest.Answer, error) {
	o, err := x.decodeNew(r)
	if err != nil {
		return rest.Answer{}, err
	}
	created, err := r.Conductor.CreateObject(r.Context(), o)
	if err != nil {
		return rest.Answer{}, x.existsFault(r, o, err)
	}
	a := x.answer(r, http.StatusCreated, created, nil)
	a.Location = x.path + "/" + created.Meta().UUID
	return a, nil
}

// decode returns the record in the body of a POST, and the decoded body. The values are valid one by one.
func (x *resource) decode(r *rest.Request) (conductor.Object, map[string]any, error) {
	body, err := r.Decode(rest.MaxBody)
	if err != nil {
		return nil, nil, err
	}
	object, _ := body.(map[string]any)
	if err := r.OnlyBody(object); err != nil {
		return nil, nil, err
	}
	if x.write.prepare != nil {
		if err := x.write.prepare(r, body); err != nil {
			return nil, nil, err
		}
	}
	if body == nil { // Ironic has no schema error for null
		if err := r.Accept(nil); err != nil {
			return nil, nil, err
		}
	}
	if err := x.bodySchema(r.Service).Validate(x.word, body); err != nil {
		return nil, nil, err
	}
	o := conductor.Clone(x.of)
	if err := x.setFields(r, o, object); err != nil {
		return nil, nil, err
	}
	return o, object, r.Accept(nil)
}

// decodeNew returns the record in the body of a POST.
func (x *resource) decodeNew(r *rest.Request) (conductor.Object, error) {
	o, object, err := x.decode(r)
	if err != nil {
		return nil, err
	}
	if err := x.checkNode(r, nil, o); err != nil {
		return nil, err
	}
	if err := x.checkVersion(r, object, nil); err != nil {
		return nil, err
	}
	return o, x.checkRecord(r, nil, o)
}

// checkRecord checks a complete record by the rules check, allowNew and allow of its resource. before is the record before
// the patch, nil for a new record.
func (x *resource) checkRecord(r *rest.Request, before, o conductor.Object) error {
	if x.write.check != nil {
		if err := x.write.check(r, before, o); err != nil {
			return err
		}
	}
	node, isNew := o.Meta().NodeUUID, before == nil
	if node == "" || isNew && x.write.allowNew == nil || !isNew && x.write.allow == nil {
		return nil
	}
	if err := r.Conductor.TouchNode(r.Context(), node); err != nil {
		return err
	}
	if isNew {
		return x.write.allowNew(r, o)
	}
	return x.write.allow(r, before, o)
}

// checkNode refuses a record of an unknown node, and one that a patch moves to a node of another
// owner (CVE-2026-44918). The fault does not disclose whether that node exists; Ironic has it for
// unknown nodes too since 2026.2.
//
// Source: authorize_node_link in ironic/api/controllers/v1/utils.py.
func (x *resource) checkNode(r *rest.Request, before, o conductor.Object) error {
	node := o.Meta().NodeUUID
	if f := x.field("node_uuid"); f == nil || f.is(readOnly) || before != nil && before.Meta().NodeUUID == node {
		return nil
	}
	n, err := r.NodeNamed(node)
	foreign := err != nil && r.Series >= states.Hibiscus
	if before != nil && err == nil {
		old, err := r.NodeNamed(before.Meta().NodeUUID)
		if err != nil {
			return fault.As400(err)
		}
		foreign = old.Owner != n.Owner
	}
	if before != nil && foreign {
		return fault.Invalid("Unable to apply the requested node_uuid '%s'. Requested value was invalid.", fault.Show(node))
	}
	if err != nil && before == nil && x.write.quoteNode && fault.Of(err).Status == http.StatusNotFound {
		return fault.Invalid("Invalid input for field/attribute node_uuid. Value: '%s'. ", node)
	}
	return fault.As400(err)
}

// patch answers a PATCH.
func (x *resource) patch(r *rest.Request) (rest.Answer, error) {
	if err := r.Accept(r.QueryArgs()); err != nil {
		return rest.Answer{}, err
	}
	ident := r.Param(0)
	if !x.write.anyIdent {
		if _, err := identOf(r, x); err != nil {
			return rest.Answer{}, err
		}
	}
	p, wrong := patch.Decode(r)
	switch {
	case wrong != nil && !errors.Is(wrong, patch.ErrNull):
		return rest.Answer{}, wrong
	case r.Version < x.write.patchSince:
		return rest.Answer{}, &fault.Fault{Status: http.StatusMethodNotAllowed, Text: "The API version does not allow updating " + x.path}
	}
	if wrong == nil {
		wrong = x.checkPatch(r, p)
	}
	if wrong != nil && !x.write.loadFirst {
		return rest.Answer{}, wrong
	}
	if x.alwaysNamed() && !rest.IsUUID(ident) && !rest.IsName(ident) {
		return rest.Answer{}, fault.Invalid("Expected a logical name or UUID but received %s.", fault.Show(ident))
	}
	before, err := find(r, x, ident)
	if err = cmp.Or(err, wrong); err != nil {
		return rest.Answer{}, err
	}
	attempt := conductor.Clone(before)
	o, err := r.Conductor.UpdateObject(r.Context(), x.of.Kind(), before.Meta().UUID, func(o conductor.Object) error {
		before := conductor.Clone(o)
		if err := x.apply(r, p, o); err != nil {
			return err
		}
		attempt = o
		return x.checkRecord(r, before, o)
	})
	if errors.Is(err, conductor.NotFound) {
		return rest.Answer{}, x.notFound(ident)
	}
	if err != nil {
		return rest.Answer{}, x.existsFault(r, attempt, err)
	}
	return x.answer(r, http.StatusOK, o, nil), nil
}

// checkPatch refuses a patch of fields that clients may not change.
func (x *resource) checkPatch(r *rest.Request, p patch.Patch) error {
	names := x.write.patched
	if names == nil {
		for i := range x.fields {
			if f := &x.fields[i]; !f.is(readOnly) && !f.is(fixed) && f.since <= r.Highest {
				names = append(names, f.name)
			}
		}
		slices.Sort(names)
	}
	if err := p.Only(names); err != nil {
		return err
	}
	if err := x.checkVersion(r, nil, p); err != nil || x.write.checkValues == nil {
		return err
	}
	return x.write.checkValues(r, p)
}

// checkVersion refuses a POST or a patch that uses a field newer than its API version.
func (x *resource) checkVersion(r *rest.Request, object map[string]any, p patch.Patch) error {
	tooNew := hasNew
	if x.write.tooNew != nil {
		tooNew = x.write.tooNew
	}
	if tooNew(x, r, object, p) {
		return fault.NotAcceptable
	}
	return nil
}

// apply applies a patch to a record.
func (x *resource) apply(r *rest.Request, p patch.Patch, o conductor.Object) error {
	document := map[string]any{}
	for i := range x.fields {
		if f := &x.fields[i]; !f.is(readOnly) && !f.is(hidden) && f.since <= r.Highest {
			document[f.name] = f.value(o)
		}
	}
	patched, err := p.Apply(document)
	if err != nil {
		return err
	}
	if x.write.checkPatched != nil {
		if err := x.write.checkPatched(r, patched); err != nil {
			return err
		}
	}
	if err := x.checkLinks(r, p, o, patched); err != nil {
		return err
	}
	if err := x.bodySchema(r.Service).Validate("patch", patched); err != nil {
		return err
	}
	for i := range x.fields {
		f := &x.fields[i]
		if _, there := patched[f.name]; f.is(nullable) && !there {
			patched[f.name] = nil // in place of its default
		}
	}
	return x.setFields(r, o, patched)
}

// checkLinks refuses a patched document that names a port group or a node that the record cannot
// belong to.
func (x *resource) checkLinks(r *rest.Request, p patch.Patch, before conductor.Object, patched map[string]any) error {
	if group := patched["portgroup_uuid"]; p.StartsWith("portgroup_uuid") && schema.Truthy(group) {
		if !rest.IsUUID(fault.Show(group)) {
			return fault.As400(portGroupResource.notFound(fault.Show(group)))
		}
		if _, err := find(r, portGroupResource, fault.Show(group)); err != nil {
			return fault.As400(err)
		}
	}
	node, has := patched["node_uuid"]
	if f := x.field("node_uuid"); f == nil || f.is(readOnly) || !has || node == before.Meta().NodeUUID {
		return nil
	}
	ident := fault.Show(node)
	if _, err := strconv.Atoi(ident); err != nil && !rest.IsUUID(ident) {
		return fault.Invalid("Expected a UUID or int but received %s.", ident)
	}
	moved := conductor.Clone(before)
	moved.Meta().NodeUUID = ident
	return x.checkNode(r, before, moved)
}

// forbidCreate answers a POST below another record. Ironic does not permit it, but checks the body before it says so.
func (x *resource) forbidCreate(r *rest.Request) (rest.Answer, error) {
	o, _, err := x.decode(r)
	if err == nil && !x.write.forbidFirst {
		err = x.checkNode(r, nil, o)
	}
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Answer{}, fault.NotPermitted
}

// forbid answers a request for one record in the path of another record. Ironic does not permit it, but checks its
// arguments before it says so.
func (x *resource) forbid(r *rest.Request) (rest.Answer, error) {
	var names []string
	if r.Method == http.MethodGet {
		names = []string{"fields"}
	}
	a := r.QueryArgs(names...)
	if a.Err == nil && r.Method == http.MethodGet && x.alwaysNamed() && len(r.Params) > 1 && rest.IsName(r.Param(1)) {
		if _, err := find(r, x, r.Param(1)); err != nil { // Ironic looks for a record with this name before it refuses the request
			return rest.Answer{}, err
		}
	}
	switch {
	case a.Err != nil:
		return rest.Answer{}, a.Err
	case len(r.Params) > 1 && (rest.IsUUID(r.Param(1)) || x.alwaysNamed() && rest.IsName(r.Param(1))):
		return rest.Answer{}, fault.NotPermitted
	case len(r.Params) == 1:
		return rest.Answer{}, fault.Invalid("Missing mandatory parameter: %s", x.identName())
	case x.alwaysNamed():
		return rest.Answer{}, fault.Invalid("Expected UUID or name for %s: %s", x.identName(), fault.Show(r.Param(1)))
	default:
		return rest.Answer{}, fault.Invalid("Expected UUID for %s: %s", x.identName(), fault.Show(r.Param(1)))
	}
}

// identName is the name of the argument that identifies a record.
func (x *resource) identName() string {
	if x.alwaysNamed() {
		return x.word + "_ident"
	}
	return x.word + "_uuid"
}

// remove answers a DELETE.
func (x *resource) remove(r *rest.Request) (rest.Answer, error) {
	if err := r.Accept(r.QueryArgs()); err != nil {
		return rest.Answer{}, err
	}
	ident, err := identOf(r, x)
	if err != nil {
		return rest.Answer{}, err
	}
	o, err := find(r, x, ident)
	if err != nil {
		return rest.Answer{}, err
	}
	if node := o.Meta().NodeUUID; node != "" {
		if err := r.Conductor.TouchNode(r.Context(), node); err != nil && !errors.Is(err, conductor.NotFound) {
			return rest.Answer{}, err
		}
	}
	if x.write.deletable != nil {
		if err := x.write.deletable(r, o); err != nil {
			return rest.Answer{}, err
		}
	}
	err = r.Conductor.DeleteObject(r.Context(), x.of.Kind(), o.Meta().UUID)
	if errors.Is(err, conductor.NotFound) {
		return rest.Answer{}, x.notFound(ident)
	}
	return rest.NoContent, err
}
