// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// Nodes returns the controller of /v1/nodes, without the child resources of a node.
func Nodes(s *rest.Service) *rest.Controller {
	c := nodeResource.controller(s)
	c.Actions["delete"] = rest.Action{Serve: nodeResource.delete, Idents: rest.NodeIdent, Optional: rest.AnyNumber}
	return c
}

var nodeResource = complete(resource{
	of: &node{}, store: nodeStore{}, path: "nodes", word: "node", noun: "Node",
	flags: patchedInPart | ownDuplicates | firstUnknown, fields: nodeFields,
	links: []link{
		{name: "ports"}, {name: "states", since: since.StateLinks}, {name: "portgroups", since: since.PortGroupsBelow},
		{name: "volume", since: since.Volumes},
	},
	list: listRules{
		defaults: []string{"instance_uuid", "maintenance", "power_state", "provision_state", "uuid", "name"}, detailSince: since.Detail,
		filters: nodeFilters,
		types: []string{
			"chassis_uuid", "instance_uuid", "associated", "maintenance", "retired", "provision_state", "marker", "limit", "sort_key",
			"sort_dir", "driver", "fields", "resource_class", "fault", "conductor_group", "detail", "conductor", "owner",
			"description_contains", "lessee", "project", "shard", "sharded", "include_children", "parent_node", "instance_name",
		},
	},
	// Source: get_all, detail and _get_nodes_collection, get_one, post and patch in ironic/api/controllers/v1/node.py.
	orders: orders{
		list: listChecks{
			parametersDecode, parametersInSchema, listFieldsAllowed, sortKeyInVersion, filtersInVersion, fieldsChosen, chassisGiven, pageValid,
			sortKeyHasOrder, markerExists, childrenChosen, filtersApply, recordsOnPage, listFieldsExist,
		},
		details: listChecks{
			parametersDecode, parametersInSchema, filtersInTurn(false), sortKeyInVersion, fieldsChosen, filtersInTurn(true), chassisGiven,
			pageValid, sortKeyHasOrder, markerExists, childrenChosen, filtersApply, recordsOnPage, listFieldsExist,
		},
		get: checks{fieldsDecode, queryInSchema, nodeOrJSONExists, fieldsAllowed, fieldsExist},
		post: checks{
			bodyDecodes, bodyValid, newBootModeAllowed, stateInitial, fieldsSet, newNodeFieldsInVersion, classNotEmpty, newNodeNameValid,
			referencesExist,
		},
		patch: checks{
			queryDecodes, resetIsBoolean, patchDecodes, patchNotNull, resetInVersion, bootModeAllowed, fieldsPatchable,
			patchedNodeFieldsInVersion, resetWithDriver, descriptionShort, networkDataValid, nodeOrJSONExists, parentMayChange,
		},
		update: checks{
			nodeMayBePatched, ownerMayChange, nodeNameValid, nodePatchApplies, documentValid, fieldsSet, removedDefaultsMarked, reasonWithRetired,
			interfacesFollowDriver, chassisMayGo, instanceNamed, referencesExist, consoleStopped,
		},
		delete: checks{oneSegment, noArguments, nodeOrJSONExists},
	},
	patching: patchRules{args: []string{"reset_interfaces"}},
	// Source: NODE_VALIDATE_EXTRA in ironic/api/controllers/v1/node.py.
	bodyOrder: fieldOrder{
		"automated_clean", "chassis_uuid", "console_enabled", "instance_uuid", "protected", "maintenance", "retired", "uuid", others,
	},
	schemaOrder: fieldOrder{others},
})

// WriteNode writes the fields of a node that the request's version has.
func WriteNode(r *rest.Request, w *wire.Writer, n *conductor.Node, fields rest.FieldSet) {
	nodeResource.show(w, r, n, fields, false)
}

// WriteNodeFields writes the keys and values of the fields that the request's version has, in the order of the names.
func WriteNodeFields(r *rest.Request, w *wire.Writer, n *conductor.Node, names []string) {
	for _, name := range names {
		if f := nodeResource.field(name); f.since <= r.Version {
			f.write(w, r, n)
		}
	}
}

// Shard returns the shard of a node as a text, which may be empty, or nil for none.
func Shard(n *conductor.Node) any { return stored(n, "shard") }

// oneSegment refuses further segments of a path behind the identifier of a node.
func oneSegment(q *request) error {
	if len(q.r.Params) > 1 {
		return fault.NoSuchResource
	}
	return nil
}

// nodeOrJSONExists finds the node that the path names.
func nodeOrJSONExists(q *request) (err error) {
	q.record, err = q.r.FindNodeOrJSON(q.r.Param(0))
	return err
}

// chassisGiven refuses a path of the nodes of a chassis without the chassis.
func chassisGiven(q *listRequest) error {
	if q.parent != nil && !q.args.Given("chassis_uuid") {
		return fault.Invalid("Chassis id not specified.")
	}
	return nil
}

// childrenChosen selects the nodes with the parent of the request.
func childrenChosen(q *listRequest) error {
	parent := q.args.Text("parent_node")
	children := q.args.Given("include_children")
	if !q.details { // where any text includes them
		include := q.args.Boolean("include_children")
		children = include != nil && *include
	}
	if !children {
		q.selected.node = &parent // empty for the nodes without a parent, and for those with an empty one
		empty := q.args.Has("parent_node") && parent == ""
		q.selected.where(func(o record) bool {
			n := o.(*node)
			return n.ParentNode == parent && slices.Contains(n.Empty, "parent_node") == empty
		})
	}
	return q.args.Err
}

// belowChassis are the checks of requests for one node of a chassis, by the names of their actions. Ironic does not
// permit such a request, but checks the arguments and the body before it says so.
var belowChassis = map[string]checks{
	rest.One: {nodeQueryNamed},
	"post":   {bodyDecodes, bodyValid},
	"patch":  {queryDecodes, resetIsBoolean, patchDecodes},
	"delete": {oneSegment},
}

// nodeQueryNamed refuses parameters that a GET of a node does not have.
func nodeQueryNamed(q *request) error { return q.r.QueryArgs("fields", "node_ident").Err }

// nodesOfChassis returns the controller of the nodes of a chassis.
func nodesOfChassis(s *rest.Service) *rest.Controller {
	below := &parent{filter: "chassis_uuid"}
	c := Nodes(s)
	c.Lookup = rest.Below("node", 0, nil)
	c.Actions[rest.All] = rest.Action{Serve: listing{resource: nodeResource, parent: below}.serve, Optional: 1}
	c.Actions["detail"] = rest.Action{
		Method: http.MethodGet, Serve: listing{resource: nodeResource, parent: below, details: true}.serve, Optional: 1,
	}
	c.Actions[rest.One] = rest.Action{Optional: rest.AnyNumber}
	for name, order := range belowChassis {
		action := c.Actions[name]
		action.Serve = order.Then(nodeResource.request, (*request).notPermitted)
		c.Actions[name] = action
	}
	return c
}
