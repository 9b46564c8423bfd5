package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// The types of fields, by their names in JSON schemas.
var (
	textType   = []string{"string"}
	textOrNull = []string{"string", "null"}
	objectType = []string{"object", "null"}
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

func toTruth(name string) func(*request, any) (any, error) {
	return func(_ *request, v any) (any, error) {
		b, err := toBoolean(name, v)
		if err != nil {
			return nil, err
		}
		return *b, nil
	}
}

// toName refuses invalid names.
func toName(noun string) func(*request, any) (any, error) {
	return func(r *request, v any) (any, error) {
		if s := v.(string); s != "" && !r.validName(s) {
			verb := "create"
			if r.Method == http.MethodPatch {
				verb = "update"
			}
			return nil, invalid("Cannot %s %s with invalid name '%s'", verb, noun, show(s))
		}
		return v, nil
	}
}

// linkKeys accepts the keys of a port's local link connection.
var linkKeys = oneOf("port_id", "switch_id", "hostname", "switch_info", "network_type", "vtep-logical-switch", "vtep-physical-switch")

const (
	minNetworkType = 64
	minVTEP        = 90
)

// toLocalLink checks the local link connection of a port.
//
// Source: LOCAL_LINK_CONN_SCHEMA in ironic/api/controllers/v1/utils.py.
func toLocalLink(r *request, v any) (any, error) {
	const schema = "local_link_connection"
	link, err := checkObject(schema, v, linkKeys)
	if err != nil || len(link) == 0 {
		return v, err
	}
	for _, key := range sortedKeys(link) {
		if err := checkType(schema, link[key], textType, 0, false); err != nil {
			return nil, err
		}
	}
	has := func(key string) bool { _, ok := link[key]; return ok }
	switch {
	case has("network_type") && r.version < minNetworkType, has("vtep-logical-switch") && r.version < minVTEP:
		return nil, errNotAcceptable
	case has("network_type") && link["network_type"] != "managed" && link["network_type"] != "unmanaged":
		return nil, schemaError(schema, "%s is not one of ['managed', 'unmanaged']", repr(link["network_type"]))
	case has("port_id") && (has("switch_id") || has("hostname") || has("vtep-logical-switch") && has("vtep-physical-switch")):
	case link["network_type"] == "unmanaged":
	default:
		return nil, schemaError(schema, "%s is not valid under any of the given schemas: port_id and switch_id are required", repr(v))
	}
	id, ok := link["switch_id"].(string)
	if !ok {
		return link, nil
	}
	if !isMAC(id) && !isDatapathID(id) {
		return nil, invalid("Expected a MAC address or OpenFlow datapath ID but received %s.", show(id))
	}
	link["switch_id"] = strings.ToLower(id)
	return link, nil
}

// isDatapathID reports whether a text is 16 hexadecimal digits.
func isDatapathID(s string) bool {
	return len(s) == 16 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

// toSteps checks the steps of a deploy template or a runbook. order is the key that orders
// them: "priority" or "order".
func toSteps(schema, order string) func(*request, any) (any, error) {
	return func(r *request, v any) (any, error) {
		list := v.([]any)
		if len(list) == 0 {
			return nil, schemaError(schema, "[] is too short")
		}
		required := []string{"interface", "step", order}
		if order == "priority" {
			required = append(required, "args")
		}
		seen := map[string]bool{}
		steps := make([]any, len(list))
		for i, item := range list {
			step, err := r.toStep(schema, order, item, required)
			if err != nil {
				return nil, err
			}
			name := fmt.Sprintf("interface: %s, step: %s", step["interface"], step["step"])
			if seen[name] {
				return nil, invalid("Deploy template invalid: Duplicate deploy steps. A deploy template cannot have multiple deploy steps with the same interface and step. Duplicates: %s.", name)
			}
			seen[name] = true
			steps[i] = step
		}
		return steps, nil
	}
}

func (r *request) toStep(schema, order string, item any, required []string) (map[string]any, error) {
	object, err := checkObject(schema, item, oneOf("interface", "step", "args", order), required...)
	if err != nil {
		return nil, err
	}
	number, ok := wholeNumber(object[order])
	args, hasArgs := object["args"].(map[string]any)
	name, _ := object["step"].(string)
	kind, _ := object["interface"].(string)
	kinds := r.h.stepInterfaces()
	switch _, there := object["args"]; {
	case !slices.Contains(kinds, kind):
		return nil, schemaError(schema, "%s is not one of ['%s']", repr(object["interface"]), strings.Join(kinds, "', '"))
	case name == "":
		return nil, schemaError(schema, "%s is not the name of a step", repr(object["step"]))
	case !ok:
		return nil, schemaError(schema, "%s is not a whole number of 0 or more", repr(object[order]))
	case there && !hasArgs:
		return nil, schemaError(schema, "args is not of type 'object'")
	}
	if args == nil {
		args = noObject
	}
	return map[string]any{"interface": kind, "step": name, "args": args, order: json.Number(strconv.Itoa(number))}, nil
}

// maskSteps masks the secrets in the arguments of steps.
func maskSteps(v any) any {
	shown, _ := maskValue(false, v)
	return shown
}

func toTrait(schemaName string) func(*request, any) (any, error) {
	return func(_ *request, v any) (any, error) { return v, traitSchema.validate(schemaName, v) }
}

// connectable reports whether a node's state allows changes to the connectivity of its ports.
func connectable(n *node) bool { return n.Maintenance || connectableStates.Has(n.ProvisionState) }

var connectableStates = states.SetOf(states.Enroll, states.Inspecting, states.InspectWait, states.Manageable)
