// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// Ironic's rules for ports, port groups and volumes. Source: ironic/conductor/manager.py and
// the controllers of ports and port groups in ironic/api/controllers/v1.

// same reports whether a field of two objects has the same value in JSON.
func same(before, o conductor.Object, name string) bool {
	f := fieldOf(o, name)
	x, y := wire.New(64), wire.New(64)
	x.Value(f.value(before))
	y.Value(f.value(o))
	return string(x.B) == string(y.B)
}

// orTrue returns the value of a field for which null stands for true.
func orTrue(b *bool) bool { return b == nil || *b }

// checkPort refuses a port whose fields contradict each other or its port group.
func checkPort(r *rest.Request, before, o conductor.Object) error {
	port := o.(*conductor.Port)
	var group *conductor.PortGroup // that the port joins
	if port.PortGroupUUID != "" && (before == nil || !same(before, o, "portgroup_uuid")) {
		found, err := find(r, portGroupResource, port.PortGroupUUID)
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
	case fieldOf(o, "physical_network").load(o) == "":
		return fault.Invalid("A non-empty value is required when setting physical_network")
	case before == nil && group != nil && !orTrue(group.StandalonePortsSupported) && orTrue(port.PXEEnabled):
		return fault.Conflict("Port group %s doesn't support standalone ports. This port cannot be created as a member of that portgroup as the port's 'pxe_enabled' field was set to True.", group.UUID)
	}
	if err := checkNewName(r, before, o, "port"); err != nil {
		return err
	}
	return notInspected(r, before, o, "Cannot update port \"%s\" on \"%s\" while it is in state \"%s\".")
}

// allowPort refuses a patched port that its node or the other ports of its port group do not allow.
func allowPort(r *rest.Request, before, o conductor.Object) error {
	m := o.Meta()
	n, err := r.Conductor.Node(r.Context(), m.NodeUUID)
	if err != nil {
		return err
	}
	changed := slices.ContainsFunc(connectivity, func(field string) bool { return !same(before, o, field) })
	update := admission.PortUpdate{Address: !same(before, o, "address"), Connectivity: changed}
	switch err := r.Conductor.Rules().UpdatePort(awaited(n), update, r.Version); {
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
	n, err := r.NodeNamed(ident)
	if err != nil {
		return fault.As400(err)
	}
	delete(object, "node_ident")
	object["node_uuid"] = n.UUID
	return nil
}

// connectivityStates are the states in which [admission.Rules.UpdatePort] permits changes of the connectivity, in the order
// of Ironic's texts.
const connectivityStates = "enroll, inspecting, inspect wait, manageable"

// connectivity are the fields of a port that describe its connection.
var connectivity = []string{"portgroup_uuid", "pxe_enabled", "local_link_connection", "physical_network"}

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
				fault.Show(fieldOf(o, "physical_network").load(o)), group, fault.Show(fieldOf(port, "physical_network").load(port)))
		}
	}
	return nil
}

// hasNew reports whether a POST or a patch has a field that the version does not have.
func hasNew(x *resource, r *rest.Request, object map[string]any, p patch.Patch) bool {
	return slices.ContainsFunc(x.fields, func(f field) bool {
		_, there := object[f.name]
		return f.since > r.Version && f.since <= r.Highest && (there || p.Replaces(f.name))
	})
}

// newForPort is hasNew for the fields of a port and the keys of its connection.
func newForPort(x *resource, r *rest.Request, object map[string]any, p patch.Patch) bool {
	link, _ := object["local_link_connection"].(map[string]any)
	_, typed := link["network_type"]
	_, logical := link["vtep-logical-switch"]
	return hasNew(x, r, object, p) || r.Version < since.LinkVTEP && logical ||
		r.Version < since.LinkNetworkType && (typed || p.Replaces("local_link_connection/network_type"))
}

// newForPortGroup is hasNew for a port group. Ironic permits empty values, and looks at the first
// operation of a patch only.
func newForPortGroup(x *resource, r *rest.Request, object map[string]any, p patch.Patch) bool {
	return slices.ContainsFunc(x.fields, func(f field) bool {
		return f.since > r.Version && (schema.Truthy(object[f.name]) || p.StartsWith(f.name))
	})
}

func checkPortGroup(r *rest.Request, before, o conductor.Object) error {
	if err := checkNewName(r, before, o, "portgroup"); err != nil {
		return err
	}
	return notInspected(r, before, o, "Cannot update portgroup \"%s\" on node \"%s\" while it is in state \"%s\".")
}

// allowPortGroup refuses a change to a port group that its node does not allow.
func allowPortGroup(r *rest.Request, before, o conductor.Object) error {
	m := o.Meta()
	n, err := r.Conductor.Node(r.Context(), m.NodeUUID)
	if err != nil {
		return err
	}
	moves := before.Meta().NodeUUID != m.NodeUUID
	err = r.Conductor.Rules().UpdatePort(awaited(n), admission.PortUpdate{Connectivity: moves}, r.Version)
	switch {
	case err != nil:
		return fault.Conflict("Portgroup %s can not be associated to node %s unless the node is in a %s state or in maintenance mode.", m.UUID, n.UUID, connectivityStates)
	case moves:
		return portGroupEmpty(r, o)
	default:
		return nil
	}
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
	if r.Conductor.Rules().UpdatePort(awaited(n), admission.PortUpdate{}, r.Version) != nil {
		return fault.Conflict(text, o.Meta().UUID, n.UUID, n.ProvisionState)
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
func portGroupEmpty(r *rest.Request, o conductor.Object) error {
	m := o.Meta()
	ports, err := r.Conductor.ObjectsOf(r.Context(), conductor.KindPort, m.NodeUUID)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(ports, func(port conductor.Object) bool { return port.(*conductor.Port).PortGroupUUID == m.UUID }) {
		return fault.Invalid("Cannot complete the requested action because portgroup %s contains ports.", m.UUID)
	}
	return nil
}

// FindChassis returns the fault of a chassis that does not exist.
func FindChassis(r *rest.Request, uuid string) error {
	_, err := find(r, chassisResource, uuid)
	return err
}

// checkChassis refuses a patch of the UUID of a chassis. A patch that changes nothing changes updated_at, as in Ironic.
func checkChassis(_ *rest.Request, before, o conductor.Object) error {
	if before == nil {
		return nil
	}
	if before.Meta().UUID != o.Meta().UUID {
		return fault.Invalid("Cannot overwrite UUID for an existing Chassis.")
	}
	changed := time.Unix(0, 0) // replaced when it is stored
	o.Meta().UpdatedAt = &changed
	return nil
}

// chassisEmpty refuses the deletion of a chassis that has nodes.
func chassisEmpty(r *rest.Request, o conductor.Object) error {
	nodes, err := r.Conductor.Nodes(r.Context())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(nodes, func(n *conductor.Node) bool { return n.ChassisUUID == o.Meta().UUID }) {
		return fault.Invalid("Cannot complete the requested action because chassis %s contains nodes.", o.Meta().UUID)
	}
	return nil
}

// volumeUpdate refuses a change to a volume of a node that is not powered off.
func volumeUpdate(action string) func(r *rest.Request, before, o conductor.Object) error {
	return func(r *rest.Request, _, o conductor.Object) error {
		return checkVolume(action, admission.Rules.UpdateVolume)(r, o)
	}
}

// checkVolume refuses a request for a volume that a rule refuses for its node.
func checkVolume(action string, rule func(admission.Rules, admission.NodeFields) error) func(r *rest.Request, o conductor.Object) error {
	return func(r *rest.Request, o conductor.Object) error {
		n, err := r.Conductor.Node(r.Context(), o.Meta().NodeUUID)
		if err != nil {
			return fault.As400(err)
		}
		if rule(r.Conductor.Rules(), awaited(n)) != nil {
			return fault.State(action, n.UUID, fault.Power(n.Power))
		}
		return nil
	}
}

// byPortGroup filters ports by port group.
var byPortGroup = filter{
	name: "portgroup", since: since.PortGroupsBelow, group: "portgroup", old: fault.NotAcceptable, decode: decodeIdent,
	apply: func(a *rest.Args, r *rest.Request, s *selection) { a.Err = selectPortGroup(r, a.Ident("portgroup"), s) },
}

// byDescription filters records by a substring of their description.
func byDescription(a *rest.Args, _ *rest.Request, s *selection) {
	part := strings.ToLower(a.Text("description_contains"))
	s.where(func(o conductor.Object) bool {
		return strings.Contains(strings.ToLower(o.(*conductor.Port).Description), part)
	})
}

// byNodeShard filters records by the shards of their nodes.
func byNodeShard(since states.APIVersion) filter {
	return filter{name: "shard", since: since, group: "shard", decode: decodeList, apply: func(a *rest.Args, r *rest.Request, s *selection) {
		shards := a.List("shard")
		s.whereNode(a, r, func(n *conductor.Node) bool { return slices.Contains(shards, n.Shard) })
	}}
}

func byConductorGroups(a *rest.Args, r *rest.Request, s *selection) {
	groups := a.List("conductor_groups")
	s.whereNode(a, r, func(n *conductor.Node) bool { return slices.Contains(groups, n.ConductorGroup) })
}

// whereNode selects the records of the nodes for which test returns true.
func (s *selection) whereNode(a *rest.Args, r *rest.Request, test func(n *conductor.Node) bool) {
	nodes, err := r.Conductor.Nodes(r.Context())
	if err != nil {
		a.Err = err
	}
	of := map[string]bool{}
	for _, n := range nodes {
		if test(n) {
			of[n.UUID] = true
		}
	}
	s.where(func(o conductor.Object) bool { return of[o.Meta().NodeUUID] })
}
