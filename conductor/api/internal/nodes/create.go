// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// schemas are the schemas of new and of patched nodes. They depend on the series only, so that they are made once.
type schemas struct {
	created, patched *schema.Schema
}

// create answers POST /v1/nodes.
func (s schemas) create(r *rest.Request) (rest.Answer, error) {
	object, err := s.decode(r)
	if err != nil {
		return rest.Answer{}, err
	}
	n, err := newNode(r, object)
	if err != nil {
		return rest.Answer{}, err
	}
	n, err = r.Conductor.CreateNode(r.Context(), n)
	if err != nil {
		return rest.Answer{}, err
	}
	a := answer(r, http.StatusCreated, n, nil)
	a.Location = "nodes/" + n.UUID
	return a, nil
}

// decode returns the object in the body of a POST, which satisfies the schema of a new node.
func (s schemas) decode(r *rest.Request) (map[string]any, error) {
	body, err := r.Decode(rest.MaxBody)
	if err != nil {
		return nil, err
	}
	object, _ := body.(map[string]any)
	return object, s.created.Validate("node", body)
}

// newNode returns a new node with the fields of a valid object.
//
// Source: post in ironic/api/controllers/v1/node.py.
func newNode(r *rest.Request, object map[string]any) (*node, error) {
	n := &conductor.Node{ProvisionState: r.Version.InitialState()}
	if err := setFields(n, object); err != nil {
		return nil, err
	}
	for name, value := range object {
		empty := value == nil
		if name == "conductor_group" {
			empty = value == ""
		}
		if r.Version < fieldsByName[name].since && !empty {
			return nil, fault.NotAcceptable
		}
	}
	n.SetEmpty("resource_class", false) // Ironic replaces "" by its default
	if name := object["name"]; name != nil {
		if err := checkName(r, name, "Cannot create node with invalid name '%s'"); err != nil {
			return nil, err
		}
	}
	group, _ := object["conductor_group"].(string)
	if err := resolveReferences(r, &conductor.Node{}, n, group); err != nil {
		return nil, err
	}
	return n, nil
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
