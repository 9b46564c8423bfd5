// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/machine/admission"
)

// The rules for ports. Source: ironic/conductor/manager.py and ironic/api/controllers/v1/port.py.

// Ports returns the controller of /v1/ports.
func Ports() *rest.Controller { return portResource.controller() }

var portResource = &resource{
	of: &conductor.Port{}, path: "ports", word: "port", noun: "Port",
	fields: []field{
		uuidField,
		{name: "address", types: schema.TextType, flags: required | checkedFirst, convert: toMAC},
		extraField,
		{name: "internal_info", since: since.PortInternalInfo, types: schema.ObjectOrNull, flags: readOnly, zero: noObject},
		{name: "is_smartnic", since: since.SmartNIC, types: schema.BooleanTypes, flags: nullable, zero: false, convert: toTruth("is_smartnic")},
		{name: "local_link_connection", since: since.PortConnectivity, types: []string{"null", "object"}, zero: noObject, convert: toLocalLink},
		{name: "physical_network", since: since.PortPhysicalNetwork, types: schema.TextOrNull, max: 64},
		{name: "pxe_enabled", since: since.PortConnectivity, types: schema.BooleanTypes, zero: true, convert: toTruth("pxe_enabled")},
		nodeField,
		{name: "name", since: since.PortName, types: schema.TextOrNull},
		{name: "description", since: since.PortDescription, types: schema.TextOrNull, max: 255},
		{name: "vendor", since: since.PortVendor, types: schema.TextOrNull, max: 32},
		{name: "category", since: since.PortCategory, types: schema.TextOrNull, max: 80},
		{name: "available_for_dynamic_portgroup", since: since.DynamicPortGroups, types: []string{"boolean"}, zero: true},
		{name: "portgroup_uuid", since: since.PortGroupsBelow, types: schema.TextOrNull, flags: noColumn, convert: toUUID("portgroup_uuid")},
	},
	list: listRules{
		defaults: []string{"uuid", "address"}, detailSince: since.Detail, oneFilter: true,
		filters: []filter{
			byPortGroup, byNode("node_uuid"), byNode("node"), byAddress, byNodeShard(since.Shards), byDescription, byConductorGroups,
		},
		early: []string{"node", "node_uuid", "address"},
	},
	orders: orders{post: []check{notBelow, nodeExists, fieldsNotNewer, recordValid}},
	write: writeRules{
		uuidFirst: true,
		prepare:   namePortNode,
		tooNew:    newForPort,
		refuseName: func(ident, name string) error {
			return fault.Invalid("Port %s: Cannot change name to invalid name '%s'", ident, name)
		},
		check:    checkPort,
		allowNew: samePhysicalNetwork,
		allow:    allowPort,
		duplicate: func(o conductor.Object) string {
			return fmt.Sprintf("A port with MAC address %s already exists.", o.(*conductor.Port).Address)
		},
	},
}

// byPortGroup filters ports by port group.
var byPortGroup = filter{
	name: "portgroup", since: since.PortGroupsBelow, group: "portgroup", old: fault.NotAcceptable, decode: decodeIdent,
	apply: func(r *rest.Request, a *rest.Args, s *selection) error {
		return selectPortGroup(r, a.Ident("portgroup"), s)
	},
}

// byDescription filters ports by a part of their description.
var byDescription = filter{
	name: "description_contains", since: since.PortDescription, decode: decodeText,
	apply: func(_ *rest.Request, a *rest.Args, s *selection) error {
		part := strings.ToLower(a.Text("description_contains"))
		s.where(func(o conductor.Object) bool {
			return strings.Contains(strings.ToLower(o.(*conductor.Port).Description), part)
		})
		return nil
	},
}

// namePortNode replaces the name of a new port's node with its UUID.
func namePortNode(r *rest.Request, body any) error {
	object, _ := body.(map[string]any)
	ident, isText := object["node_ident"].(string)
	if !isText || r.Highest < since.PortNode {
		return nil
	}
	if _, both := object["node_uuid"]; both {
		return fault.Schema("port", "only one of 'node_ident' and 'node_uuid' may be given")
	}
	if r.Version < since.PortNode {
		return fault.NotAcceptable
	}
	n, err := r.FindNode(ident)
	if err != nil {
		return fault.As400(err)
	}
	delete(object, "node_ident")
	object["node_uuid"] = n.UUID
	return nil
}

// newForPort is hasNew for the fields of a port and the keys of its connection.
func newForPort(x *resource, r *rest.Request, object map[string]any, p patch.Patch) bool {
	link, _ := object["local_link_connection"].(map[string]any)
	_, typed := link["network_type"]
	_, logical := link["vtep-logical-switch"]
	return hasNew(x, r, object, p) || r.Version < since.LinkVTEP && logical ||
		r.Version < since.LinkNetworkType && (typed || p.Replaces("local_link_connection/network_type"))
}

// checkPort refuses a port whose fields contradict each other or its port group.
func checkPort(r *rest.Request, before, o conductor.Object) error {
	port := o.(*conductor.Port)
	var group *conductor.PortGroup // that the port joins
	if port.PortGroupUUID != "" && (before == nil || !same(before, o, "portgroup_uuid")) {
		found, err := portGroupResource.find(r, port.PortGroupUUID)
		if err != nil {
			return fault.As400(err)
		}
		if group = found.(*conductor.PortGroup); group.NodeUUID != port.NodeUUID {
			return fault.Invalid("Port can not be added to a portgroup belonging to a different node.")
		}
	}
	link := port.LocalLinkConnection
	switch {
	case before == nil && port.IsSmartNIC != nil && *port.IsSmartNIC && len(link) > 0 && (link["port_id"] == nil || link["hostname"] == nil):
		return fault.Invalid("Smart NIC port must have port_id and hostname in local_link_connection")
	case stored(o, "physical_network") == "":
		return fault.Invalid("A non-empty value is required when setting physical_network")
	case before == nil && group != nil && !orTrue(group.StandalonePortsSupported) && orTrue(port.PXEEnabled):
		return fault.Conflict("Port group %s doesn't support standalone ports. This port cannot be created as a member of that portgroup as the port's 'pxe_enabled' field was set to True.", group.UUID)
	}
	return notInspected(r, before, o, "Cannot update port \"%s\" on \"%s\" while it is in state \"%s\".")
}

// orTrue returns the value of a field for which null stands for true.
func orTrue(b *bool) bool { return b == nil || *b }

// connectivityStates are the states in which [admission.Rules.UpdatePort] permits changes of the connectivity, in the order
// of Ironic's texts.
const connectivityStates = "enroll, inspecting, inspect wait, manageable"

// connectivity are the fields of a port that describe its connection.
var connectivity = []string{"portgroup_uuid", "pxe_enabled", "local_link_connection", "physical_network"}

// allowPort refuses a patched port that its node or the other ports of its port group do not allow.
func allowPort(r *rest.Request, before, o conductor.Object) error {
	m := o.Meta()
	n, err := r.Conductor.Node(r.Context(), m.NodeUUID)
	if err != nil {
		return err
	}
	changed := slices.ContainsFunc(connectivity, func(field string) bool { return !same(before, o, field) })
	update := admission.PortUpdate{Address: !same(before, o, "address"), Connectivity: changed}
	switch err := r.Conductor.Rules().UpdatePort(unreserved(n), update, r.Version); {
	case err == nil && same(before, o, "portgroup_uuid") && same(before, o, "physical_network"):
		return nil
	case err == nil:
		return samePhysicalNetwork(r, o)
	case errors.Is(err, admission.Associated):
		return fault.Conflict("Cannot update hardware address for port %s as node %s is active or has instance UUID assigned", m.UUID, n.UUID)
	default:
		return fault.Conflict("Port %s can not have any connectivity attributes (%s) updated unless node %s is in a %s state or in maintenance mode. The current state is %s.",
			m.UUID, "local_link_connection, physical_network, portgroup_id, pxe_enabled", n.UUID, connectivityStates, n.ProvisionState)
	}
}

// samePhysicalNetwork refuses a port in another physical network than the other ports of its group.
//
// Source: validate_port_physnet in ironic/conductor/utils.py.
func samePhysicalNetwork(r *rest.Request, o conductor.Object) error {
	m, group := o.Meta(), o.(*conductor.Port).PortGroupUUID
	if group == "" {
		return nil
	}
	ports, err := r.Conductor.ObjectsOf(r.Context(), conductor.KindPort, m.NodeUUID)
	if err != nil {
		return err
	}
	for _, other := range ports {
		if port := other.(*conductor.Port); port.UUID != m.UUID && port.PortGroupUUID == group && !same(port, o, "physical_network") {
			return fault.Conflict("Port with physical network %s cannot become a member of port group %s which has ports in physical network %s.",
				fault.Show(stored(o, "physical_network")), group, fault.Show(stored(port, "physical_network")))
		}
	}
	return nil
}

// toLocalLink converts the field local_link_connection: the ID of the switch becomes lower case.
func toLocalLink(r *rest.Request, v any) (any, error) {
	if err := linkSchema(r.Service).Validate("local_link_connection", v); err != nil {
		return nil, err
	}
	link := v.(map[string]any)
	id, ok := link["switch_id"].(string)
	if !ok {
		return link, nil
	}
	isDatapath := len(id) == 16 && strings.Trim(strings.ToLower(id), "0123456789abcdef") == ""
	if !rest.IsMAC(id) && !isDatapath {
		return nil, fault.Invalid("Expected a MAC address or OpenFlow datapath ID but received %s.", fault.Show(id))
	}
	link["switch_id"] = strings.ToLower(id)
	return link, nil
}

// linkSchema is the schema of a port's local link connection.
//
// Source: LOCAL_LINK_CONN_SCHEMA in ironic/api/controllers/v1/utils.py.
func linkSchema(s *rest.Service) *schema.Schema {
	names := []string{"port_id", "switch_id", "hostname", "switch_info", "network_type"}
	if s.Highest >= since.LinkVTEP {
		names = append(names, "vtep-logical-switch", "vtep-physical-switch")
	}
	with := func(types []string, required ...string) *schema.Schema {
		s := &schema.Schema{Types: []string{"object"}, Required: required, Closed: true, ClosedFirst: true}
		for _, name := range names {
			of := &schema.Schema{Types: schema.TextType}
			if name == "network_type" {
				of.Enum = types
			}
			s.Properties = append(s.Properties, schema.Property{Name: name, Schema: of})
		}
		return s
	}
	all := []string{"managed", "unmanaged"}
	anyOf := []*schema.Schema{with(all, "port_id", "switch_id"), with(all, "port_id", "hostname"), with(all[1:], "network_type")}
	if s.Highest >= since.LinkVTEP {
		anyOf = append(anyOf, with(all, "port_id", "vtep-logical-switch", "vtep-physical-switch"))
	}
	return &schema.Schema{AnyOf: append(anyOf, &schema.Schema{Types: []string{"object"}, Closed: true})}
}
