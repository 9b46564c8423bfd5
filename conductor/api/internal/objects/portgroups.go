// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// The rules for port groups. Source: ironic/conductor/manager.py and ironic/api/controllers/v1/portgroup.py.

// PortGroups returns the controller of /v1/portgroups.
func PortGroups(s *rest.Service) *rest.Controller {
	c := portGroupResource.controller(s)
	first := since.PortGroups
	if s.Series >= states.Hibiscus { // the handlers check the version
		first = since.First
	}
	c.Lookup = rest.Below("portgroup", first, map[string]rest.Part{
		"ports": {Controller: portResource.controllerBelow(ofPortGroup), Since: since.PortGroupsBelow},
	})
	return c
}

var portGroupResource = complete(resource{
	of: &conductor.PortGroup{}, path: "portgroups", word: "portgroup", noun: "Portgroup", since: since.PortGroups,
	schemas: schemaRules{since: states.Hibiscus, queryTypes: true},
	fields: []field{
		uuidField,
		{name: "address", types: schema.TextOrNull, convert: toMAC},
		extraField,
		{name: "internal_info", types: schema.ObjectOrNull, flags: readOnly, zero: noObject},
		{name: "mode", since: since.PortGroupMode, types: schema.TextOrNull, flags: shownEarlier | nullable, zero: "active-backup"},
		{name: "name", types: schema.TextOrNull},
		{name: "properties", since: since.PortGroupMode, types: schema.ObjectOrNull, flags: shownEarlier, zero: noObject},
		{name: "standalone_ports_supported", types: schema.BooleanTypes, zero: true, convert: toBoolean},
		nodeField,
		{name: "physical_network", since: since.PortGroupPhysicalNetwork, types: schema.TextOrNull, flags: shownEarlier | namedEarlier, max: 64},
		{name: "category", since: since.PortGroupCategory, types: schema.TextOrNull, flags: shownEarlier | namedEarlier, max: 80},
		{name: "dynamic_portgroup", since: since.DynamicPortGroups, types: []string{"boolean"}, flags: readOnly | shownEarlier, zero: false},
	},
	links:    []link{{name: "ports", since: since.First}},
	patching: patchRules{after: networkOfPortsSet},
	list: listRules{
		defaults: []string{"uuid", "address", "name"}, detailSince: since.Detail,
		filters: []filter{byNode("node"), byAddress, byNodeShard(since.PortGroupShard), byConductorGroups},
		first:   []string{"node", "address"},
	},
	orders: orders{
		list: listChecks{
			parametersDecode, parametersInSchema, parentExists, listFieldsAllowed, sortKeyInVersion, filtersInVersion, fieldsChosen, pageValid,
			markerExists, sortKeyHasOrder, oneGroupFilter, filtersApply, recordsOnPage, listFieldsExist,
		},
		post: checks{
			bodyDecodes, emptyModeDropped, bodyValid, fieldsSet, postInVersion, nodeExists, notNested, groupFieldsInVersion, nameValid,
		},
		patch: checks{
			queryDecodes, identValid, patchDecodes, recordExists, fieldsPatchable, groupFieldsInVersion,
			newNameValid("Portgroup %s: Cannot change name to invalid name '%s'"),
		},
		update: checks{
			patchApplies, firstNetworkCounts, modeKept, nodeMayChange, documentValid, fieldsSet,
			notInspected("Cannot update portgroup \"%s\" on node \"%s\" while it is in state \"%s\"."), nodeUnlocked, groupMayChange,
		},
		delete: checks{noArguments, identValid, recordExists, nodeUnlockedOrGone, groupEmpty},
	},
	bodyOrder: fieldOrder{"address", "node_uuid", others, "uuid"},
	duplicate: func(o record) string {
		return fmt.Sprintf("A portgroup with MAC address %s already exists.", o.(*conductor.PortGroup).Address)
	},
})

// oneGroupFilter refuses several filters of a list in the series that have the last two. Before, the first one applies.
func oneGroupFilter(q *listRequest) error {
	given := 0
	for _, name := range []string{"node", "address", "shard", "conductor_groups"} {
		if q.args.Given(name) || name == "node" && q.parent != nil {
			given++
		}
	}
	if given > 1 && q.r.Highest >= since.PortGroupShard {
		return fault.Invalid("Filtering by node, address, or shard simultaneously is not supported.")
	}
	return nil
}

// emptyModeDropped removes an empty mode from the body, so that its default is stored.
func emptyModeDropped(q *request) error {
	if q.values["mode"] == "" {
		delete(q.values, "mode")
	}
	return nil
}

// groupFieldsInVersion is fieldsInVersion for a port group. Ironic permits empty values and fields that are newer than
// mode and properties, and looks at the first operation of a patch only.
func groupFieldsInVersion(q *request) error {
	if slices.ContainsFunc(q.fields, func(f field) bool {
		return f.since == since.PortGroupMode && f.since > q.r.Version && (pyrepr.Truthy(q.values[f.name]) || q.patch.StartsWith(f.name))
	}) {
		return fault.NotAcceptable
	}
	return nil
}

// patchesNetwork reports whether a patch changes the physical network of the group's ports, too, as since 2026.1.
// Ironic looks at its first operation.
//
// Source: patch in ironic/api/controllers/v1/portgroup.py, update_physical_network in ironic/objects/portgroup.py.
func (q *request) patchesNetwork() bool {
	return q.r.Series >= states.Gazpacho && q.patch.StartsWith("physical_network")
}

// firstNetworkCounts chooses the first of several physical networks in a patch that changes the ports, too.
func firstNetworkCounts(q *request) error {
	if networks := q.patch.Values("physical_network"); q.patchesNetwork() && len(networks) > 0 {
		q.values["physical_network"] = networks[0]
	}
	return nil
}

// networkOfPortsSet gives the ports of a patched group the group's physical network. Ironic fails if the patch has
// removed it.
func networkOfPortsSet(q *request) error {
	if !q.patchesNetwork() {
		return nil
	}
	group := q.record.(*conductor.PortGroup)
	ports, err := q.r.Conductor.Objects(q.r.Context(), conductor.KindPort) // of other nodes, too, see groupEmpty
	if err != nil {
		return err
	}
	network := stored(group, "physical_network")
	for _, o := range ports {
		if port := o.(*conductor.Port); port.PortGroupUUID == group.UUID && stored(port, "physical_network") != network {
			if err := setPhysicalNetwork(q, conductor.KindPort, port.UUID, network); err != nil {
				return err
			}
		}
	}
	return nil
}

// modeKept refuses a patch that removes the mode.
func modeKept(q *request) error {
	if _, has := q.values["mode"]; !has {
		return fault.Invalid("'mode' is a mandatory attribute and can not be removed")
	}
	return nil
}

// notInspected refuses the patch of a port or port group while its node is inspected. The text is
// a format for the UUIDs of the record and the node, and the state.
func notInspected(text string) func(*request) error {
	return func(q *request) error {
		m := q.store.meta(q.record)
		n, err := q.r.Conductor.Node(q.r.Context(), m.NodeUUID)
		if err != nil {
			return err
		}
		if q.r.Conductor.Rules().UpdatePort(unreserved(n), admission.PortUpdate{}, q.r.Version) != nil {
			return fault.Conflict(text, m.UUID, n.UUID, n.ProvisionState)
		}
		return nil
	}
}

// groupMayChange refuses a change to a port group that its node does not allow.
func groupMayChange(q *request) error {
	m := q.store.meta(q.record)
	n, err := q.r.Conductor.Node(q.r.Context(), m.NodeUUID)
	if err != nil {
		return err
	}
	moves := q.store.meta(q.before).NodeUUID != m.NodeUUID
	err = q.r.Conductor.Rules().UpdatePort(unreserved(n), admission.PortUpdate{Connectivity: moves}, q.r.Version)
	switch {
	case err != nil:
		return fault.Conflict("Portgroup %s can not be associated to node %s unless the node is in a %s state or in maintenance mode.",
			m.UUID, n.UUID, connectivityStates)
	case moves:
		return q.groupEmpty(fmt.Sprintf("Portgroup %s can not be associated with node %s because there are ports associated with this portgroup.",
			m.UUID, n.UUID))
	default:
		return nil
	}
}

// groupEmpty refuses the deletion of a port group that has ports.
func groupEmpty(q *request) error { return q.groupEmpty(q.store.meta(q.record).UUID) }

// groupEmpty refuses a request for a port group that has ports, by the name that Ironic's text has for the group.
func (q *request) groupEmpty(named string) error {
	uuid := q.store.meta(q.record).UUID
	ports, err := q.r.Conductor.Objects(q.r.Context(), conductor.KindPort) // a port that moves to another node keeps its group
	if err != nil {
		return err
	}
	if slices.ContainsFunc(ports, func(port conductor.Object) bool { return port.(*conductor.Port).PortGroupUUID == uuid }) {
		return fault.Invalid("Cannot complete the requested action because portgroup %s contains ports.", named)
	}
	return nil
}
