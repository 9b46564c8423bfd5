// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/machine/admission"
)

// The rules for port groups. Source: ironic/conductor/manager.py and ironic/api/controllers/v1/portgroup.py.

// PortGroups returns the controller of /v1/portgroups.
func PortGroups() *rest.Controller {
	c := portGroupResource.controller()
	c.Lookup = rest.Below("portgroup", since.PortGroups, map[string]rest.Part{
		"ports": {Controller: portResource.controllerBelow(ofPortGroup), Since: since.PortGroupsBelow},
	})
	return c
}

var portGroupResource = &resource{
	of: &conductor.PortGroup{}, path: "portgroups", word: "portgroup", noun: "Portgroup", since: since.PortGroups,
	fields: []field{
		uuidField,
		{name: "address", types: schema.TextOrNull, flags: checkedFirst, convert: toMAC},
		extraField,
		{name: "internal_info", types: schema.ObjectOrNull, flags: readOnly, zero: noObject},
		{name: "mode", since: since.PortGroupMode, types: schema.TextOrNull, flags: shownEarlier, zero: "active-backup"},
		{name: "name", types: schema.TextOrNull},
		{name: "properties", since: since.PortGroupMode, types: schema.ObjectOrNull, flags: shownEarlier, zero: noObject},
		{name: "standalone_ports_supported", types: schema.BooleanTypes, zero: true, convert: toTruth("standalone_ports_supported")},
		nodeField,
		{name: "physical_network", since: since.PortGroupPhysicalNetwork, types: schema.TextOrNull, max: 64},
		{name: "category", since: since.PortGroupCategory, types: schema.TextOrNull, max: 80},
		{name: "dynamic_portgroup", since: since.DynamicPortGroups, types: []string{"boolean"}, flags: readOnly, zero: false},
	},
	links: map[string]link{"ports": {since: since.First}},
	list: listRules{
		defaults: []string{"uuid", "address", "name"}, detailSince: since.Detail,
		filters: []filter{byNode("node"), byAddress, byNodeShard(since.PortGroupShard), byConductorGroups},
	},
	orders: orders{patch: []check{validIdent, patchDecodes, recordExists, patchPermitted}},
	write: writeRules{
		prepare: func(_ *rest.Request, body any) error {
			if object, _ := body.(map[string]any); object["mode"] == "" {
				delete(object, "mode") // its default is stored
			}
			return nil
		},
		tooNew: newForPortGroup,
		refuseName: func(ident, name string) error {
			return fault.Invalid("Portgroup %s: Cannot change name to invalid name '%s'", ident, name)
		},
		checkPatched: func(_ *rest.Request, patched map[string]any) error {
			if _, has := patched["mode"]; !has {
				return fault.Invalid("'mode' is a mandatory attribute and can not be removed")
			}
			return nil
		},
		check: func(r *rest.Request, before, o conductor.Object) error {
			return notInspected(r, before, o, "Cannot update portgroup \"%s\" on node \"%s\" while it is in state \"%s\".")
		},
		allow: allowPortGroup,
		duplicate: func(o conductor.Object) string {
			return fmt.Sprintf("A portgroup with MAC address %s already exists.", o.(*conductor.PortGroup).Address)
		},
		deletable: portGroupEmpty,
	},
}

// newForPortGroup is hasNew for a port group. Ironic permits empty values, and looks at the first
// operation of a patch only.
func newForPortGroup(x *resource, r *rest.Request, object map[string]any, p patch.Patch) bool {
	return slices.ContainsFunc(x.fields, func(f field) bool {
		return f.since > r.Version && (schema.Truthy(object[f.name]) || p.StartsWith(f.name))
	})
}

// notInspected refuses the patch of a port or port group while its node is inspected. The text is
// a format for the UUIDs of the record and the node, and the state.
func notInspected(r *rest.Request, before, o conductor.Object, text string) error {
	if before == nil {
		return nil
	}
	n, err := r.Conductor.Node(r.Context(), o.Meta().NodeUUID)
	if err != nil {
		return err
	}
	if r.Conductor.Rules().UpdatePort(unreserved(n), admission.PortUpdate{}, r.Version) != nil {
		return fault.Conflict(text, o.Meta().UUID, n.UUID, n.ProvisionState)
	}
	return nil
}

// allowPortGroup refuses a change to a port group that its node does not allow.
func allowPortGroup(r *rest.Request, before, o conductor.Object) error {
	m := o.Meta()
	n, err := r.Conductor.Node(r.Context(), m.NodeUUID)
	if err != nil {
		return err
	}
	moves := before.Meta().NodeUUID != m.NodeUUID
	err = r.Conductor.Rules().UpdatePort(unreserved(n), admission.PortUpdate{Connectivity: moves}, r.Version)
	switch {
	case err != nil:
		return fault.Conflict("Portgroup %s can not be associated to node %s unless the node is in a %s state or in maintenance mode.", m.UUID, n.UUID, connectivityStates)
	case moves:
		return portGroupEmpty(r, o)
	default:
		return nil
	}
}

// portGroupEmpty refuses a change to a port group that has ports.
func portGroupEmpty(r *rest.Request, o conductor.Object) error {
	m := o.Meta()
	ports, err := r.Conductor.Objects(r.Context(), conductor.KindPort) // a port that moves to another node keeps its group
	if err != nil {
		return err
	}
	if slices.ContainsFunc(ports, func(port conductor.Object) bool { return port.(*conductor.Port).PortGroupUUID == m.UUID }) {
		return fault.Invalid("Cannot complete the requested action because portgroup %s contains ports.", m.UUID)
	}
	return nil
}
