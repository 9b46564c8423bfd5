// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

var noObject = map[string]any{}

func toUUID(name string) func(*rest.Request, any) (any, error) {
	return func(_ *rest.Request, v any) (any, error) {
		if s := v.(string); !rest.IsUUID(s) {
			return nil, fault.Invalid("Expected UUID for %s: %s", name, fault.Show(s))
		}
		return v, nil
	}
}

func toMAC(_ *rest.Request, v any) (any, error) {
	s := v.(string)
	if !rest.IsMAC(s) {
		return nil, fault.Invalid("Expected valid MAC address for address: %s", fault.Show(s))
	}
	return strings.ToLower(s), nil
}

// toInteger returns a whole number without a fraction. Ironic's database refuses those of more than 64 bits.
func toInteger(_ *rest.Request, v any) (any, error) {
	n, ok := integer(v.(json.Number))
	if !ok {
		return nil, fault.Invalid("%s is out of range", fault.Repr(v))
	}
	return json.Number(strconv.Itoa(n)), nil
}

func toTruth(name string) func(*rest.Request, any) (any, error) {
	return func(_ *rest.Request, v any) (any, error) {
		b, err := rest.ToBoolean(name, v)
		if err != nil {
			return nil, err
		}
		return *b, nil
	}
}

// checkNewName refuses an invalid name of a new record. before is nil for a new record.
func checkNewName(r *rest.Request, before, o conductor.Object, noun string) error {
	name := o.Meta().Name
	if before != nil || name == "" || r.ValidName(name) {
		return nil
	}
	return fault.Invalid("Cannot create %s with invalid name '%s'", noun, fault.Show(name))
}

// checkNames returns a function that refuses a patch with an invalid name.
func checkNames(noun string) func(*rest.Request, patch.Patch) error {
	return func(r *rest.Request, p patch.Patch) error {
		for _, v := range p.Values("name") {
			name, isText := v.(string)
			switch {
			case !schema.Truthy(v), isText && r.ValidName(name):
			case noun == "allocation":
				return fault.Invalid("Cannot update allocation with invalid name '%s'", fault.Show(v))
			default:
				return fault.Invalid("%s%s %s: Cannot change name to invalid name '%s'", strings.ToUpper(noun[:1]), noun[1:], r.Param(0), fault.Show(v))
			}
		}
		return nil
	}
}

// checkNodeUUIDs refuses a patch of a volume that names its node by anything but a UUID.
func checkNodeUUIDs(_ *rest.Request, p patch.Patch) error {
	for _, v := range p.Values("node_uuid") {
		if uuid, isText := v.(string); !isText || !rest.IsUUID(uuid) {
			return fault.Invalid("Expected a UUID for node_uuid, but received %s.", fault.Show(v))
		}
	}
	return nil
}

// linkSchema is the schema of a port's local link connection.
//
// Source: LOCAL_LINK_CONN_SCHEMA in ironic/api/controllers/v1/utils.py.
func linkSchema(s *rest.Service) *schema.Schema {
	names := []string{"port_id", "switch_id", "hostname", "switch_info", "network_type"}
	if s.Highest >= since.LinkVTEP {
		names = append(names, "vtep-logical-switch", "vtep-physical-switch")
	}
	with := func(types []string, required ...string) *schema.Schema {
		s := &schema.Schema{Types: []string{"object"}, Required: required, Closed: true, ClosedFirst: true}
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

// toLocalLink checks the local link connection of a port.
func toLocalLink(r *rest.Request, v any) (any, error) {
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
	link = maps.Clone(link)
	link["switch_id"] = strings.ToLower(id)
	return link, nil
}
