// SPDX-License-Identifier: Apache-2.0

// Package objects serves nodes and the resources that are a [conductor.Object]: ports, port groups, chassis, volume
// connectors and targets, deploy templates, runbooks, allocations and inspection rules. A [resource] describes each of
// them, in the file of its name with its own rules: nodes.go with nodefields.go, nodefilters.go and nodechecks.go,
// ports.go, portgroups.go, chassis.go, volumes.go, templates.go and runbooks.go with steps.go, allocations.go,
// inspectionrules.go. The same handlers answer the requests for all of them:
//
//	routes.go     the actions of a resource, at its own path and below a node or a port group
//	list.go       GET of a list, with filters.go and selection.go
//	order.go      the order of the checks of a request, and the checks that several methods share
//	show.go       GET of a record, and the JSON form of records
//	create.go     POST
//	patch.go      PATCH
//	delete.go     DELETE
//	query.go      the schemas of queries, and of the patch null, in the series that have them
//	field.go      how a field is decoded, stored and shown, with number.go for whole numbers
//	record.go     reads and changes the records, which are nodes or objects
//
// A handler runs the checks that order.go lists for the method, or those in the orders of the resource; the first fault
// ends the request. The checks store the values that they read in a [request] or a [listRequest]. At last the handler
// changes the store, and shows the result.
//
// The tests of this package are about its pure functions and the order of the checks (testdata/orders.txt). The
// tests of package api test the rest over HTTP:
//
//   - object*_test.go are about all resources; node_test.go, nodelist_test.go, noderequests_test.go and
//     nodesteps_test.go about nodes; runbook_test.go, inspectionrules_test.go and physicalnetwork_test.go about the
//     resources of their names; patch_test.go is about patches.
//   - resource_test.go, checkorder_test.go and faultorder_test.go send requests with several faults.
//   - schemas_test.go and later_test.go test what differs by series.
//   - exchanges_test.go and later_exchanges_test.go compare with answers of Ironic.
package objects

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// resource describes one kind of record in the API. Its variable is made by [complete]. Ironic has separate code for
// each resource: orders tells in which order a request is checked, by the rules of all resources and by its own.
// A field or flag that a resource does not set has no effect, unless its comment names a default.
//
// Source: the files of the same names in ironic/api/controllers/v1.
type resource struct {
	of     record            // an empty record of its type
	store  records           // nil stands for the objects of the type
	path   string            // below /v1; its last segment is the key of a list's items
	word   string            // in the names of arguments and the faults of schemas: "port"
	noun   string            // in the faults that name a record: "Port"
	since  states.APIVersion // the first version with the resource
	flags  resourceFlag
	fields []field
	linked string // the path of the links to its records and pages; empty for path
	links  []link // to the child resources of a record
	list   listRules
	orders orders

	schemas  schemaRules
	patching patchRules
	// bodyOrder is the order in which a POST and a patch check the values of the fields, as Ironic's validators do; its
	// others are in the order of the fields.
	bodyOrder fieldOrder
	// schemaOrder is the order of the properties in the schema of a body; its others are in the order of their names.
	schemaOrder fieldOrder
	// duplicate returns the fault text for a record with a unique key of another record.
	duplicate func(o record) string

	settable []*field // the fields that clients can set, in the order in which they are checked; set by complete
}

// resourceFlag is a set of rules in which Ironic's code for a resource differs from the usual code.
type resourceFlag uint16

const (
	patchedInPart       resourceFlag = 1 << iota // a patch is checked without required fields; for nulls see [field]
	uuidFirst                                    // the fault of a new record of which the UUID and another key exist names the UUID
	ownDuplicates                                // the conductor's text for a key that exists is used unchanged
	firstUnknown                                 // a fault names the first unknown field of a query alone; links and times are unknown
	deletedByUUID                                // a DELETE takes no name
	refusedBeforeLookup                          // requests below a node are refused before the record is found
)

// is reports whether the resource has a flag.
func (x *resource) is(flag resourceFlag) bool { return x.flags&flag != 0 }

// schemaRules are the rules for the schemas of a resource's bodies and, in series that have them, of its queries.
type schemaRules struct {
	// since is the first of these series.
	since states.Series
	// anyFields leaves the fields out of the schema of a query, as Ironic does for inspection rules.
	anyFields bool
	// queryFields are further fields that only the schema of a query has.
	queryFields []string
	// queryTypes makes the schema of a list's query check the types of its parameters, but for numbers, booleans and
	// lists, which the handler converts. Otherwise the handler checks all types before it.
	queryTypes bool
	// queryLast is the first series in which a POST checks the names in the query after the body.
	queryLast states.Series
	// oneFault says whether the schema of a body tells the first fault alone.
	oneFault func(x *resource, r *rest.Request) bool
	// completes changes the schema of the bodies of a POST or a PATCH.
	completes func(r *rest.Request, s *schema.Schema)
	// bodyByVersion makes the fields that are newer than the version of the request unknown in new records and among the
	// fields that a query names; queryByVersion leaves them out of the schema of queries.
	bodyByVersion, queryByVersion bool
}

// patchRules are the rules for a PATCH.
type patchRules struct {
	// fields are the fields that a patch may change, in the order in which a fault lists them; nil stands for all fields
	// that are neither readOnly nor fixed, sorted by name, and so does any list since allSince, if that is a series.
	fields   []string
	allSince states.Series
	// also returns further names that a patch may have.
	also func(r *rest.Request) []string
	// args are the query parameters.
	args []string
	// decode decodes patches in series with schemas; nil stands for [patch.Decode].
	decode func(r *rest.Request) (patch.Patch, error)
	// after changes other records by a patch whose record is stored.
	after func(q *request) error
}

// link describes the links from a record to a child resource.
type link struct {
	name   string            // the path of the child resource below the record
	since  states.APIVersion // the first version with the links
	nested bool              // the links are shown as a list within a list
}

// listRules are the rules for lists of a resource.
type listRules struct {
	// defaults are the fields in a list without detail.
	defaults []string
	// detailSince is the first version in which a list has the parameter detail.
	detailSince states.APIVersion
	// filters are the query parameters in addition to the paging parameters.
	filters []filter
	// first are the filters that Ironic's handler declares before the parameters of the page; nil stands for all. They are
	// checked before these parameters, and further segments of the path /detail set them before these.
	first []string
	// types are all parameters in the order in which their types are checked; nil stands for first, the parameters of the
	// page, fields, the other filters and detail.
	types []string
	// marker is the type of the marker of a page; the zero value stands for a UUID.
	marker kind

	kinds     map[string]kind // the types of the parameters by their names; set by complete
	unchecked map[string]bool // the names of the filters that are unchecked; set by complete
}

// field returns the resource's field with a name, or nil.
func (x *resource) field(name string) *field {
	for i := range x.fields {
		if x.fields[i].name == name {
			return &x.fields[i]
		}
	}
	return nil
}

// requiredFirst is the order in which a fault names the first required field that a body lacks.
var requiredFirst = fieldOrder{"steps", others}

// bodySchema returns the schema of the bodies that create a record.
func (x *resource) bodySchema(r *rest.Request) *schema.Schema {
	s := &schema.Schema{
		Types: []string{"object"}, Closed: true, Recent: r.Series >= states.Gazpacho,
		First: x.schemas.oneFault != nil && x.schemas.oneFault(x, r),
	}
	known := r.Highest
	if x.schemas.bodyByVersion && r.Method != http.MethodPatch {
		known = r.Version
	}
	for i := range x.fields {
		f := &x.fields[i]
		if f.is(readOnly) || f.is(patchOnly) && r.Method != http.MethodPatch || f.since > known ||
			x.hasSchemas(r.Service) && f.schemaSince > r.Version {
			continue
		}
		of := &schema.Schema{Types: f.types, MaxLength: f.max, Secret: f.mask != nil}
		if f.schema != nil {
			of = f.schema(r)
		}
		s.Properties = append(s.Properties, schema.Property{Name: f.name, Schema: of})
		if f.is(required) && !(x.is(patchedInPart) && r.Method == http.MethodPatch) {
			s.Required = append(s.Required, f.name)
		}
	}
	slices.SortFunc(s.Properties, func(a, b schema.Property) int {
		return cmp.Or(x.schemaOrder.compare(a.Name, b.Name), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(s.Required, func(a, b string) int { return cmp.Or(requiredFirst.compare(a, b), strings.Compare(a, b)) })
	if x.schemas.completes != nil {
		x.schemas.completes(r, s)
	}
	return s
}

// named reports whether the records of the resource have names in the series. A path can then name a record, in all
// versions.
func (x *resource) named(s *rest.Service) bool {
	f := x.field("name")
	return f != nil && f.since <= s.Highest
}

// identName is the name of the argument that identifies a record.
func (x *resource) identName(s *rest.Service) string {
	if x.named(s) {
		return x.word + "_ident"
	}
	return x.word + "_uuid"
}

// deletedName is identName for a DELETE.
func (x *resource) deletedName(s *rest.Service) string {
	if x.is(deletedByUUID) {
		return x.word + "_uuid"
	}
	return x.identName(s)
}

// checkIdent refuses an identifier that is no UUID and, if the records have names, no name either.
func (x *resource) checkIdent(ident string, named bool) error {
	switch {
	case rest.IsUUID(ident), named && rest.IsName(ident):
		return nil
	case named:
		return fault.Invalid("Expected UUID or name for %s_ident: %s", x.word, fault.Show(ident))
	default:
		return fault.Invalid("Expected UUID for %s_uuid: %s", x.word, fault.Show(ident))
	}
}

// hasDetailPath reports whether the resource has lists with all fields, whose path ends in /detail. Later resources
// have the parameter detail in its place.
func (x *resource) hasDetailPath() bool { return x.since < since.Volumes }

// suffixed reports whether a path may omit the end of a name that ends in ".json". Ironic looks for such a name in its
// resources since allocations.
func (x *resource) suffixed() bool { return x.since >= since.Allocations }

// find returns a record by its UUID or name.
func (x *resource) find(r *rest.Request, ident string) (record, error) {
	o, err := x.store.load(r, ident)
	if errors.Is(err, conductor.NotFound) && r.Suffix && x.suffixed() && slices.Contains(r.Params, ident) {
		ident += ".json"
		o, err = x.store.load(r, ident)
	}
	if errors.Is(err, conductor.NotFound) {
		return nil, x.notFound(ident)
	}
	return o, err
}

// notFound returns the fault of a record that does not exist.
func (x *resource) notFound(ident string) error {
	return fault.NotFound("%s %s could not be found.", x.noun, fault.Show(ident))
}
