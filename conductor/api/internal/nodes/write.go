// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// remove answers DELETE /v1/nodes/NODE.
func remove(r *rest.Request) (rest.Answer, error) {
	if len(r.Params) > 1 {
		return rest.Answer{}, fault.NoSuchResource
	}
	n, err := r.PathNode(r.QueryArgs())
	if err != nil {
		return rest.Answer{}, err
	}
	if err := r.Conductor.DeleteNode(r.Context(), n.UUID); err != nil {
		return rest.Answer{}, err
	}
	return rest.NoContent, nil
}

// update changes a node for a request whose response does not contain the node.
func update(r *rest.Request, change func(n *node) error) error {
	n, err := r.Node(r.Param(0))
	if err != nil {
		return err
	}
	_, err = r.Conductor.UpdateNode(r.Context(), n.UUID, change)
	if errors.Is(err, conductor.NotFound) {
		return rest.NodeNotFound(r.Param(0))
	}
	return err
}

// schemas are the schemas of new and of patched nodes. They depend on the series only, so that they are made once.
type schemas struct {
	created, patched *schema.Schema
}

// reservedNames are not allowed as names of nodes, since they are segments of paths.
var reservedNames = []string{"maintenance", "management", "states", "vendor_passthru", "detail", "validate"}

// checkName refuses an invalid name of a node. format is the text of the fault, with %s for
// the name.
func checkName(r *rest.Request, name any, format string) error {
	if r.Version < since.Names {
		return fault.NotAcceptable
	}
	s, ok := name.(string)
	switch {
	case !ok || !r.ValidName(s) || rest.IsUUID(s):
		return fault.Invalid(format, fault.Show(name))
	case slices.Contains(reservedNames, s):
		return fault.Invalid("The word \"%s\" is reserved and can not be used as a node name. Reserved words are: %s.", s, strings.Join(reservedNames, ", "))
	default:
		return nil
	}
}

// schemaOf describes the fields that a client may set: those of a new node, or of a patched one.
func schemaOf(service *rest.Service, created bool) *schema.Schema {
	s := &schema.Schema{Types: []string{"object"}, Closed: true}
	for _, f := range allFields {
		if !f.created && (created || !f.patched) || f.since > service.Highest {
			continue
		}
		of := f.schema
		if of == nil {
			of = &schema.Schema{Types: f.types, MaxLength: f.maxLength, Secret: f.secret}
		}
		s.Properties = append(s.Properties, schema.Property{Name: f.name, Schema: of})
	}
	slices.SortFunc(s.Properties, func(a, b schema.Property) int { return strings.Compare(a.Name, b.Name) })
	if created {
		s.Required = []string{"driver"}
	}
	return s
}

// networkDataSchema describes the field network_data.
var networkDataSchema = &schema.Schema{AnyOf: []*schema.Schema{{Types: []string{"null"}}, {Types: []string{"object"}, Closed: true}, networkSchema}}

// networkSchema describes network data. It does not restrict the items of the lists.
//
// Source: ironic/api/controllers/v1/network-data-schema.json.
var networkSchema = &schema.Schema{
	Types: []string{"object"}, Required: []string{"links", "networks", "services"},
	Properties: []schema.Property{
		{Name: "links", Schema: &schema.Schema{Types: []string{"array"}}},
		{Name: "networks", Schema: &schema.Schema{Types: []string{"array"}}},
		{Name: "services", Schema: &schema.Schema{Types: []string{"array"}}},
	},
}

// setFields sets fields of a node, first those whose values may be wrong, in Ironic's order.
func setFields(n *node, values map[string]any) error {
	names := slices.SortedStableFunc(maps.Keys(values), func(a, b string) int {
		position := func(name string) int {
			if i := slices.Index(convertedFields, name); i >= 0 {
				return i
			}
			return len(convertedFields)
		}
		return cmp.Or(cmp.Compare(position(a), position(b)), strings.Compare(a, b))
	})
	for _, name := range names {
		if err := fieldsByName[name].set(n, values[name]); err != nil {
			return err
		}
	}
	return nil
}

// Source: NODE_VALIDATE_EXTRA in ironic/api/controllers/v1/node.py.
var convertedFields = []string{
	"automated_clean", "chassis_uuid", "console_enabled", "instance_uuid", "protected", "maintenance", "retired", "uuid",
}

// resolveReferences refuses a node that refers to an unknown chassis or parent node, and a node that no
// conductor can manage. It replaces the name of a parent node by its UUID. group is its conductor group as a fault shows it.
func resolveReferences(r *rest.Request, before, n *node, group string) error {
	if n.ChassisUUID != "" && n.ChassisUUID != before.ChassisUUID {
		if err := objects.CheckChassis(r, n.ChassisUUID); err != nil {
			return fault.As400(err)
		}
	}
	if n.ParentNode != "" && n.ParentNode != before.ParentNode {
		parent, err := r.Conductor.Node(r.Context(), n.ParentNode)
		if errors.Is(err, conductor.NotFound) {
			return fault.Invalid("Unable to apply the requested parent_node '%s'. Requested value was invalid.", fault.Show(n.ParentNode))
		}
		if err != nil {
			return err
		}
		n.ParentNode = parent.UUID
	}
	if n.Driver == before.Driver && n.ConductorGroup == before.ConductorGroup {
		return nil
	}
	members, err := r.Conductor.Members(r.Context())
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Group == n.ConductorGroup && slices.Contains(m.Drivers, n.Driver) {
			return nil
		}
	}
	return fault.Invalid("No valid host was found. Reason: No conductor service registered which supports driver %s for conductor group \"%s\".", fault.Show(n.Driver), fault.Show(group))
}
