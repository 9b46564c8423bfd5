// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// The rules for ports. Source: ironic/conductor/manager.py and ironic/api/controllers/v1/port.py.

// Ports returns the controller of /v1/ports.
func Ports(s *rest.Service) *rest.Controller { return portResource.controller(s) }

var portResource = complete(resource{
	of: &conductor.Port{}, path: "ports", word: "port", noun: "Port", flags: uuidFirst | deletedByUUID | refusedBeforeLookup,
	patching: patchRules{also: func(r *rest.Request) []string {
		if r.Highest < since.PortNode {
			return nil
		}
		return []string{"node_ident"} // which the schema then refuses
	}},
	schemas: schemaRules{completes: requireNode},
	fields: []field{
		uuidField,
		{name: "address", types: schema.TextType, flags: required, convert: toMAC},
		extraField,
		{name: "internal_info", since: since.PortInternalInfo, types: schema.ObjectOrNull, flags: readOnly | namedEarlier, zero: noObject},
		{name: "is_smartnic", since: since.SmartNIC, types: schema.BooleanTypes, flags: nullable, zero: false, convert: toBoolean},
		{name: "local_link_connection", since: since.PortConnectivity, types: []string{"null", "object"}, zero: noObject,
			convert: toLocalLink, shown: shownLink},
		{name: "physical_network", since: since.PortPhysicalNetwork, types: schema.TextOrNull, max: 64},
		{name: "pxe_enabled", since: since.PortConnectivity, types: schema.BooleanTypes, zero: true, convert: toBoolean},
		nodeField,
		{name: "name", since: since.PortName, types: schema.TextOrNull, flags: patchedEarlier, max: 255},
		{name: "description", since: since.PortDescription, types: schema.TextOrNull, flags: patchedEarlier, max: 255},
		{name: "vendor", since: since.PortVendor, types: schema.TextOrNull, flags: patchedEarlier, max: 32},
		{name: "category", since: since.PortCategory, types: schema.TextOrNull, flags: patchedEarlier, max: 80},
		{name: "available_for_dynamic_portgroup", since: since.DynamicPortGroups, types: []string{"boolean"}, flags: patchedEarlier, zero: true},
		{name: "portgroup_uuid", since: since.PortGroupsBelow, types: schema.TextOrNull, flags: noColumn, convert: toUUID},
	},
	list: listRules{
		defaults: []string{"uuid", "address"}, detailSince: since.Detail,
		filters: []filter{
			byPortGroup, byNode("node_uuid"), byNode("node"), byAddress, byNodeShard(since.Shards), byDescription, byConductorGroups,
		},
		first: []string{"node", "node_uuid", "address"},
	},
	orders: orders{
		list: listChecks{
			parametersDecode, parametersInSchema, parentExists, listFieldsAllowed, sortKeyInVersion, filtersInVersion, fieldsChosen, pageValid,
			markerExists, sortKeyHasOrder, filtersCombine, conductorGroupsAlone, filtersApply, recordsOnPage, listFieldsExist,
		},
		post: checks{
			bodyDecodes, portNodeNamed, bodyValid, fieldsSet, postInVersion, notNested, nodeExists, linkInVersion, fieldsInVersion, portValid,
			nodeUnlockedForPort, physicalNetworkShared,
		},
		patch: checks{
			queryDecodes, identValid, patchDecodes, fieldsPatchable, linkInVersion, fieldsInVersion, recordExists,
		},
		update: checks{
			patchApplies, portGroupMayChange, nodeMayChange, documentValid, fieldsSet, portValid,
			notInspected("Cannot update port \"%s\" on \"%s\" while it is in state \"%s\"."), networkIsTheGroups, nodeUnlocked,
			portMayChange,
		},
		delete: checks{noArguments, uuidValid, recordExists, nodeUnlockedOrGone},
	},
	bodyOrder:   fieldOrder{"address", "node_uuid", others, "uuid"},
	schemaOrder: fieldOrder{others, "uuid", "name", "description", "vendor", "category"},
	duplicate: func(o record) string {
		return fmt.Sprintf("A port with MAC address %s already exists.", o.(*conductor.Port).Address)
	},
})

// filtersCombine refuses filters of several groups. For other resources than ports, the first filter applies.
func filtersCombine(q *listRequest) error {
	groups := map[string]bool{}
	if q.parent != nil {
		groups[q.parent.group] = true
	}
	for _, f := range q.list.filters {
		if f.group != "" && q.args.Given(f.name) {
			groups[f.group] = true
		}
	}
	delete(groups, "address") // it never conflicts
	if len(groups) > 1 {
		return fault.NotPermitted
	}
	return nil
}

// conductorGroupsAlone refuses conductor groups beside other filters.
func conductorGroupsAlone(q *listRequest) error {
	a := q.args
	if len(a.List("conductor_groups")) > 0 &&
		(q.parent != nil || a.Given("node") || a.Given("node_uuid") || a.Given("portgroup") || a.Given("address")) {
		return fault.Invalid("Filtering by conductor_groups cannot be combined with node_ident, portgroup_ident, or node address filters.")
	}
	return nil
}

// byPortGroup filters ports by port group.
var byPortGroup = filter{
	name: "portgroup", since: since.PortGroupsBelow, group: "portgroup", old: fault.NotAcceptable, kind: identKind,
	apply: func(r *rest.Request, a *rest.Args, s *selection) error {
		return selectPortGroup(r, a.Ident("portgroup"), s)
	},
}

// byDescription filters ports by a part of their description. Ironic finds ports by their address without it.
//
// Source: add_port_filter_description_contains in ironic/db/sqlalchemy/api.py.
var byDescription = filter{
	name: "description_contains", since: since.PortDescription, anyVersion: true, kind: textKind,
	apply: func(_ *rest.Request, a *rest.Args, s *selection) error {
		if part := a.Text("description_contains"); part != "" && !s.one {
			s.where(contains("description", part))
		}
		return nil
	},
}

// requireNode makes the schema of a new port require its node by UUID or, in series that have it, by UUID or name.
func requireNode(r *rest.Request, s *schema.Schema) {
	if r.Highest < since.PortNode || r.Method == http.MethodPatch {
		return
	}
	s.Required = []string{"address"}
	s.Properties = append(s.Properties, schema.Property{Name: "node_ident", Schema: &schema.Schema{Types: schema.TextType}})
	s.AnyOf = []*schema.Schema{{Required: []string{"node_ident"}}, {Required: []string{"node_uuid"}}}
}

// portNodeNamed replaces the name of a new port's node with its UUID.
func portNodeNamed(q *request) error {
	ident, isText := q.values["node_ident"].(string)
	if !isText || q.r.Highest < since.PortNode {
		return nil
	}
	if _, both := q.values["node_uuid"]; both {
		return fault.Schema("port", "only one of 'node_ident' and 'node_uuid' may be given")
	}
	if q.r.Version < since.PortNode {
		return fault.NotAcceptable
	}
	n, err := q.r.FindNode(ident)
	if err != nil {
		return fault.As400(err)
	}
	delete(q.values, "node_ident")
	q.values["node_uuid"] = n.UUID
	return nil
}

// nodeUnlockedForPort is nodeUnlocked in the series in which a new port needs the lock of its node.
//
// Source: create_port in ironic/conductor/manager.py.
func nodeUnlockedForPort(q *request) error {
	if q.r.Series >= states.Bobcat {
		return nil
	}
	return nodeUnlocked(q)
}

// linkInVersion refuses keys of the local link connection that are newer than the version of the request.
func linkInVersion(q *request) error {
	link, _ := q.values["local_link_connection"].(map[string]any)
	_, typed := link["network_type"]
	_, logical := link["vtep-logical-switch"]
	if logical && !hasVTEP(q.r) ||
		q.r.Version < since.LinkNetworkType && (typed || q.patch.Replaces("local_link_connection/network_type")) {
		return fault.NotAcceptable
	}
	return nil
}

// hasVTEP reports whether the version of a request has VTEP switches.
func hasVTEP(r *rest.Request) bool {
	return r.Version >= since.LinkVTEP && r.Version < since.NoLinkVTEP
}

// shownLink returns the local link connection of a port as a version shows it: one with VTEP switches is empty in
// versions without them.
func shownLink(r *rest.Request, _ record, link any) any {
	object, _ := link.(map[string]any)
	_, logical := object["vtep-logical-switch"]
	_, physical := object["vtep-physical-switch"]
	if (logical || physical) && !hasVTEP(r) {
		return noObject
	}
	return link
}

// portGroupMayChange refuses a patch that adds the port to an unknown port group.
func portGroupMayChange(q *request) error {
	group := q.values["portgroup_uuid"]
	if !q.patch.StartsWith("portgroup_uuid") || !pyrepr.Truthy(group) {
		return nil
	}
	ident := fault.Show(group)
	if !rest.IsUUID(ident) {
		return fault.As400(portGroupResource.notFound(ident))
	}
	_, err := portGroupResource.find(q.r, ident)
	return fault.As400(err)
}

// portValid refuses a port whose fields contradict each other or its port group.
func portValid(q *request) error {
	port, isNew := q.record.(*conductor.Port), q.before == nil
	var group *conductor.PortGroup // that the port joins
	if port.PortGroupUUID != "" && (isNew || !same(q.before, port, "portgroup_uuid")) {
		found, err := portGroupResource.find(q.r, port.PortGroupUUID)
		if err != nil {
			return fault.As400(err)
		}
		if group = found.(*conductor.PortGroup); group.NodeUUID != port.NodeUUID {
			return fault.Invalid("Port can not be added to a portgroup belonging to a different node.")
		}
	}
	link := port.LocalLinkConnection
	setsNetwork := isNew || q.patch.StartsWith("physical_network") || !same(q.before, port, "physical_network")
	switch {
	case isNew && port.IsSmartNIC != nil && *port.IsSmartNIC && len(link) > 0 && (link["port_id"] == nil || link["hostname"] == nil):
		return fault.Invalid("Smart NIC port must have port_id and hostname in local_link_connection")
	case setsNetwork && stored(port, "physical_network") == "":
		return fault.Invalid("A non-empty value is required when setting physical_network")
	case isNew && group != nil && !orTrue(group.StandalonePortsSupported) && orTrue(port.PXEEnabled):
		return fault.Conflict("Port group %s doesn't support standalone ports. "+
			"This port cannot be created as a member of that portgroup as the port's 'pxe_enabled' field was set to True.", group.UUID)
	default:
		return nil
	}
}

// orTrue returns the value of a field for which null stands for true.
func orTrue(b *bool) bool { return b == nil || *b }

// connectivityStates are the states in which [admission.Rules.UpdatePort] permits changes of the connectivity, in the
// order of Ironic's texts.
const connectivityStates = "enroll, inspecting, inspect wait, manageable"

// connectivity are the fields of a port that describe its connection.
var connectivity = []string{"portgroup_uuid", "pxe_enabled", "local_link_connection", "physical_network"}

// networkIsTheGroups refuses a patch of the physical network of a port in a group. Ironic looks at its first operation.
func networkIsTheGroups(q *request) error {
	if q.r.Version >= since.PortGroupPhysicalNetwork && q.patch.StartsWith("physical_network") &&
		q.before.(*conductor.Port).PortGroupUUID != "" {
		return fault.Invalid("physical_network cannot be changed while the port belongs to a portgroup.")
	}
	return nil
}

// portMayChange refuses a patched port that its node or the other ports of its port group do not allow.
func portMayChange(q *request) error {
	m := q.store.meta(q.record)
	n, err := q.r.Conductor.Node(q.r.Context(), m.NodeUUID)
	if err != nil {
		return err
	}
	changed := func(field string) bool { return !same(q.before, q.record, field) }
	update := admission.PortUpdate{Address: changed("address"), Connectivity: slices.ContainsFunc(connectivity, changed)}
	switch err := q.r.Conductor.Rules().UpdatePort(unreserved(n), update, q.r.Version); {
	case errors.Is(err, admission.Associated):
		return fault.Conflict("Cannot update hardware address for port %s as node %s is active or has instance UUID assigned", m.UUID, n.UUID)
	case err != nil:
		return fault.Conflict("Port %s can not have any connectivity attributes (%s) updated unless node %s is in a %s state or "+
			"in maintenance mode. The current state is %s.",
			m.UUID, "local_link_connection, physical_network, portgroup_id, pxe_enabled", n.UUID, connectivityStates, n.ProvisionState)
	case changed("portgroup_uuid"), changed("physical_network"):
		return physicalNetworkShared(q)
	default:
		return nil
	}
}

// physicalNetworkShared refuses a port in another physical network than the other ports of its group, or since 2026.1
// for the first port of a group than the group. Since 2026.2 a group without a physical network takes over its first
// port's.
//
// Source: validate_port_physnet in ironic/conductor/utils.py.
func physicalNetworkShared(q *request) error {
	port := q.record.(*conductor.Port)
	if port.PortGroupUUID == "" {
		return nil
	}
	ports, err := q.r.Conductor.ObjectsOf(q.r.Context(), conductor.KindPort, port.NodeUUID)
	if err != nil {
		return err
	}
	refuse := func(network any) error {
		return fault.Conflict("Port with physical network %s cannot become a member of port group %s which has ports in physical network %s.",
			fault.Show(stored(port, "physical_network")), port.PortGroupUUID, fault.Show(network))
	}
	first := true
	for _, o := range ports {
		if other := o.(*conductor.Port); other.UUID != port.UUID && other.PortGroupUUID == port.PortGroupUUID {
			if first = false; !same(other, port, "physical_network") {
				return refuse(stored(other, "physical_network"))
			}
		}
	}
	if !first || q.r.Series < states.Gazpacho {
		return nil
	}
	group, err := q.r.Conductor.Object(q.r.Context(), conductor.KindPortGroup, port.PortGroupUUID)
	if err != nil {
		return err
	}
	own, network := stored(port, "physical_network"), stored(group, "physical_network")
	switch {
	case network != nil && network != own:
		return refuse(network)
	case network == nil && own != nil && q.r.Series >= states.Hibiscus:
		return setPhysicalNetwork(q, conductor.KindPortGroup, port.PortGroupUUID, own)
	default:
		return nil
	}
}

// setPhysicalNetwork sets the physical network of a port or a port group, which another request may have deleted.
func setPhysicalNetwork(q *request, kind conductor.Kind, uuid string, network any) error {
	_, err := q.r.Conductor.UpdateObject(q.r.Context(), kind, uuid, func(o conductor.Object) error {
		fieldOf(o, "physical_network").store(o, network)
		return nil
	})
	if errors.Is(err, conductor.NotFound) {
		return nil
	}
	return err
}

// toLocalLink converts the field local_link_connection: the ID of the switch becomes lower case.
func toLocalLink(r *rest.Request, _ string, v any) (any, error) {
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
	var needs [][2]string
	if s.Highest >= since.LinkVTEP {
		names = append(names, "vtep-logical-switch", "vtep-physical-switch")
		needs = [][2]string{{"vtep-logical-switch", "vtep-physical-switch"}, {"vtep-physical-switch", "vtep-logical-switch"}}
	}
	with := func(types []string, required ...string) *schema.Schema {
		s := &schema.Schema{Types: []string{"object"}, Required: required, Closed: true, ClosedFirst: true, Needs: needs}
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
