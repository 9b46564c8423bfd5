package api

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// reservedNames are not allowed as names of nodes, since they are segments of paths.
var reservedNames = []string{"maintenance", "management", "states", "vendor_passthru", "detail", "validate"}

// checkNodeName refuses an invalid name of a node. format is the text of the fault, with %s for
// the name.
func (r *request) checkNodeName(name any, format string) error {
	if r.version < since.Names {
		return errNotAcceptable
	}
	s, ok := name.(string)
	switch {
	case !ok || !r.validName(s) || isUUID(s):
		return invalid(format, show(name))
	case slices.Contains(reservedNames, s):
		return invalid("The word \"%s\" is reserved and can not be used as a node name. Reserved words are: %s.", s, strings.Join(reservedNames, ", "))
	default:
		return nil
	}
}

// nodeWrites creates and patches nodes. It has the schemas of the fields that a client may set, which
// are made once.
type nodeWrites struct {
	created, patched *schema
}

// create answers POST /v1/nodes.
func (s nodeWrites) create(r *request) (answer, error) {
	body, err := r.decode(maxBody)
	if err != nil {
		return answer{}, err
	}
	if err := s.created.validate("node", body); err != nil {
		return answer{}, err
	}
	n, err := r.newNode(body)
	if err != nil {
		return answer{}, err
	}
	n, err = r.conductor.CreateNode(r.Context(), n)
	if err != nil {
		return answer{}, err
	}
	a := r.nodeAnswer(http.StatusCreated, n, nil)
	a.location = "nodes/" + n.UUID
	return a, nil
}

// newNode returns a new node with the fields of a valid body.
//
// Source: post in ironic/api/controllers/v1/node.py.
func (r *request) newNode(body any) (*node, error) {
	n := &conductor.Node{ProvisionState: r.version.InitialState()}
	object, _ := body.(map[string]any)
	if err := setFields(n, object); err != nil {
		return nil, err
	}
	for name, value := range object {
		empty := value == nil
		if name == "conductor_group" {
			empty = value == ""
		}
		if r.version < nodeFieldsByName[name].since && !empty {
			return nil, errNotAcceptable
		}
	}
	n.SetEmpty("resource_class", false) // Ironic replaces "" by its default
	if name := object["name"]; name != nil {
		if err := r.checkNodeName(name, "Cannot create node with invalid name '%s'"); err != nil {
			return nil, err
		}
	}
	group, _ := object["conductor_group"].(string)
	if err := r.checkNode(&conductor.Node{}, n, group); err != nil {
		return nil, err
	}
	return n, nil
}

// nodeSchema describes the fields that a client may set: those of a new node, or of a patched one.
func (service *service) nodeSchema(created bool) *schema {
	s := &schema{types: []string{"object"}, closed: true}
	for _, f := range nodeFields {
		if !f.created && (created || !f.patched) || f.since > service.highest {
			continue
		}
		of := &schema{types: f.types, maxLength: f.maxLength, secret: f.name == "driver_info" || f.name == "instance_info"}
		if f.name == "network_data" {
			of = &schema{anyOf: []*schema{{types: []string{"null"}}, {types: []string{"object"}, closed: true}, networkSchema}}
		}
		s.properties = append(s.properties, property{f.name, of})
	}
	slices.SortFunc(s.properties, func(a, b property) int { return strings.Compare(a.name, b.name) })
	if created {
		s.required = []string{"driver"}
	}
	return s
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
		if err := nodeFieldsByName[name].set(n, values[name]); err != nil {
			return err
		}
	}
	return nil
}

// Source: NODE_VALIDATE_EXTRA in ironic/api/controllers/v1/node.py.
var convertedFields = []string{
	"automated_clean", "chassis_uuid", "console_enabled", "instance_uuid", "protected", "maintenance", "retired", "uuid",
}

// checkNode refuses a node that refers to an unknown chassis or parent node, and a node that no
// conductor can manage. group is its conductor group as a fault shows it.
func (r *request) checkNode(before, n *node, group string) error {
	if n.UUID == "" {
		n.UUID = uuid.NewString()
	}
	if n.ChassisUUID != "" && n.ChassisUUID != before.ChassisUUID {
		if _, err := r.object(chassisResource, n.ChassisUUID); err != nil {
			return as400(err)
		}
	}
	if n.ParentNode != "" && n.ParentNode != before.ParentNode {
		parent, err := r.conductor.Node(r.Context(), n.ParentNode)
		if errors.Is(err, conductor.NotFound) {
			return invalid("Unable to apply the requested parent_node '%s'. Requested value was invalid.", show(n.ParentNode))
		}
		if err != nil {
			return err
		}
		n.ParentNode = parent.UUID
	}
	if n.Driver == before.Driver && n.ConductorGroup == before.ConductorGroup {
		return nil
	}
	return r.checkHost(n, group)
}

// checkHost refuses a node if no live conductor of its group has its driver.
func (r *request) checkHost(n *node, group string) error {
	members, err := r.conductor.Members(r.Context())
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Group == n.ConductorGroup && slices.Contains(m.Drivers, n.Driver) {
			return nil
		}
	}
	return invalid("No valid host was found. Reason: No conductor service registered which supports driver %s for conductor group \"%s\".", show(n.Driver), show(group))
}
