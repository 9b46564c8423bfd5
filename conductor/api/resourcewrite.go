package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
)

// show answers a GET of one record.
func (x *resource) show(_ *handler, r *request) (answer, error) {
	a := r.queryArgs("fields")
	fields := fieldSet(a.list("fields"))
	if a.err != nil {
		return answer{}, a.err
	}
	o, err := r.object(x, r.param(0))
	if err != nil {
		return answer{}, err
	}
	if err := x.checkFields(r, fields); err != nil {
		return answer{}, err
	}
	return x.answer(r, http.StatusOK, o, fields), nil
}

// create answers a POST.
func (x *resource) create(h *handler, r *request) (answer, error) {
	o, err := x.decode(r)
	if err != nil {
		return answer{}, err
	}
	created, err := h.conductor.CreateObject(r.Context(), o)
	if err != nil {
		return answer{}, x.sayExists(o, err)
	}
	a := x.answer(r, http.StatusCreated, created, nil)
	a.location = x.path + "/" + created.UUID
	return a, nil
}

// decode returns the record in the body of a POST.
func (x *resource) decode(r *request) (*conductor.Object, error) {
	body, err := r.decode(maxBody)
	if err != nil {
		return nil, err
	}
	if x.prepare != nil {
		if err := x.prepare(r, body); err != nil {
			return nil, err
		}
	}
	var required []string
	for i := range x.fields {
		if x.fields[i].required {
			required = append(required, x.fields[i].name)
		}
	}
	object, err := checkObject(x.schema, body, func(name string) bool {
		f := x.field(name)
		return f != nil && !f.readOnly && f.since <= r.h.highest
	}, required...)
	if err != nil {
		return nil, err
	}
	o := &conductor.Object{Kind: x.kind, Fields: map[string]any{}}
	for i := range x.fields {
		f := &x.fields[i]
		v, there := object[f.name]
		if f.since > r.version && v != nil {
			return nil, errNotAcceptable
		}
		if !there {
			f.put(o, nil)
			continue
		}
		if err := f.take(r, x.schema, o, v); err != nil {
			return nil, err
		}
	}
	return o, x.settle(r, nil, o)
}

// settle checks a complete record and sets its keys.
func (x *resource) settle(r *request, before, o *conductor.Object) error {
	if err := x.checkNode(r, before, o); err != nil {
		return err
	}
	if x.check != nil {
		if err := x.check(r, before, o); err != nil {
			return err
		}
	}
	if x.keys != nil {
		o.Keys = x.keys(o)
	}
	return nil
}

// checkNode refuses a record of an unknown node, and waits until the node is not reserved, as
// Ironic does when it locks the node.
func (x *resource) checkNode(r *request, before, o *conductor.Object) error {
	if f := x.field("node_uuid"); f == nil || f.readOnly {
		return nil
	}
	if before == nil || before.NodeUUID != o.NodeUUID {
		_, err := r.nodeNamed(o.NodeUUID)
		switch {
		case err != nil && before == nil && x.noNode != "" && asFault(err).status == http.StatusNotFound:
			return invalid(x.noNode, o.NodeUUID)
		case err != nil:
			return as400(err)
		}
	}
	return r.h.conductor.Unlocked(r.Context(), o.NodeUUID)
}

// patch answers a PATCH.
func (x *resource) patch(h *handler, r *request) (answer, error) {
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	p, err := r.decodePatch()
	if err != nil {
		return answer{}, err
	}
	if err := x.checkPatch(r, p); err != nil {
		return answer{}, err
	}
	before, err := r.object(x, r.param(0))
	if err != nil {
		return answer{}, err
	}
	attempt := before.Clone()
	o, err := h.conductor.UpdateObject(r.Context(), x.kind, before.UUID, func(o *conductor.Object) error {
		before := o.Clone()
		if err := x.apply(r, p, o); err != nil {
			return err
		}
		attempt = o
		return x.settle(r, before, o)
	})
	if errors.Is(err, conductor.NotFound) {
		return answer{}, x.notFound(r.param(0))
	}
	if err != nil {
		return answer{}, x.sayExists(attempt, err)
	}
	return x.answer(r, http.StatusOK, o, nil), nil
}

// checkPatch refuses a patch of fields that clients may not change.
func (x *resource) checkPatch(r *request, p patch) error {
	var names []string
	for i := range x.fields {
		if f := &x.fields[i]; !f.readOnly && !f.fixed && f.since <= r.h.highest {
			names = append(names, f.name)
		}
	}
	slices.Sort(names)
	if err := p.only(names); err != nil {
		return err
	}
	for _, op := range p {
		if x.field(op.field).since > r.version {
			return errNotAcceptable
		}
	}
	return nil
}

// apply applies a patch to a record.
func (x *resource) apply(r *request, p patch, o *conductor.Object) error {
	document := map[string]any{}
	for _, name := range p.fields() {
		document[name] = x.field(name).value(o)
	}
	patched, err := p.apply(document)
	if err != nil {
		return err
	}
	for _, name := range p.fields() {
		f := x.field(name)
		v, there := patched[name]
		if !there {
			if name == "mode" {
				return invalid("'mode' is a mandatory attribute and can not be removed")
			}
			if f.required {
				return schemaError("patch", "'%s' is a required property", name)
			}
			f.put(o, nil)
			continue
		}
		if err := f.take(r, "patch", o, v); err != nil {
			return err
		}
	}
	return nil
}

// remove answers a DELETE.
func (x *resource) remove(h *handler, r *request) (answer, error) {
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	o, err := r.object(x, r.param(0))
	if err != nil {
		return answer{}, err
	}
	if o.NodeUUID != "" {
		if err := h.conductor.Unlocked(r.Context(), o.NodeUUID); err != nil && !errors.Is(err, conductor.NotFound) {
			return answer{}, err
		}
	}
	if x.deletable != nil {
		if err := x.deletable(r, o); err != nil {
			return answer{}, err
		}
	}
	err = h.conductor.DeleteObject(r.Context(), x.kind, o.UUID)
	if errors.Is(err, conductor.NotFound) {
		return answer{}, x.notFound(r.param(0))
	}
	return statusNoContent, err
}
