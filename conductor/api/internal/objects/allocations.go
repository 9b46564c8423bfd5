// SPDX-License-Identifier: Apache-2.0

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
	"github.com/ironstate/ironstate/conductor/api/internal/traits"
	"github.com/ironstate/ironstate/states"
)

// Allocations returns the controller of /v1/allocations.
func Allocations(s *rest.Service) *rest.Controller {
	c := allocationResource.controller(s)
	if s.Series < states.Flamingo {
		c.Admit = rest.RefuseBefore(since.Allocations, "allocations", true)
		return c
	}
	for name, a := range c.Actions {
		a.Subject = "allocations"
		switch {
		case name == "patch":
			a.Since, a.Subject = since.AllocationPatch, "updating allocations"
		case name == rest.All:
			a.VersionFirst = states.Hibiscus
		}
		c.Actions[name] = a
	}
	return c
}

// The conductor chooses the nodes of allocations.
var allocationResource = complete(resource{
	of: &conductor.Allocation{}, path: "allocations", word: "allocation", noun: "Allocation", since: since.Allocations,
	schemas: schemaRules{
		since:          states.Flamingo,
		queryLast:      states.Flamingo,
		queryTypes:     true,
		oneFault:       func(x *resource, r *rest.Request) bool { return x.hasSchemas(r.Service) },
		queryByVersion: true,
	},
	fields: []field{
		{name: "uuid", types: schema.TextOrNull, flags: fixed, convert: toAllocationUUID},
		{name: "candidate_nodes", flags: fixed, zero: []any{}, schema: candidates},
		extraField,
		{name: "last_error", flags: readOnly},
		{name: "name", types: schema.TextOrNull},
		{name: "owner", since: since.AllocationOwner, types: schema.TextOrNull, flags: fixed},
		{name: "resource_class", types: schema.TextOrNull, flags: fixed, max: 80},
		{name: "state", flags: readOnly},
		{name: "traits", flags: fixed, zero: []any{}, schema: listOf(traits.Schema)},
		{name: "node_uuid", flags: readOnly | noColumn},
		// Clients set node in a POST; responses show node_uuid.
		{name: "node", types: schema.TextOrNull, flags: fixed | hidden | noColumn, storedAs: "node_uuid", schemaSince: since.AllocationBackfill},
	},
	list: listRules{
		filters: []filter{ofAllocatedNode, byText("resource_class"), byText("state"), ownedBy},
		first:   []string{"node", "resource_class", "state"},
	},
	orders: orders{
		list: listChecks{
			parametersDecode, parametersInSchema, listFieldsAllowed, filtersInVersion, fieldsChosen, pageValid, sortKeyHasOrder, markerExists,
			filtersApply, recordsOnPage, listFieldsExist,
		},
		get: checks{fieldsDecode, queryInSchema, allocationIdentValid, recordExists, fieldsAllowed, fieldsExist},
		post: checks{
			bodyDecodes, bodyValid, fieldsSet, postInVersion, notNested, fieldsInVersion, nameValid, nodeBackfilled, classGiven, candidatesExist,
		},
		patch: checks{
			queryDecodes, patchDecodes, patchInVersion, logicalIdent, recordExists, fieldsPatchable, fieldsInVersion,
			newNameValid("Cannot update allocation with invalid name '%[2]s'"),
		},
		delete: checks{noArguments, allocationIdentValid, recordExists},
	},
	patching: patchRules{fields: []string{"name", "extra"}, decode: patch.DecodeOfAllocation},
	flags:    uuidFirst,
})

// toAllocationUUID is toUUID, but since 2025.2 an empty text stands for none. Ironic stores any other text since then.
func toAllocationUUID(r *rest.Request, name string, v any) (any, error) {
	if v == "" && r.Series >= states.Flamingo {
		return nil, nil
	}
	return toUUID(r, name, v)
}

// patchInVersion refuses a PATCH with a version that does not have it.
func patchInVersion(q *request) error {
	if q.r.Version < since.AllocationPatch {
		return &fault.Fault{Status: http.StatusMethodNotAllowed, Text: "The API version does not allow updating allocations"}
	}
	return nil
}

// logicalIdent is identValid with another text: Ironic finds an allocation to patch by a function that checks the
// identifier itself.
func logicalIdent(q *request) error {
	return rest.CheckLogicalIdent(q.r.Param(0))
}

// allocationIdentValid is identValid, and since 2025.2 logicalIdent: the schemas permit any text.
func allocationIdentValid(q *request) error {
	if q.hasSchemas(q.r.Service) {
		return logicalIdent(q)
	}
	return identValid(q)
}

// listOf returns the schema of a list of items, or null.
func listOf(items *schema.Schema) func(*rest.Request) *schema.Schema {
	return func(*rest.Request) *schema.Schema {
		return &schema.Schema{Types: []string{"array", "null"}, Items: items}
	}
}

// candidates returns the schema of the candidate nodes.
//
// Source: uuid_or_name in ironic/api/schemas/common/request_types.py.
func candidates(r *rest.Request) *schema.Schema {
	if r.Series >= states.Flamingo {
		return listOf(uuidOrName)(r)
	}
	return listOf(schema.Text)(r)
}

// ofAllocatedNode filters allocations by node.
var ofAllocatedNode = filter{name: "node", kind: identKind, apply: func(r *rest.Request, a *rest.Args, s *selection) error {
	n, err := r.FindNode(a.Ident("node"))
	if err != nil {
		return fault.As400(err)
	}
	s.ofNode(n.UUID)
	return nil
}}

// ownedBy filters allocations by owner.
var ownedBy = filter{
	name: "owner", since: since.AllocationOwner, old: fault.NotAcceptable, kind: textKind, apply: byText("owner").apply,
}

// nodeBackfilled completes an allocation for a node that already has an instance.
func nodeBackfilled(q *request) error {
	al := q.record.(*conductor.Allocation)
	ident := al.NodeUUID
	switch {
	case ident == "":
		al.SetEmpty("node_uuid", false)
		return nil
	case q.r.Version < since.AllocationBackfill:
		return fault.Invalid("Cannot set node when creating an allocation in this API version")
	}
	if err := rest.CheckLogicalIdent(ident); err != nil {
		return err
	}
	n, err := q.r.FindNode(ident)
	if err != nil {
		return fault.As400(err)
	}
	al.NodeUUID = n.UUID
	al.ResourceClass = cmp.Or(al.ResourceClass, n.ResourceClass)
	al.UUID = cmp.Or(al.UUID, n.InstanceUUID)
	return nil
}

// classGiven refuses an allocation without a resource class for any node.
func classGiven(q *request) error {
	if al := q.record.(*conductor.Allocation); al.ResourceClass == "" && al.NodeUUID == "" {
		return fault.Invalid("The resource_class field is mandatory when not backfilling")
	}
	return nil
}

// candidatesExist replaces the names of the candidate nodes with their UUIDs.
//
// Source: check_node_list in ironic/db/sqlalchemy/api.py.
func candidatesExist(q *request) error {
	al := q.record.(*conductor.Allocation)
	uuids, missing := make([]string, len(al.CandidateNodes)), []string{}
	for i, ident := range al.CandidateNodes {
		n, err := q.r.Conductor.Node(q.r.Context(), ident)
		switch {
		case errors.Is(err, conductor.NotFound):
			missing = append(missing, ident)
		case err != nil:
			return err
		default:
			uuids[i] = n.UUID
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fault.Invalid("Nodes cannot be found: %s", fault.Show(strings.Join(slices.Compact(missing), ", ")))
	}
	al.CandidateNodes = uuids
	return nil
}

// allocationFound finds the allocation of a node.
func (q *request) allocationFound(n *conductor.Node) error {
	allocations, err := q.r.Conductor.ObjectsOf(q.r.Context(), conductor.KindAllocation, n.UUID)
	switch {
	case err != nil:
		return err
	case len(allocations) == 0:
		return fault.NotFound("Allocation for node %s was not found", q.r.Param(0))
	}
	q.record = allocations[indexOfNodes(n, allocations)]
	return nil
}

// indexOfNodes returns the index of the allocation that has a node, and 0 if none has it yet. One that has lost the
// node stays until the conductor's next check if its deletion failed.
func indexOfNodes(n *conductor.Node, allocations []conductor.Object) int {
	return max(0, slices.IndexFunc(allocations, func(o conductor.Object) bool { return o.Meta().UUID == n.AllocationUUID }))
}

// showNodeAllocation answers GET /v1/nodes/NODE/allocation.
var showNodeAllocation = checks{fieldsDecode, shownAllocationExists, fieldsExist}.Then(allocationResource.request, (*request).answered)

// shownAllocationExists finds the allocation of the node in the path.
func shownAllocationExists(q *request) error {
	n, err := q.r.FindNode(q.r.Param(0))
	if err != nil {
		return fault.As400(err)
	}
	return q.allocationFound(n)
}

// deleteNodeAllocation answers DELETE /v1/nodes/NODE/allocation.
var deleteNodeAllocation = checks{deletedAllocationExists}.Then(allocationResource.request, (*request).removed)

// deletedAllocationExists is shownAllocationExists for a DELETE.
func deletedAllocationExists(q *request) error {
	n, err := q.r.FindNodeOrJSON(q.r.Param(0))
	if err != nil {
		return err
	}
	return q.allocationFound(n)
}
