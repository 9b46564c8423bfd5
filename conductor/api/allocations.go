package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// allocationResource is the resource of the allocations. The conductor chooses their nodes.
//
// Source: ironic/api/controllers/v1/allocation.py.
var allocationResource = &resource{
	of: &conductor.Allocation{}, path: "allocations", list: "allocations", schema: "allocation", noun: "Allocation",
	since: since.Allocations, named: true, suffixed: true, loadFirst: true, looseIdent: true, uuidFirst: true, sortFirst: true,
	fields: []objectField{
		uuidField,
		{name: "candidate_nodes", types: []string{"array", "null"}, zero: []any{}, fixed: true, schema: candidatesSchema},
		extraField,
		{name: "last_error", readOnly: true},
		{name: "name", types: textOrNull},
		{name: "owner", since: since.AllocationOwner, types: textOrNull, fixed: true},
		{name: "resource_class", types: textOrNull, max: 80, fixed: true},
		{name: "state", readOnly: true},
		{name: "traits", zero: []any{}, fixed: true, schema: allocationTraits},
		{name: "node_uuid", readOnly: true, noColumn: true},
		// Clients set node in a POST; responses show node_uuid.
		{name: "node", types: textOrNull, fixed: true, asked: true, storedAs: "node_uuid"},
	},
	patched: []string{"name", "extra"},
	filters: []objectFilter{ofAllocatedNode, byText("resource_class"), byText("state"), ownedBy},
	early:   []string{"node", "resource_class", "state"},
	check:   func(r *request, before, o conductor.Object) error { return r.checkNewName(before, o, "allocation") },

	patchSince: since.AllocationPatch, checkValues: checkNames("allocation"),
}

func allocationTraits(*service) *schema {
	return &schema{types: []string{"array", "null"}, items: traitSchema}
}

func candidatesSchema(*service) *schema {
	return &schema{types: []string{"array", "null"}, items: &schema{types: textType}}
}

// ofAllocatedNode filters allocations by node.
var ofAllocatedNode = objectFilter{name: "node", decode: decodeIdent, apply: func(a *args, r *request, s *selection) {
	n, err := r.nodeNamed(a.ident("node"))
	if err != nil {
		a.err = as400(err)
		return
	}
	s.ofNode(n.UUID)
}}

// ownedBy filters allocations by owner.
var ownedBy = objectFilter{
	name: "owner", since: since.AllocationOwner, old: errNotAcceptable, decode: decodeText, apply: byText("owner").apply,
}

// useCandidates replaces the names of the candidate nodes with their UUIDs.
//
// Source: check_node_list in ironic/db/sqlalchemy/api.py.
func (r *request) useCandidates(al *conductor.Allocation) error {
	uuids, missing := make([]string, len(al.CandidateNodes)), []string{}
	for i, ident := range al.CandidateNodes {
		n, err := r.conductor.Node(r.Context(), ident)
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
		return invalid("Nodes cannot be found: %s", show(strings.Join(slices.Compact(missing), ", ")))
	}
	al.CandidateNodes = uuids
	return nil
}

// createAllocation answers POST /v1/allocations.
func createAllocation(r *request) (answer, error) {
	o, err := allocationResource.decode(r)
	if err != nil {
		return answer{}, err
	}
	al := o.(*conductor.Allocation)
	if err := r.backfill(al); err != nil {
		return answer{}, err
	}
	if al.ResourceClass == "" {
		return answer{}, invalid("The resource_class field is mandatory when not backfilling")
	}
	if err := r.useCandidates(al); err != nil {
		return answer{}, err
	}
	created, err := r.conductor.CreateAllocation(r.Context(), al)
	if err != nil {
		return answer{}, allocationResource.sayExists(r, o, err)
	}
	a := allocationResource.answer(r, http.StatusCreated, created, nil)
	a.location = "allocations/" + created.UUID
	return a, nil
}

// backfill completes an allocation for a node that already has an instance.
func (r *request) backfill(al *conductor.Allocation) error {
	ident := al.NodeUUID
	switch {
	case ident == "":
		return nil
	case r.version < since.AllocationBackfill:
		return invalid("Cannot set node when creating an allocation in this API version")
	}
	n, err := r.nodeNamed(ident)
	if err != nil {
		return as400(err)
	}
	al.NodeUUID = n.UUID
	al.ResourceClass = cmp.Or(al.ResourceClass, n.ResourceClass)
	al.UUID = cmp.Or(al.UUID, n.InstanceUUID)
	return nil
}

// deleteAllocation answers DELETE /v1/allocations/ALLOCATION.
func deleteAllocation(r *request) (answer, error) {
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	ident, err := r.ident(allocationResource)
	if err != nil {
		return answer{}, err
	}
	o, err := r.object(allocationResource, ident)
	if err != nil {
		return answer{}, err
	}
	return statusNoContent, r.freeAllocation(o)
}

func (r *request) freeAllocation(o conductor.Object) error {
	err := r.conductor.DeleteAllocation(r.Context(), o.Meta().UUID)
	if errors.Is(err, conductor.NotFound) {
		return allocationResource.notFound(o.Meta().UUID)
	}
	return err
}

// allocationOf returns the allocation of the node that a request names.
func (r *request) allocationOf() (conductor.Object, error) {
	n, err := r.nodeNamed(r.param(0))
	if err != nil {
		return nil, err
	}
	allocations, err := r.conductor.ObjectsOf(r.Context(), conductor.KindAllocation, n.UUID)
	if err != nil {
		return nil, err
	}
	if len(allocations) > 0 {
		return allocations[0], nil
	}
	return nil, notFound("Allocation for node %s was not found", r.param(0))
}

// showNodeAllocation answers GET /v1/nodes/NODE/allocation.
func showNodeAllocation(r *request) (answer, error) {
	a := r.queryArgs("fields")
	fields := fieldSet(a.list("fields"))
	if a.err != nil {
		return answer{}, a.err
	}
	if _, err := r.nodeNamed(r.param(0)); err != nil {
		return answer{}, as400(err)
	}
	o, err := r.allocationOf()
	if err != nil {
		return answer{}, err
	}
	if err := allocationResource.knowFields(r, fields); err != nil {
		return answer{}, err
	}
	return allocationResource.answer(r, http.StatusOK, o, fields), nil
}

// deleteNodeAllocation answers DELETE /v1/nodes/NODE/allocation.
func deleteNodeAllocation(r *request) (answer, error) {
	o, err := r.allocationOf()
	if err != nil {
		return answer{}, err
	}
	return statusNoContent, r.freeAllocation(o)
}
