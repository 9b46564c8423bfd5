// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

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

// hasNew reports whether a POST or a patch has a field that the version does not have.
func hasNew(x *resource, r *rest.Request, object map[string]any, p patch.Patch) bool {
	return slices.ContainsFunc(x.fields, func(f field) bool {
		_, there := object[f.name]
		return f.since > r.Version && f.since <= r.Highest && (there || p.Replaces(f.name))
	})
}

// setFields sets the record's fields to the values of an object that satisfies the schema, and the
// missing ones to their defaults.
func (x *resource) setFields(r *rest.Request, o conductor.Object, object map[string]any) (err error) {
	for _, first := range []bool{true, false} {
		for i := range x.fields {
			f := &x.fields[i]
			if f.is(readOnly) || first != f.is(checkedFirst) {
				continue
			}
			v, has := object[f.name]
			if v != nil && f.convert != nil {
				if v, err = f.convert(r, v); err != nil {
					return err
				}
			}
			switch {
			case has && v == nil && f.is(nullable):
				f.store(o, nil)
			case has || f.storedAs == "":
				if v == nil {
					v = f.zero
				}
				f.store(o, v)
			}
		}
	}
	return nil
}

// checkNode refuses a record of an unknown node, and one that a patch moves to a node of another
// owner (CVE-2026-44918). Since 2026.2 an unknown node gets the same fault, so that it does not disclose whether the node
// exists.
//
// Source: authorize_node_link in ironic/api/controllers/v1/utils.py.
func (x *resource) checkNode(r *rest.Request, before, o conductor.Object) error {
	node, f := o.Meta().NodeUUID, x.field("node_uuid")
	if f == nil || f.is(readOnly) || before != nil && before.Meta().NodeUUID == node {
		return nil
	}
	n, err := r.FindNode(node)
	foreign := err != nil && fault.Of(err).Status < http.StatusInternalServerError && r.Series >= states.Hibiscus
	if before != nil && err == nil {
		old, err := r.FindNode(before.Meta().NodeUUID)
		if err != nil {
			return fault.As400(err)
		}
		foreign = old.Owner != n.Owner
	}
	if before != nil && foreign {
		return fault.Invalid("Unable to apply the requested node_uuid '%s'. Requested value was invalid.", fault.Show(node))
	}
	if err != nil && before == nil && f.is(namedInFault) && fault.Of(err).Status == http.StatusNotFound {
		return fault.Invalid("Invalid input for field/attribute node_uuid. Value: '%s'. ", node)
	}
	return fault.As400(err)
}

// checkRecord checks a complete record by the rules check, allowNew and allow of its resource, and the name of a new one.
// before is the record before the patch, nil for a new record.
func (x *resource) checkRecord(r *rest.Request, before, o conductor.Object) error {
	if x.write.check != nil {
		if err := x.write.check(r, before, o); err != nil {
			return err
		}
	}
	node, isNew := o.Meta().NodeUUID, before == nil
	if name := o.Meta().Name; isNew && x.write.refuseName != nil && name != "" && !r.ValidName(name) {
		return fault.Invalid("Cannot create %s with invalid name '%s'", x.word, fault.Show(name))
	}
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

// remove answers a DELETE.
func (x *resource) remove(r *rest.Request) (rest.Answer, error) {
	if err := r.CheckArgs(r.QueryArgs()); err != nil {
		return rest.Answer{}, err
	}
	ident, err := x.ident(r)
	if err != nil {
		return rest.Answer{}, err
	}
	o, err := x.find(r, ident)
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

// unreserved returns the fields of a node as if no other request held its lock: [conductor.Conductor.TouchNode] has waited
// until none did.
func unreserved(n *conductor.Node) admission.NodeFields {
	fields := n.Fields()
	fields.Reserved = false
	return fields
}
