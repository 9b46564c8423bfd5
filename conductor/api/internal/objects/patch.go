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
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// patch answers a PATCH.
func (x *resource) patch(r *rest.Request) (rest.Answer, error) {
	return x.orders.patch.Or(usual.patch).Then(x.request, (*request).patched)(r)
}

// patched changes the record, and shows it.
func (q *request) patched() (rest.Answer, error) {
	o, err := q.store.update(q.r, q.store.meta(q.record).UUID, func(before, o record) error {
		q.before, q.record = before, o
		return q.orders.update.Or(usual.update).Fault(q)
	})
	if errors.Is(err, conductor.NotFound) {
		return rest.Answer{}, q.notFound(q.r.Param(0))
	}
	if err != nil {
		return rest.Answer{}, q.existsFault(err)
	}
	if q.patching.after != nil {
		if err := q.patching.after(q); err != nil {
			return rest.Answer{}, err
		}
	}
	return q.answer(q.r, http.StatusOK, o, nil), nil
}

// queryDecodes reads the parameters of a PATCH. It refuses others, and then a version that does not have the action.
func queryDecodes(q *request) error {
	q.args = q.r.QueryArgs(q.patching.args...)
	return q.r.CheckArgs(q.args)
}

// patchDecodes reads the patch. Null is a fault of fieldsPatchable.
func patchDecodes(q *request) (err error) {
	decode := patch.Decode
	if q.patching.decode != nil && q.hasSchemas(q.r.Service) {
		decode = q.patching.decode
	}
	q.patch, err = decode(q.r)
	q.isNull = errors.Is(err, patch.ErrNull)
	if err != nil && !q.isNull {
		return err
	}
	return patchInSchema(q)
}

// fieldsPatchable refuses a patch of fields that clients may not change.
func fieldsPatchable(q *request) error {
	if q.isNull {
		return patch.ErrNull
	}
	names := q.patching.fields
	if q.patching.allSince != states.NoSeries && q.r.Series >= q.patching.allSince {
		names = nil
	}
	if names == nil {
		for i := range q.fields {
			if f := &q.fields[i]; !f.is(readOnly) && !f.is(fixed) && f.since <= q.r.Highest && (!q.schemas.bodyByVersion || f.since <= q.r.Version) {
				names = append(names, f.name)
			}
		}
		if q.patching.also != nil {
			names = append(names, q.patching.also(q.r)...)
		}
		slices.Sort(names)
	}
	return q.patch.Only(names)
}

// newNameValid refuses a patch that sets an invalid name. The text is a format for the identifier in the path and the
// name.
func newNameValid(text string) func(*request) error {
	return func(q *request) error {
		for _, v := range q.patch.Values("name") {
			if name, isText := v.(string); pyrepr.Truthy(v) && !(isText && q.r.ValidName(name)) {
				return fault.Invalid(text, q.r.Param(0), fault.Show(v))
			}
		}
		return nil
	}
}

// patchApplies applies the patch to the fields of the record that clients see and can set.
func patchApplies(q *request) (err error) {
	document := map[string]any{}
	for i := range q.fields {
		if f := &q.fields[i]; !f.is(readOnly) && !f.is(hidden) && f.since <= q.r.Highest {
			document[f.name] = f.value(q.record)
		}
	}
	q.values, err = q.patch.Apply(document, q.shownInFaults)
	return err
}

// shownInFaults returns the form in which a fault may repeat a value of a field, which is the form in responses: nil
// for a field whose form depends on the record.
func (q *request) shownInFaults(name string, v any) any {
	f := q.field(name)
	switch {
	case f == nil || f.shown != nil:
		return nil
	case f.mask != nil:
		return f.mask(v)
	default:
		return v
	}
}

// nodeMayChange refuses a patch that moves the record to an unknown node, or to one of another owner (CVE-2026-44918).
// Since 2026.2 the patch may name the node, and both have the same fault, so that it does not disclose whether the node
// exists.
//
// Source: authorize_node_link in ironic/api/controllers/v1/utils.py.
func nodeMayChange(q *request) error {
	value, has := q.values["node_uuid"]
	before := q.store.meta(q.before).NodeUUID
	if !has && q.r.Series >= states.Epoxy { // the removal has no effect
		q.values["node_uuid"] = before
	}
	if !has || value == before {
		return nil
	}
	ident, byName := fault.Show(value), q.r.Series >= states.Hibiscus
	if _, err := strconv.Atoi(ident); err != nil && !byName && !rest.IsUUID(ident) {
		return fault.Invalid("Expected a UUID or int but received %s.", ident)
	}
	n, err := q.r.FindNode(ident)
	refused := err != nil && fault.Of(err).Status < http.StatusInternalServerError && byName
	if err == nil {
		q.values["node_uuid"] = n.UUID
		old, err := q.r.FindNode(before)
		if err != nil {
			return fault.As400(err)
		}
		refused = stored(old, "owner") != stored(n, "owner")
	}
	if refused {
		return fault.Invalid("Unable to apply the requested node_uuid '%s'. Requested value was invalid.", fault.Show(ident))
	}
	return fault.As400(err)
}

// documentValid refuses patched fields that do not satisfy the schema of the resource.
func documentValid(q *request) error {
	return q.bodySchema(q.r).Validate("patch", q.values)
}
