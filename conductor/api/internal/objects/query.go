// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"slices"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/states"
)

// hasSchemas reports whether the series has JSON schemas for the queries and bodies of the resource. It then checks the
// query and the body before it looks for a record.
//
// Source: ironic/api/schemas/v1.
func (x *resource) hasSchemas(s *rest.Service) bool {
	return x.schemas.since != states.NoSeries && s.Series >= x.schemas.since
}

// checksQueryLast reports whether a POST checks the names in the query after the body. Ironic itself then fails by a
// Python exception for a name that is left.
func (x *resource) checksQueryLast(s *rest.Service) bool {
	return x.schemas.queryLast != states.NoSeries && s.Series >= x.schemas.queryLast
}

// directions are the orders of a list.
var directions = []string{"asc", "desc"}

// queryInSchema refuses an unknown order of a list, and fields that the resource does not have, if the series has a
// schema for them. order is nil if the query has none.
func (x *resource) queryInSchema(r *rest.Request, order *string, fields rest.FieldSet) error {
	if !x.hasSchemas(r.Service) {
		return nil
	}
	known := []string{"created_at", "links", "updated_at", "uuid"}
	for _, f := range x.fields {
		if f.name != "uuid" && !f.is(hidden) && f.since <= r.Highest && (!x.schemas.queryByVersion || f.since <= r.Version) {
			known = append(known, f.name)
		}
	}
	known = append(known, x.schemas.queryFields...)
	for _, link := range x.links {
		known = append(known, link.name)
	}
	slices.Sort(known)
	if x.schemas.anyFields {
		fields = nil
	}
	if err := fault.OneOf(known, fields...); err != nil || order == nil {
		return err
	}
	return fault.OneOf(directions, *order)
}

// listQueryInSchema is queryInSchema for a list.
func listQueryInSchema(q *listRequest) error {
	for _, name := range q.schemas.unknownArgs {
		if q.args.Has(name) && q.hasSchemas(q.r.Service) {
			return fault.Invalid("Schema error: Additional properties are not allowed (%s was unexpected)", fault.Repr(name))
		}
	}
	var order *string
	if q.args.Has("sort_dir") {
		order = &q.page.Direction
	}
	return q.queryInSchema(q.r, order, q.shown)
}

// patchInSchema refuses the patch of null, if the series has a schema for patches of the resource.
func patchInSchema(q *request) error {
	if q.isNull && q.hasSchemas(q.r.Service) {
		return fault.Invalid("Schema error: None is not of type 'array'")
	}
	return nil
}
