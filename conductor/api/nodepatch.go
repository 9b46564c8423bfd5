package api

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// patch answers PATCH /v1/nodes/NODE.
//
// Source: patch in ironic/api/controllers/v1/node.py.
func (s nodeWrites) patch(r *request) (answer, error) {
	a := r.queryArgs("reset_interfaces")
	reset := a.boolean("reset_interfaces")
	if a.err != nil {
		return answer{}, a.err
	}
	p, err := r.decodePatch()
	if err != nil {
		return answer{}, err
	}
	if reset != nil && r.version < since.ResetInterfaces {
		return answer{}, errNotAcceptable
	}
	if err := r.checkNodePatch(p, reset != nil && *reset); err != nil {
		return answer{}, err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	n, err = r.conductor.UpdateNode(r.Context(), n.UUID, func(n *node) error {
		if err := r.checkUpdatable(n, p); err != nil {
			return err
		}
		return s.apply(r, n, p, reset != nil && *reset)
	})
	if errors.Is(err, conductor.NotFound) {
		return answer{}, nodeNotFound(r.param(0))
	}
	if err != nil {
		return answer{}, err
	}
	n = n.Clone()
	n.Reservation = r.conductor.Name() // Ironic responds while it holds the node's lock
	return r.nodeAnswer(http.StatusOK, n, nil), nil
}

// checkNodePatch refuses a patch that is invalid for every node.
func (r *request) checkNodePatch(p patch, reset bool) error {
	if err := p.only(r.patchedNodeFields()); err != nil {
		return err
	}
	for _, op := range p {
		if op.op != "remove" && nodeFieldsByName[op.field].since > r.version {
			return errNotAcceptable
		}
	}
	if reset && len(p.values("driver")) == 0 {
		return invalid("The reset_interfaces parameter can only be used when changing the node's driver.")
	}
	for _, data := range p.values("network_data") {
		if text, _, refused := networkSchema.refusal(data); refused {
			return invalid("Invalid network_data: %s ", text)
		}
	}
	return nil
}

// checkUpdatable refuses a patch if the node's state does not allow updates.
func (r *request) checkUpdatable(n *node, p patch) error {
	removal := len(p) == 1 && p[0].op == "remove" && p[0].path == "/instance_uuid"
	switch {
	case r.conductor.Rules().Patch(n.Fields(), removal, r.version) == nil:
		return nil
	case n.ProvisionState == states.Inspecting && (n.TargetProvisionState == states.NoState || r.table.UpdateAllowed().Has(n.ProvisionState)):
		return conflict("Cannot update node \"%s\" while it is in state \"%s\".", n.UUID, n.ProvisionState)
	default:
		return conflict("Node %s can not be updated while a state transition is in progress.", r.param(0))
	}
}

// apply applies a patch to a node.
func (s nodeWrites) apply(r *request, n *node, p patch, reset bool) error {
	for _, name := range p.values("name") {
		if err := r.checkNodeName(name, "Node "+r.param(0)+": Cannot change name to invalid name '%s'"); err != nil {
			return err
		}
	}
	before := n.Clone()
	fields := p.fields()
	document := make(map[string]any, len(fields))
	for _, name := range fields {
		document[name] = nodeFieldsByName[name].get(n)
	}
	patched, err := p.apply(document)
	if err != nil {
		return err
	}
	for _, name := range fields {
		if _, ok := patched[name]; !ok && name == "driver" {
			return schemaError("patch", "'driver' is a required property")
		} else if !ok {
			patched[name] = nil // Ironic sets the default
		}
	}
	if err := s.patched.validate("patch", patched); err != nil {
		return err
	}
	if err := setFields(n, patched); err != nil {
		return err
	}
	r.removeDefaults(before, n, patched)
	if retired, is := patched["retired"]; is && retired == nil {
		n.RetiredReason = "" // also if retired was false, which null replaces in Ironic
		n.SetEmpty("retired_reason", false)
	}
	if n.Driver != before.Driver {
		r.changeInterfaces(before, n, fields, reset)
	}
	return r.checkPatched(before, n)
}

// removeDefaults makes the removal of an interface that is the default a change where the conductor
// refuses changes of interfaces. In Ironic every node names all its interfaces.
func (r *request) removeDefaults(before, n *node, patched map[string]any) {
	if n.Maintenance || admission.InterfaceStates().Has(n.ProvisionState) {
		return
	}
	for kind := range r.describe(before.Driver).Interfaces {
		if name, is := patched[kind+"_interface"]; is && name == nil && before.Interfaces[kind] == "" {
			n.Interfaces = maps.Clone(n.Interfaces)
			if n.Interfaces == nil {
				n.Interfaces = map[string]string{}
			}
			n.Interfaces[kind] = ""
		}
	}
}

// changeInterfaces chooses the interfaces of a node whose driver changes, except those that the patch
// chooses. The node gets the defaults of its new hardware type if they are reset, and keeps its
// interfaces otherwise, also those that are defaults of the old one.
func (s *service) changeInterfaces(before, n *node, patched []string, reset bool) {
	interfaces := maps.Clone(n.Interfaces)
	maps.DeleteFunc(interfaces, func(kind, _ string) bool { return !slices.Contains(patched, kind+"_interface") })
	if interfaces == nil {
		interfaces = map[string]string{}
	}
	for kind := range s.describe(before.Driver).Interfaces {
		if !reset && !slices.Contains(patched, kind+"_interface") {
			interfaces[kind] = s.interfaceOf(before, kind)
		}
	}
	n.Interfaces = interfaces
}

// checkPatched refuses a patched node that breaks a rule.
func (r *request) checkPatched(before, n *node) error {
	if before.ChassisUUID != "" && n.ChassisUUID == "" && r.version < since.ChassisRemoval {
		return errNotAcceptable
	}
	if n.InstanceName == "" && r.series >= states.Gazpacho {
		n.InstanceName, _ = n.InstanceInfo["display_name"].(string)
	}
	if err := r.checkNode(before, n, n.ConductorGroup); err != nil {
		return err
	}
	if n.Driver != before.Driver && before.ConsoleEnabled {
		return conflict("Node %s can not update the driver while the console is enabled. Please stop the console first.", r.param(0))
	}
	return nil
}

// deleteNode answers DELETE /v1/nodes/NODE.
func deleteNode(r *request) (answer, error) {
	if len(r.params) > 1 {
		return answer{}, errNotFound
	}
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	if err := r.conductor.DeleteNode(r.Context(), n.UUID); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent}, nil
}

// updateNode changes a node for a request whose response does not contain the node.
func (r *request) updateNode(change func(n *node) error) error {
	n, err := r.node(r.param(0))
	if err != nil {
		return err
	}
	_, err = r.conductor.UpdateNode(r.Context(), n.UUID, change)
	if errors.Is(err, conductor.NotFound) {
		return nodeNotFound(r.param(0))
	}
	return err
}
