package api

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

var noObject = map[string]any{}

func toUUID(name string) func(*request, any) (any, error) {
	return func(_ *request, v any) (any, error) {
		if s := v.(string); !isUUID(s) {
			return nil, invalid("Expected UUID for %s: %s", name, show(s))
		}
		return v, nil
	}
}

func toMAC(_ *request, v any) (any, error) {
	s := v.(string)
	if !isMAC(s) {
		return nil, invalid("Expected valid MAC address for address: %s", show(s))
	}
	return strings.ToLower(s), nil
}

// toInteger returns a whole number without a fraction. Ironic's database refuses those of more than 64 bits.
func toInteger(_ *request, v any) (any, error) {
	n, ok := integer(v.(json.Number))
	if !ok {
		return nil, invalid("%s is out of range", repr(v))
	}
	return json.Number(strconv.Itoa(n)), nil
}

func toTruth(name string) func(*request, any) (any, error) {
	return func(_ *request, v any) (any, error) {
		b, err := toBoolean(name, v)
		if err != nil {
			return nil, err
		}
		return *b, nil
	}
}

// checkNewName refuses an invalid name of a new record. before is nil for a new record.
func (r *request) checkNewName(before, o conductor.Object, noun string) error {
	name := o.Meta().Name
	if before != nil || name == "" || r.validName(name) {
		return nil
	}
	return invalid("Cannot create %s with invalid name '%s'", noun, show(name))
}

// checkNames returns a function that refuses a patch with an invalid name.
func checkNames(noun string) func(*request, patch) error {
	return func(r *request, p patch) error {
		for _, v := range p.values("name") {
			name, isText := v.(string)
			switch {
			case !truthy(v), isText && r.validName(name):
			case noun == "allocation":
				return invalid("Cannot update allocation with invalid name '%s'", show(v))
			default:
				return invalid("%s%s %s: Cannot change name to invalid name '%s'", strings.ToUpper(noun[:1]), noun[1:], r.param(0), show(v))
			}
		}
		return nil
	}
}

// checkNodeUUIDs refuses a patch of a volume that names its node by anything but a UUID.
func checkNodeUUIDs(_ *request, p patch) error {
	for _, v := range p.values("node_uuid") {
		if uuid, isText := v.(string); !isText || !isUUID(uuid) {
			return invalid("Expected a UUID for node_uuid, but received %s.", show(v))
		}
	}
	return nil
}

// linkSchema is the schema of a port's local link connection.
//
// Source: LOCAL_LINK_CONN_SCHEMA in ironic/api/controllers/v1/utils.py.
func linkSchema(s *service) *schema {
	names := []string{"port_id", "switch_id", "hostname", "switch_info", "network_type"}
	if s.highest >= since.LinkVTEP {
		names = append(names, "vtep-logical-switch", "vtep-physical-switch")
	}
	with := func(types []string, required ...string) *schema {
		s := &schema{types: []string{"object"}, required: required, closed: true, closedFirst: true}
		for _, name := range names {
			of := &schema{types: textType}
			if name == "network_type" {
				of.enum = types
			}
			s.properties = append(s.properties, property{name, of})
		}
		return s
	}
	all := []string{"managed", "unmanaged"}
	anyOf := []*schema{with(all, "port_id", "switch_id"), with(all, "port_id", "hostname"), with(all[1:], "network_type")}
	if s.highest >= since.LinkVTEP {
		anyOf = append(anyOf, with(all, "port_id", "vtep-logical-switch", "vtep-physical-switch"))
	}
	return &schema{anyOf: append(anyOf, &schema{types: []string{"object"}, closed: true})}
}

// toLocalLink checks the local link connection of a port.
func toLocalLink(r *request, v any) (any, error) {
	if err := linkSchema(r.service).validate("local_link_connection", v); err != nil {
		return nil, err
	}
	link := v.(map[string]any)
	id, ok := link["switch_id"].(string)
	if !ok {
		return link, nil
	}
	if !isMAC(id) && !isDatapathID(id) {
		return nil, invalid("Expected a MAC address or OpenFlow datapath ID but received %s.", show(id))
	}
	link = maps.Clone(link)
	link["switch_id"] = strings.ToLower(id)
	return link, nil
}

// isDatapathID reports whether a text is 16 hexadecimal digits.
func isDatapathID(s string) bool {
	return len(s) == 16 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}
