package api

import (
	"errors"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// Ironic's rules for ports, port groups and volumes. Source: ironic/conductor/manager.py and
// the controllers of ports and port groups in ironic/api/controllers/v1.

// same reports whether a field of two objects has the same value.
func same(before, o conductor.Object, field string) bool {
	return equalJSON(load(before, field), load(o, field))
}

// equalJSON reports whether two values have the same JSON form.
func equalJSON(a, b any) bool {
	x, y := newWriter(64), newWriter(64)
	x.value(a)
	y.value(b)
	return string(x.b) == string(y.b)
}

func isTrue(b *bool) bool { return b != nil && *b }

// orTrue returns the value of a field for which null stands for true.
func orTrue(b *bool) bool { return b == nil || *b }

// checkPort refuses a port whose fields do not fit each other or its port group.
func checkPort(r *request, before, o conductor.Object) error {
	port := o.(*conductor.Port)
	link := port.LocalLinkConnection
	switch {
	case before == nil && isTrue(port.IsSmartNIC) && len(link) > 0 && (link["port_id"] == nil || link["hostname"] == nil):
		return invalid("Smart NIC port must have port_id and hostname in local_link_connection")
	case load(o, "physical_network") == "":
		return invalid("A non-empty value is required when setting physical_network")
	}
	if err := r.checkNewName(before, o, "port"); err != nil {
		return err
	}
	if err := notInspected(r, before, o, "Cannot update port \"%s\" on \"%s\" while it is in state \"%s\"."); err != nil {
		return err
	}
	if port.PortGroupUUID == "" || before != nil && same(before, o, "portgroup_uuid") {
		return nil
	}
	found, err := r.object(portGroupResource, port.PortGroupUUID)
	if err != nil {
		return as400(err)
	}
	switch group := found.(*conductor.PortGroup); {
	case group.NodeUUID != port.NodeUUID:
		return invalid("Port can not be added to a portgroup belonging to a different node.")
	case before == nil && !orTrue(group.StandalonePortsSupported) && orTrue(port.PXEEnabled):
		return conflict("Port group %s doesn't support standalone ports. This port cannot be created as a member of that portgroup as the port's 'pxe_enabled' field was set to True.", group.UUID)
	default:
		return nil
	}
}

// allowPort refuses a port that its node or the other ports of its port group do not allow.
func allowPort(r *request, before, o conductor.Object) error {
	if before == nil {
		return samePhysicalNetwork(r, o)
	}
	m := o.Meta()
	n, err := r.conductor.Node(r.Context(), m.NodeUUID)
	if err != nil {
		return err
	}
	changed := slices.ContainsFunc(connectivity, func(field string) bool { return !same(before, o, field) })
	update := admission.PortUpdate{Address: !same(before, o, "address"), Connectivity: changed}
	switch err := r.conductor.Rules().UpdatePort(awaited(n), update, r.version); {
	case err == nil && same(before, o, "portgroup_uuid") && same(before, o, "physical_network"):
		return nil
	case err == nil:
		return samePhysicalNetwork(r, o)
	case errors.Is(err, admission.Associated):
		return conflict("Cannot update hardware address for port %s as node %s is active or has instance UUID assigned", m.UUID, n.UUID)
	default:
		return conflict("Port %s can not have any connectivity attributes (%s) updated unless node %s is in a %s state or in maintenance mode. The current state is %s.",
			m.UUID, "local_link_connection, physical_network, portgroup_id, pxe_enabled", n.UUID, connectivityStates, n.ProvisionState)
	}
}

// namePortNode replaces the name of a new port's node with its UUID.
func namePortNode(r *request, body any) error {
	object, _ := body.(map[string]any)
	ident, isText := object["node_ident"].(string)
	if !isText || r.highest < since.PortNode {
		return nil
	}
	if _, both := object["node_uuid"]; both {
		return schemaError("port", "only one of 'node_ident' and 'node_uuid' may be given")
	}
	if r.version < since.PortNode {
		return errNotAcceptable
	}
	n, err := r.nodeNamed(ident)
	if err != nil {
		return as400(err)
	}
	delete(object, "node_ident")
	object["node_uuid"] = n.UUID
	return nil
}

// connectivityStates are the states of [admission.ConnectivityStates] in the order of Ironic's texts.
const connectivityStates = "enroll, inspecting, inspect wait, manageable"

// connectivity are the fields of a port that describe its connection.
var connectivity = []string{"portgroup_uuid", "pxe_enabled", "local_link_connection", "physical_network"}

// samePhysicalNetwork refuses a port in another physical network than the other ports of its group.
//
// Source: validate_port_physnet in ironic/conductor/utils.py.
func samePhysicalNetwork(r *request, o conductor.Object) error {
	m, group := o.Meta(), o.(*conductor.Port).PortGroupUUID
	if group == "" {
		return nil
	}
	ports, err := r.conductor.ObjectsOf(r.Context(), conductor.KindPort, m.NodeUUID)
	if err != nil {
		return err
	}
	for _, other := range ports {
		if port := other.(*conductor.Port); port.UUID != m.UUID && port.PortGroupUUID == group && !same(port, o, "physical_network") {
			return conflict("Port with physical network %s cannot become a member of port group %s which has ports in physical network %s.",
				show(load(o, "physical_network")), group, show(load(port, "physical_network")))
		}
	}
	return nil
}

// hasNew reports whether a POST or a patch has a field that the version does not have.
func hasNew(x *resource, r *request, object map[string]any, p patch) bool {
	return slices.ContainsFunc(x.fields, func(f objectField) bool {
		_, there := object[f.name]
		return f.since > r.version && f.since <= r.highest && (there || p.replaces(f.name))
	})
}

// newForPort is hasNew for the fields of a port and the keys of its connection.
func newForPort(x *resource, r *request, object map[string]any, p patch) bool {
	link, _ := object["local_link_connection"].(map[string]any)
	_, typed := link["network_type"]
	_, logical := link["vtep-logical-switch"]
	return hasNew(x, r, object, p) || r.version < since.LinkVTEP && logical ||
		r.version < since.LinkNetworkType && (typed || p.replaces("local_link_connection/network_type"))
}

// newForPortGroup is hasNew for a port group. Ironic permits empty values, and looks at the first
// operation of a patch only.
func newForPortGroup(x *resource, r *request, object map[string]any, p patch) bool {
	return slices.ContainsFunc(x.fields, func(f objectField) bool {
		return f.since > r.version && (truthy(object[f.name]) || p.startsWith(f.name))
	})
}

func checkPortGroup(r *request, before, o conductor.Object) error {
	if err := r.checkNewName(before, o, "portgroup"); err != nil {
		return err
	}
	return notInspected(r, before, o, "Cannot update portgroup \"%s\" on node \"%s\" while it is in state \"%s\".")
}

// allowPortGroup refuses a change to a port group that its node does not allow.
func allowPortGroup(r *request, before, o conductor.Object) error {
	m := o.Meta()
	n, err := r.conductor.Node(r.Context(), m.NodeUUID)
	if err != nil {
		return err
	}
	moves := before.Meta().NodeUUID != m.NodeUUID
	err = r.conductor.Rules().UpdatePort(awaited(n), admission.PortUpdate{Connectivity: moves}, r.version)
	switch {
	case err != nil:
		return conflict("Portgroup %s can not be associated to node %s unless the node is in a %s state or in maintenance mode.", m.UUID, n.UUID, connectivityStates)
	case moves:
		return portGroupEmpty(r, o)
	default:
		return nil
	}
}

// notInspected refuses the patch of a port or port group while its node is inspected. The text is
// a format for the UUIDs of the record and the node, and the state.
func notInspected(r *request, before, o conductor.Object, text string) error {
	if before == nil {
		return nil
	}
	n, err := r.conductor.Node(r.Context(), o.Meta().NodeUUID)
	if err != nil {
		return err
	}
	if r.conductor.Rules().UpdatePort(awaited(n), admission.PortUpdate{}, r.version) != nil {
		return conflict(text, o.Meta().UUID, n.UUID, n.ProvisionState)
	}
	return nil
}

// awaited returns the fields of a node whose lock the write waits for, see [conductor.Conductor.TouchNode].
func awaited(n *conductor.Node) admission.NodeFields {
	fields := n.Fields()
	fields.Reserved = false
	return fields
}

// portGroupEmpty refuses a change to a port group that has ports.
func portGroupEmpty(r *request, o conductor.Object) error {
	m := o.Meta()
	ports, err := r.conductor.ObjectsOf(r.Context(), conductor.KindPort, m.NodeUUID)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(ports, func(port conductor.Object) bool { return port.(*conductor.Port).PortGroupUUID == m.UUID }) {
		return invalid("Cannot complete the requested action because portgroup %s contains ports.", m.UUID)
	}
	return nil
}

// sameUUID refuses a patch of a record's UUID.
func sameUUID(_ *request, before, o conductor.Object) error {
	if before != nil && before.Meta().UUID != o.Meta().UUID {
		return invalid("Cannot overwrite UUID for an existing Chassis.")
	}
	return nil
}

// chassisEmpty refuses the deletion of a chassis that has nodes.
func chassisEmpty(r *request, o conductor.Object) error {
	nodes, err := r.conductor.Nodes(r.Context())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(nodes, func(n *conductor.Node) bool { return n.ChassisUUID == o.Meta().UUID }) {
		return invalid("Cannot complete the requested action because chassis %s contains nodes.", o.Meta().UUID)
	}
	return nil
}

// volumeUpdate refuses a change to a volume of a node that is not powered off.
func volumeUpdate(action string) func(r *request, before, o conductor.Object) error {
	return func(r *request, before, o conductor.Object) error {
		if before == nil {
			return nil
		}
		return checkVolume(action, admission.Rules.UpdateVolume)(r, o)
	}
}

// checkVolume refuses a request for a volume that a rule refuses for its node.
func checkVolume(action string, rule func(admission.Rules, admission.NodeFields) error) func(r *request, o conductor.Object) error {
	return func(r *request, o conductor.Object) error {
		n, err := r.conductor.Node(r.Context(), o.Meta().NodeUUID)
		if err != nil {
			return as400(err)
		}
		if rule(r.conductor.Rules(), awaited(n)) != nil {
			return stateFault(action, n.UUID, pythonPower(n.Power))
		}
		return nil
	}
}

// byPortGroup filters ports by port group.
var byPortGroup = objectFilter{
	name: "portgroup", since: since.PortGroupsBelow, group: "portgroup", old: errNotAcceptable, decode: decodeIdent,
	apply: func(a *args, r *request, s *selection) { a.err = r.selectPortGroup(a.ident("portgroup"), s) },
}

// byDescription filters records by a substring of their description.
func byDescription(a *args, _ *request, s *selection) {
	part := strings.ToLower(a.text("description_contains"))
	s.where(func(o conductor.Object) bool {
		return strings.Contains(strings.ToLower(o.(*conductor.Port).Description), part)
	})
}

// byNodeShard filters records by the shards of their nodes.
func byNodeShard(since states.APIVersion) objectFilter {
	return objectFilter{name: "shard", since: since, group: "shard", decode: decodeList, apply: func(a *args, r *request, s *selection) {
		shards := a.list("shard")
		s.whereNode(a, r, func(n *conductor.Node) bool { return slices.Contains(shards, n.Shard) })
	}}
}

func byConductorGroups(a *args, r *request, s *selection) {
	groups := a.list("conductor_groups")
	s.whereNode(a, r, func(n *conductor.Node) bool { return slices.Contains(groups, n.ConductorGroup) })
}

// whereNode selects the records of the nodes for which test returns true.
func (s *selection) whereNode(a *args, r *request, test func(n *conductor.Node) bool) {
	nodes, err := r.conductor.Nodes(r.Context())
	if err != nil {
		a.err = err
	}
	of := map[string]bool{}
	for _, n := range nodes {
		if test(n) {
			of[n.UUID] = true
		}
	}
	s.where(func(o conductor.Object) bool { return of[o.Meta().NodeUUID] })
}
