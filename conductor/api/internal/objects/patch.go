// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
)

// patch answers a PATCH.
func (x *resource) patch(r *rest.Request) (rest.Answer, error) {
	if err := r.CheckArgs(r.QueryArgs()); err != nil {
		return rest.Answer{}, err
	}
	q := &request{resource: x, r: r}
	if err := pass(q, x.orders.patch, patchOrder); err != nil {
		return rest.Answer{}, err
	}
	attempt := conductor.Clone(q.record)
	o, err := r.Conductor.UpdateObject(r.Context(), x.of.Kind(), q.record.Meta().UUID, func(o conductor.Object) error {
		before := conductor.Clone(o)
		if err := x.apply(r, q.patch, o); err != nil {
			return err
		}
		attempt = o
		return x.checkRecord(r, before, o)
	})
	if errors.Is(err, conductor.NotFound) {
		return rest.Answer{}, x.notFound(r.Param(0))
	}
	if err != nil {
		return rest.Answer{}, x.existsFault(r, attempt, err)
	}
	return x.answer(r, http.StatusOK, o, nil), nil
}

// patchPermitted refuses a patch of fields that clients may not change, and values that the resource does not permit.
func patchPermitted(q *request) error {
	if q.isNull {
		return patch.ErrNull
	}
	rules, names := q.write, q.write.patched
	if names == nil {
		for i := range q.fields {
			if f := &q.fields[i]; !f.is(readOnly) && !f.is(fixed) && f.since <= q.r.Highest {
				names = append(names, f.name)
			}
		}
		slices.Sort(names)
	}
	if err := q.patch.Only(names); err != nil {
		return err
	}
	if err := q.checkVersion(q.r, nil, q.patch); err != nil {
		return err
	}
	if rules.refuseName != nil {
		for _, v := range q.patch.Values("name") {
			if name, isText := v.(string); schema.Truthy(v) && !(isText && q.r.ValidName(name)) {
				return rules.refuseName(q.r.Param(0), fault.Show(v))
			}
		}
	}
	if rules.checkValues == nil {
		return nil
	}
	return rules.checkValues(q.r, q.patch)
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
		if _, err := portGroupResource.find(r, fault.Show(group)); err != nil {
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
