// SPDX-License-Identifier: Apache-2.0

package inspectionrules

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/pyrepr"
)

// kind is the type of an attribute.
type kind int

const (
	unknown     kind = iota // no attribute of Ironic: an action does nothing
	unsupported             // an attribute of Ironic that rules may not change here
	text
	truth
	truthOrNull
	object
)

// attributesOfNodes are the attributes of a node. Those that describe the node's work and its interfaces are not
// supported: a rule that changes them would bypass the conductor.
//
// Source: ironic/objects/node.py.
var attributesOfNodes = kinds(map[kind]string{
	text:        "name description owner lessee resource_class shard protected_reason retired_reason maintenance_reason instance_name",
	truth:       "protected retired maintenance disable_power_off",
	truthOrNull: "automated_clean",
	object:      "driver_info properties extra instance_info network_data",
	unsupported: "id uuid instance_uuid chassis_id conductor_affinity conductor_group driver driver_internal_info clean_step deploy_step " +
		"service_step raid_config target_raid_config reservation provision_state provision_updated_at inspection_finished_at " +
		"inspection_started_at target_provision_state console_enabled last_error fault power_state target_power_state " +
		"allocation_id boot_mode secure_boot parent_node firmware_information health traits created_at updated_at " +
		"bios_interface boot_interface console_interface deploy_interface firmware_interface inspect_interface management_interface " +
		"network_interface power_interface raid_interface rescue_interface storage_interface vendor_interface",
})

// attributesOfPorts are the attributes of a port.
//
// Source: ironic/objects/port.py.
var attributesOfPorts = kinds(map[kind]string{
	text:        "name description physical_network vendor category",
	truth:       "pxe_enabled",
	truthOrNull: "is_smartnic",
	object:      "extra local_link_connection",
	unsupported: "id uuid node_id address portgroup_id internal_info created_at updated_at available_for_dynamic_portgroup",
})

// kinds returns the kinds of attributes by their names.
func kinds(names map[kind]string) map[string]kind {
	of := map[string]kind{}
	for k, list := range names {
		for _, name := range strings.Fields(list) {
			of[name] = k
		}
	}
	return of
}

// readable are the attributes of a node that rules can read and not change.
var readable = strings.Fields("uuid driver instance_uuid conductor_group parent_node boot_mode secure_boot provision_state " +
	"target_provision_state power_state target_power_state fault last_error reservation health")

// NodeAttributes returns the attributes of a node for a [Subject]. The record has them by their names in Ironic, and
// may lack those that are null, false or empty.
func NodeAttributes(record map[string]any) map[string]any {
	attributes := withDefaults(attributesOfNodes, record)
	for _, name := range readable {
		attributes[name] = record[name]
	}
	return attributes
}

// PortAttributes returns the attributes of a port for a [Subject], as NodeAttributes does.
func PortAttributes(record map[string]any) map[string]any {
	attributes := withDefaults(attributesOfPorts, record)
	attributes["uuid"] = record["uuid"]
	return attributes
}

// withDefaults returns the attributes that rules may change.
func withDefaults(of map[string]kind, record map[string]any) map[string]any {
	attributes := map[string]any{}
	for name, k := range of {
		value, has := record[name]
		switch {
		case k == unsupported:
			continue
		case has:
		case k == truth:
			value = false
		case k == object:
			value = map[string]any{}
		}
		attributes[name] = value
	}
	return attributes
}

// record is a node or a port whose attributes an action changes.
type record struct {
	values  map[string]any
	kinds   map[string]kind
	changed func(name string)
	ignored func(format string, args ...any) // says in a warning what has no effect, as in Ironic
}

// splitPath splits a path with slashes or dots.
func splitPath(path any) ([]string, error) {
	text, is := path.(string)
	switch {
	case !is:
		return nil, fmt.Errorf("the path is no text but %s", className(path))
	case strings.Count(text, "/") >= maxParts || strings.Count(text, ".") >= maxParts:
		return nil, errLongPath
	case strings.Contains(text, "/"):
		return strings.Split(strings.Trim(text, "/"), "/"), nil
	default:
		return strings.Split(text, "."), nil
	}
}

// maxParts bounds the parts of a path: a record that is too deep could not be read again.
const maxParts = 25

var errLongPath = fmt.Errorf("the path has more than %d parts", maxParts)

var errMayNot = errors.New("ironstate does not let a rule change this attribute")

// set sets the attribute at a path, or a member of the object in it.
func (r record) set(path, value any) error {
	parts, err := splitPath(path)
	if err != nil {
		return err
	}
	name := parts[0]
	if len(parts) > 1 {
		parent, err := r.parent(parts)
		if err != nil {
			return err
		}
		parent[parts[len(parts)-1]] = value
		r.changed(name)
		return nil
	}
	if r.kinds[name] == unknown {
		r.ignored("there is no attribute %s", name)
		return nil
	}
	if r.values[name], err = coerce(r.kinds[name], name, value); err == nil {
		r.changed(name)
	}
	return err
}

// parent returns the object that has the member at a path, and creates it and the objects above it if they are missing.
func (r record) parent(parts []string) (map[string]any, error) {
	if r.kinds[parts[0]] == unsupported {
		return nil, errMayNot
	}
	above, is := r.values[parts[0]].(map[string]any)
	for i, part := range parts[1 : len(parts)-1] {
		if !is {
			return nil, noObject(parts[:i+1])
		}
		if _, has := above[part]; !has {
			above[part] = map[string]any{}
		}
		above, is = above[part].(map[string]any)
	}
	if !is {
		return nil, noObject(parts[:len(parts)-1])
	}
	return above, nil
}

func noObject(parts []string) error { return fmt.Errorf("%s is no object", strings.Join(parts, "/")) }

// extend appends a value to the list at a path, which it creates. With unique it does so if the list does not have the
// value. listErr is about the list, err about the path.
func (r record) extend(path, value any, unique bool) (listErr, err error) {
	parts, err := splitPath(path)
	if err != nil {
		return nil, err
	}
	name, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		if r.kinds[name] == unknown {
			r.ignored("there is no attribute %s", name)
			return nil, nil
		}
		//lint:ignore ST1005 the text is Ironic's
		return fmt.Errorf("Cannot extend non-list attribute %s with value %s", name, str(value)), nil
	}
	parent, err := r.parent(parts)
	if err != nil {
		return nil, err
	}
	if _, has := parent[last]; !has {
		parent[last] = []any{}
	}
	list, is := parent[last].([]any)
	if !is {
		//lint:ignore ST1005 the text is Ironic's
		return fmt.Errorf("Cannot extend non-list attribute %s with value %s", path, str(value)), nil
	}
	if !unique || !slices.ContainsFunc(list, func(v any) bool { return equal(v, value) }) {
		list = append(list, value)
	}
	parent[last] = list
	r.changed(name)
	return nil, nil
}

// remove removes the member at a path. Ironic accepts the path of an attribute, but keeps the attribute.
func (r record) remove(path any) error {
	parts, err := splitPath(path)
	if err != nil {
		return err
	}
	name, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		if r.kinds[name] == unknown {
			return fmt.Errorf("there is no attribute %s", name)
		}
		r.ignored("the attribute %s as a whole cannot be deleted", name)
		return nil
	}
	if r.kinds[name] == unsupported {
		return errMayNot
	}
	above, is := r.values[name].(map[string]any)
	for _, part := range parts[1 : len(parts)-1] {
		above, is = above[part].(map[string]any)
	}
	if _, has := above[last]; !is || !has {
		return fmt.Errorf("%s does not exist", strings.Join(parts, "/"))
	}
	delete(above, last)
	r.changed(name)
	return nil
}

// coerce returns the value of an attribute as Ironic stores it.
//
// Source: oslo_versionedobjects/fields.py.
func coerce(k kind, name string, value any) (any, error) {
	switch k {
	case unsupported:
		return nil, errMayNot
	case truth, truthOrNull:
		switch {
		case value != nil:
			return pyrepr.Truthy(value), nil
		case k == truth:
			//lint:ignore ST1005 the text is Ironic's
			return nil, fmt.Errorf("Field `%s' cannot be None", name)
		}
		return nil, nil
	case text:
		switch value.(type) {
		case map[string]any, []any:
			//lint:ignore ST1005 the text is Ironic's
			return nil, fmt.Errorf("A string is required in field %s, not a %s", name, className(value))
		case bool, json.Number:
			return str(value), nil
		}
		return value, nil
	default:
		switch value := value.(type) {
		case nil:
			return map[string]any{}, nil
		case map[string]any:
			return value, nil
		}
		return nil, fmt.Errorf("an object is required in field %s, not a %s", name, className(value))
	}
}
