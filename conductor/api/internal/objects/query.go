// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"maps"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
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

// kind is the type of a query parameter.
type kind struct {
	// decode refuses a value that is not of the type.
	decode func(a *rest.Args, name string)
	// schema does the same in series with schemas: converted for a value that decode has converted before, and nil if the
	// schemas do not know the parameter.
	schema *schema.Schema
}

var converted = &schema.Schema{}

// The types of query parameters.
var (
	textKind      = kind{func(a *rest.Args, name string) { a.Text(name) }, schema.Text}
	nameKind      = kind{func(a *rest.Args, name string) { a.Name(name) }, schema.Text}
	uuidKind      = kind{func(a *rest.Args, name string) { a.UUID(name) }, formatted("uuid", rest.IsUUID)}
	identKind     = kind{func(a *rest.Args, name string) { a.Ident(name) }, uuidOrName}
	macKind       = kind{func(a *rest.Args, name string) { a.MAC(name) }, formatted("mac-address", rest.IsMAC)}
	directionKind = kind{textKind.decode, &schema.Schema{Types: schema.TextType, Enum: []string{"asc", "desc"}}}
	listKind      = kind{func(a *rest.Args, name string) { a.List(name) }, converted}
	booleanKind   = kind{func(a *rest.Args, name string) { a.Boolean(name) }, converted}
	integerKind   = kind{func(a *rest.Args, name string) { a.Integer(name) }, converted}
	unknownKind   = kind{decode: func(*rest.Args, string) {}}
)

// formatted is the schema of a text in a format.
func formatted(name string, is func(string) bool) *schema.Schema {
	return &schema.Schema{Types: schema.TextType, Format: &schema.Format{Name: name, Is: is}}
}

// uuidOrName accepts a UUID or a name. The fault of a text that is neither says that it is not a UUID.
var uuidOrName = &schema.Schema{AnyOf: []*schema.Schema{uuidKind.schema, formatted("name", rest.IsName)}}

// checkQuery refuses a query that does not satisfy the schema of a series that has one. Of several faults it tells the
// one of the parameter that is first by its name. The schema does not see the arguments in the path.
func (x *resource) checkQuery(r *rest.Request, a *rest.Args) error {
	if !x.hasSchemas(r.Service) {
		return nil
	}
	query := maps.Clone(a.Values)
	if fields := a.List("fields"); fields != nil {
		items := make([]any, len(fields))
		for i, name := range fields {
			items[i] = name
		}
		query["fields"] = items
	}
	maps.DeleteFunc(query, func(name string, _ any) bool { return r.InPath(name) })
	valid := &schema.Schema{Closed: true, First: true, Properties: []schema.Property{{Name: "fields", Schema: x.fieldsSchema(r)}}}
	for name, k := range x.list.kinds {
		if name != "fields" && k.schema != nil {
			valid.Properties = append(valid.Properties, schema.Property{Name: name, Schema: k.schema})
		}
	}
	slices.SortFunc(valid.Properties, func(a, b schema.Property) int { return strings.Compare(a.Name, b.Name) })
	return valid.Validate("", query)
}

// fieldsSchema returns the schema of the fields that a query chooses. The fields of a version follow the others.
func (x *resource) fieldsSchema(r *rest.Request) *schema.Schema {
	if x.schemas.anyFields {
		return converted
	}
	known, later := append([]string{"created_at", "links", "updated_at", "uuid"}, x.schemas.queryFields...), []string(nil)
	for _, f := range x.fields {
		switch {
		case f.name == "uuid" || f.is(hidden) || f.since > r.Highest:
		case !x.schemas.queryByVersion || f.since == 0:
			known = append(known, f.name)
		case f.since <= r.Version:
			later = append(later, f.name)
		}
	}
	for _, link := range x.links {
		known = append(known, link.name)
	}
	slices.Sort(known)
	return &schema.Schema{Items: &schema.Schema{Enum: append(known, later...)}}
}

// uuidInSchema refuses an identifier in the path that is no UUID, if the series has a schema for it.
func uuidInSchema(q *request) error {
	if ident := q.r.Param(0); q.hasSchemas(q.r.Service) && !rest.IsUUID(ident) {
		return fault.Invalid("Schema error: %s is not a 'uuid'", fault.Repr(ident))
	}
	return nil
}

// patchInSchema refuses the patch of null, if the series has a schema for patches of the resource.
func patchInSchema(q *request) error {
	if q.isNull && q.hasSchemas(q.r.Service) {
		return fault.Invalid("Schema error: None is not of type 'array'")
	}
	return nil
}
