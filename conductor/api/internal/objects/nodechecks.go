// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// The checks of a new node and of a patched one. Source: post and patch in ironic/api/controllers/v1/node.py.

// node returns the node of the request.
func (q *request) node() *node { return q.record.(*node) }

// nodeBefore returns the node before a PATCH, an empty one for a POST.
func (q *request) nodeBefore() *node {
	if n, is := q.before.(*node); is {
		return n
	}
	return &node{}
}

// stateInitial sets the provision state of a new node.
func stateInitial(q *request) error {
	q.node().ProvisionState = q.r.Version.InitialState()
	return nil
}

// newNodeFieldsInVersion is fieldsInVersion for a new node, which may have newer fields without a value.
func newNodeFieldsInVersion(q *request) error {
	for name, value := range q.values {
		empty := value == nil
		if name == "conductor_group" {
			empty = value == ""
		}
		if q.field(name).since > q.r.Version && !empty {
			return fault.NotAcceptable
		}
	}
	return nil
}

// classNotEmpty replaces an empty resource class by the default, as Ironic does.
func classNotEmpty(q *request) error {
	q.record.SetEmpty("resource_class", false)
	return nil
}

// resetIsBoolean refuses a value of reset_interfaces that is no boolean.
func resetIsBoolean(q *request) error {
	q.args.Boolean("reset_interfaces")
	return q.args.Err
}

// resets returns whether the interfaces are reset.
func (q *request) resets() bool {
	reset := q.args.Boolean("reset_interfaces")
	return reset != nil && *reset
}

// resetInVersion refuses reset_interfaces with a version that does not have it.
func resetInVersion(q *request) error {
	if q.args.Has("reset_interfaces") && q.r.Version < since.ResetInterfaces {
		return fault.NotAcceptable
	}
	return nil
}

// resetWithDriver refuses reset_interfaces without a change of the driver.
func resetWithDriver(q *request) error {
	if q.resets() && len(q.patch.Values("driver")) == 0 {
		return fault.Invalid("The reset_interfaces parameter can only be used when changing the node's driver.")
	}
	return nil
}

// patchedNodeFieldsInVersion is fieldsInVersion for a node, whose newer fields may be removed, and patched in part.
//
// Source: reject_patch_in_newer_versions in ironic/api/controllers/v1/node.py.
func patchedNodeFieldsInVersion(q *request) error {
	for _, op := range q.patch {
		if op.Op != "remove" && op.Path == "/"+op.Field && q.field(op.Field).since > q.r.Version {
			return fault.NotAcceptable
		}
	}
	return nil
}

// descriptionShort refuses a patch whose first description is too long, before the node is found.
func descriptionShort(q *request) error {
	descriptions := q.patch.Values("description")
	if len(descriptions) == 0 {
		return nil
	}
	if text, _ := descriptions[0].(string); utf8.RuneCountInString(text) > maxDescription {
		return fault.Invalid("Cannot update node with description exceeding %d characters", maxDescription)
	}
	return nil
}

// networkDataValid refuses a patch with invalid network data.
func networkDataValid(q *request) error {
	for _, data := range q.patch.Values("network_data") {
		if text, _, refused := networkData(q.r.Series).Refusal(data); refused {
			return fault.Invalid("Invalid network_data: %s ", text)
		}
	}
	return nil
}

// parentMayChange refuses a new parent of a node that is no node of the same owner. Of several in a patch, Ironic takes
// the first one, also if the patch removes it again.
//
// Source: patch in ironic/api/controllers/v1/node.py, authorize_node_link_patch in utils.py beside it.
func parentMayChange(q *request) error {
	parents := q.patch.Values("parent_node")
	if q.r.Series < states.Epoxy || len(parents) == 0 { // a removal is possible
		return nil
	}
	name, _ := parents[0].(string)
	parent, err := q.parentNamed(name)
	if errors.Is(err, conductor.NotFound) {
		return parentRefused(parents[0])
	}
	if err == nil && !q.isItsParent(parent) {
		q.parent = parent.UUID
	}
	return err
}

// isItsParent reports whether the patched node is its own parent, which since 2025.2 is stored as the client names it.
func (q *request) isItsParent(parent *node) bool {
	return q.r.Series >= states.Flamingo && parent.UUID == q.node().UUID
}

// parentNamed returns the new parent of the node, which since 2025.1 has the same owner as the node before a PATCH. It
// reports another one as NotFound, so that a fault does not disclose that it exists.
//
// Source: authorize_node_link in ironic/api/controllers/v1/utils.py.
func (q *request) parentNamed(ident string) (*node, error) {
	child := q.record
	if q.before != nil {
		child = q.before
	}
	parent, err := q.r.Conductor.Node(q.r.Context(), ident)
	if err == nil && q.r.Series >= states.Epoxy && stored(parent, "owner") != stored(child, "owner") {
		return nil, conductor.NotFound
	}
	return parent, err
}

func parentRefused(ident any) error {
	return fault.Invalid("Unable to apply the requested parent_node '%s'. Requested value was invalid.", fault.Show(ident))
}

// nodeMayBePatched refuses a patch in a state that does not allow it.
func nodeMayBePatched(q *request) error {
	n := q.node()
	removal := len(q.patch) == 1 && q.patch[0].Op == "remove" && q.patch[0].Path == "/instance_uuid"
	switch {
	case q.r.Conductor.Rules().Patch(n.Fields(), removal, q.r.Version) == nil:
		return nil
	case n.ProvisionState.Work() == states.WorkInspect:
		return fault.Conflict("Cannot update node \"%s\" while it is in state \"%s\".", n.UUID, n.ProvisionState)
	default:
		return fault.Conflict("Node %s can not be updated while a state transition is in progress.", q.r.Param(0))
	}
}

// ownerMayChange refuses a patch that sets the owner of a node which an allocation with an owner has.
func ownerMayChange(q *request) error {
	n := q.node()
	if n.AllocationUUID == "" || len(q.patch.Values("owner")) == 0 {
		return nil
	}
	allocation, err := q.r.Conductor.Object(q.r.Context(), conductor.KindAllocation, n.AllocationUUID)
	switch {
	case errors.Is(err, conductor.NotFound):
		return nil
	case err == nil && stored(allocation, "owner") != nil:
		return fault.Conflict("Cannot update owner of node \"%s\" while it is allocated to an allocation with an  owner.", n.UUID)
	default:
		return err
	}
}

// nodePatchApplies applies the patch to the fields that it changes. A removed field gets its default, as in Ironic, but
// the driver has none.
func nodePatchApplies(q *request) (err error) {
	document := map[string]any{}
	for _, name := range q.patch.Fields() {
		document[name] = q.field(name).value(q.record)
	}
	if q.values, err = q.patch.Apply(document, q.shownInFaults); err != nil {
		return err
	}
	for name := range document {
		if _, has := q.values[name]; !has && name == "driver" {
			return fault.Schema("patch", "'driver' is a required property")
		} else if !has {
			q.values[name] = nil
		}
	}
	if q.parent != "" {
		q.values["parent_node"] = q.parent
	}
	return nil
}

// removedDefaultsMarked makes the removal of an interface that is the default a change in states where the conductor
// refuses changes of interfaces. In Ironic every node names all its interfaces.
func removedDefaultsMarked(q *request) error {
	before, n := q.nodeBefore(), q.node()
	if n.Maintenance || admission.InterfaceStates().Has(n.ProvisionState) {
		return nil
	}
	for kind := range q.r.Describe(before.Driver).Interfaces {
		if name, is := q.values[kind+"_interface"]; is && name == nil && before.Interfaces[kind] == "" {
			if n.Interfaces == nil {
				n.Interfaces = map[string]string{}
			}
			n.Interfaces[kind] = ""
		}
	}
	return nil
}

// reasonWithRetired clears the reason of a retired node with the field retired, also if it was false, which null
// replaces in Ironic.
func reasonWithRetired(q *request) error {
	if retired, is := q.values["retired"]; is && retired == nil {
		q.node().RetiredReason = ""
		q.record.SetEmpty("retired_reason", false)
	}
	return nil
}

// interfacesFollowDriver chooses the interfaces of a node whose driver changes, except those that the patch
// chooses. The node gets the defaults of its new hardware type if they are reset, and keeps its
// interfaces otherwise, also those that are defaults of the old one.
func interfacesFollowDriver(q *request) error {
	before, n := q.nodeBefore(), q.node()
	if n.Driver == before.Driver {
		return nil
	}
	patched := func(kind string) bool { _, is := q.values[kind+"_interface"]; return is }
	interfaces := map[string]string{}
	for kind := range q.r.Describe(before.Driver).Interfaces {
		if !q.resets() && !patched(kind) {
			interfaces[kind] = q.r.InterfaceOf(before, kind)
		}
	}
	maps.DeleteFunc(n.Interfaces, func(kind, _ string) bool { return !patched(kind) })
	maps.Copy(interfaces, n.Interfaces)
	n.Interfaces = interfaces
	return nil
}

// chassisMayGo refuses the removal of a node from its chassis with a version that does not have it.
func chassisMayGo(q *request) error {
	if q.nodeBefore().ChassisUUID != "" && q.node().ChassisUUID == "" && q.r.Version < since.ChassisRemoval {
		return fault.NotAcceptable
	}
	return nil
}

// instanceNamed names the instance by its display name if the patch changes instance_info, and the instance has no
// other name.
func instanceNamed(q *request) error {
	n := q.node()
	if n.InstanceName != "" || q.r.Series < states.Gazpacho || same(q.before, n, "instance_info") {
		return nil
	}
	switch name := n.InstanceInfo["display_name"].(type) {
	case string:
		n.InstanceName = name
	case json.Number:
		if pyrepr.Truthy(name) {
			n.InstanceName = pyrepr.Of(name)
		}
	}
	return nil
}

// referencesExist refuses a node that refers to an unknown chassis or parent node, and a node that no conductor can
// manage. It replaces the name of a parent node by its UUID.
func referencesExist(q *request) error {
	r, before, n := q.r, q.nodeBefore(), q.node()
	if n.ChassisUUID != "" && n.ChassisUUID != before.ChassisUUID {
		if err := CheckChassis(r, n.ChassisUUID); err != nil {
			return fault.As400(err)
		}
	}
	if n.ParentNode != "" && n.ParentNode != before.ParentNode {
		parent, err := q.parentNamed(n.ParentNode)
		if errors.Is(err, conductor.NotFound) {
			return parentRefused(n.ParentNode)
		}
		if err != nil {
			return err
		}
		if !q.isItsParent(parent) {
			n.ParentNode = parent.UUID
		}
	}
	if n.Driver == before.Driver && n.ConductorGroup == before.ConductorGroup {
		return nil
	}
	members, err := r.Conductor.Members()
	if err != nil {
		return err
	}
	managed := n.ConductorGroup
	if q.before == nil {
		managed = cmp.Or(managed, r.Conductor.DefaultGroup())
	}
	for _, m := range members {
		if m.Group == managed && slices.Contains(m.Drivers, n.Driver) {
			return nil
		}
	}
	hint := ""
	if r.Series >= states.Caracal {
		hint = " Ensure the driver is valid and enabled."
	}
	group := n.ConductorGroup
	if q.before == nil { // as in the body
		group, _ = q.values["conductor_group"].(string)
	}
	return fault.Invalid("No valid host was found. Reason: No conductor service registered which supports driver %s "+
		"for conductor group \"%s\".%s",
		fault.Show(n.Driver), fault.Show(group), hint)
}

// consoleStopped refuses a change of the driver while the console is enabled.
func consoleStopped(q *request) error {
	if before := q.nodeBefore(); q.node().Driver != before.Driver && before.ConsoleEnabled {
		return fault.Conflict("Node %s can not update the driver while the console is enabled. Please stop the console first.", q.r.Param(0))
	}
	return nil
}
