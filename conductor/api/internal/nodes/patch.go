// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// patch answers PATCH /v1/nodes/NODE.
//
// Source: patch in ironic/api/controllers/v1/node.py.
func (s schemas) patch(r *rest.Request) (rest.Answer, error) {
	p, reset, err := decodePatch(r)
	if err != nil {
		return rest.Answer{}, err
	}
	if reset != nil && r.Version < since.ResetInterfaces {
		return rest.Answer{}, fault.NotAcceptable
	}
	if err := checkPatch(r, p, reset != nil && *reset); err != nil {
		return rest.Answer{}, err
	}
	n, err := r.Node(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	n, err = r.Conductor.UpdateNode(r.Context(), n.UUID, func(n *node) error {
		removal := len(p) == 1 && p[0].Op == "remove" && p[0].Path == "/instance_uuid"
		if r.Conductor.Rules().Patch(n.Fields(), removal, r.Version) != nil {
			if n.ProvisionState == states.Inspecting {
				return fault.Conflict("Cannot update node \"%s\" while it is in state \"%s\".", n.UUID, n.ProvisionState)
			}
			return fault.Conflict("Node %s can not be updated while a state transition is in progress.", r.Param(0))
		}
		return s.apply(r, n, p, reset != nil && *reset)
	})
	if errors.Is(err, conductor.NotFound) {
		return rest.Answer{}, rest.NodeNotFound(r.Param(0))
	}
	if err != nil {
		return rest.Answer{}, err
	}
	n = n.Clone()
	n.Reservation = r.Conductor.Name() // Ironic responds while it holds the node's lock
	return answer(r, http.StatusOK, n, nil), nil
}

// decodePatch returns the patch in the body and the argument reset_interfaces, which is nil if it is absent.
func decodePatch(r *rest.Request) (p patch.Patch, reset *bool, err error) {
	a := r.QueryArgs("reset_interfaces")
	if reset = a.Boolean("reset_interfaces"); a.Err != nil {
		return nil, nil, a.Err
	}
	p, err = patch.Decode(r)
	return p, reset, err
}

// checkPatch refuses a patch that is invalid for every node.
func checkPatch(r *rest.Request, p patch.Patch, reset bool) error {
	var known []string
	for _, f := range allFields {
		if f.patched && f.since <= r.Highest {
			known = append(known, f.name)
		}
	}
	slices.Sort(known)
	if err := p.Only(known); err != nil {
		return err
	}
	for _, op := range p {
		if op.Op != "remove" && fieldsByName[op.Field].since > r.Version {
			return fault.NotAcceptable
		}
	}
	if reset && len(p.Values("driver")) == 0 {
		return fault.Invalid("The reset_interfaces parameter can only be used when changing the node's driver.")
	}
	for _, data := range p.Values("network_data") {
		if text, _, refused := networkSchema.Refusal(data); refused {
			return fault.Invalid("Invalid network_data: %s ", text)
		}
	}
	return nil
}

// apply applies a patch to a node, and refuses one that leaves the node invalid.
func (s schemas) apply(r *rest.Request, n *node, p patch.Patch, reset bool) error {
	for _, name := range p.Values("name") {
		if err := checkName(r, name, "Node "+r.Param(0)+": Cannot change name to invalid name '%s'"); err != nil {
			return err
		}
	}
	before := n.Clone()
	fields := p.Fields()
	document := make(map[string]any, len(fields))
	for _, name := range fields {
		document[name] = fieldsByName[name].get(n)
	}
	patched, err := p.Apply(document)
	if err != nil {
		return err
	}
	for _, name := range fields {
		if _, ok := patched[name]; !ok && name == "driver" {
			return fault.Schema("patch", "'driver' is a required property")
		} else if !ok {
			patched[name] = nil // Ironic sets the default
		}
	}
	if err := s.patched.Validate("patch", patched); err != nil {
		return err
	}
	if err := setFields(n, patched); err != nil {
		return err
	}
	markRemovedDefaults(r, before, n, patched)
	if retired, is := patched["retired"]; is && retired == nil {
		n.RetiredReason = "" // also if retired was false, which null replaces in Ironic
		n.SetEmpty("retired_reason", false)
	}
	if n.Driver != before.Driver {
		changeInterfaces(r.Service, before, n, fields, reset)
	}
	if before.ChassisUUID != "" && n.ChassisUUID == "" && r.Version < since.ChassisRemoval {
		return fault.NotAcceptable
	}
	if n.InstanceName == "" && r.Series >= states.Gazpacho {
		n.InstanceName, _ = n.InstanceInfo["display_name"].(string)
	}
	if err := resolveReferences(r, before, n, n.ConductorGroup); err != nil {
		return err
	}
	if n.Driver != before.Driver && before.ConsoleEnabled {
		return fault.Conflict("Node %s can not update the driver while the console is enabled. Please stop the console first.", r.Param(0))
	}
	return nil
}

// markRemovedDefaults makes the removal of an interface that is the default a change in states where the conductor
// refuses changes of interfaces. In Ironic every node names all its interfaces.
func markRemovedDefaults(r *rest.Request, before, n *node, patched map[string]any) {
	if n.Maintenance || admission.InterfaceStates().Has(n.ProvisionState) {
		return
	}
	for kind := range r.Describe(before.Driver).Interfaces {
		if name, is := patched[kind+"_interface"]; is && name == nil && before.Interfaces[kind] == "" {
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
func changeInterfaces(s *rest.Service, before, n *node, patched []string, reset bool) {
	interfaces := maps.Clone(n.Interfaces)
	maps.DeleteFunc(interfaces, func(kind, _ string) bool { return !slices.Contains(patched, kind+"_interface") })
	if interfaces == nil {
		interfaces = map[string]string{}
	}
	for kind := range s.Describe(before.Driver).Interfaces {
		if !reset && !slices.Contains(patched, kind+"_interface") {
			interfaces[kind] = s.InterfaceOf(before, kind)
		}
	}
	n.Interfaces = interfaces
}
