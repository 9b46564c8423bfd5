// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/states"
)

// nodeFields are the fields of a node in the newest version.
var nodeFields = strings.Fields(`uuid created_at updated_at automated_clean bios_interface boot_interface boot_mode
	clean_step conductor conductor_group console_enabled console_interface deploy_interface deploy_step description
	driver driver_info driver_internal_info extra fault inspect_interface inspection_finished_at inspection_started_at
	instance_info instance_uuid last_error lessee maintenance maintenance_reason management_interface name
	network_data network_interface owner power_interface power_state properties protected protected_reason
	provision_state provision_updated_at raid_config raid_interface rescue_interface reservation resource_class
	retired retired_reason secure_boot shard storage_interface target_power_state target_provision_state
	target_raid_config vendor_interface traits chassis_uuid allocation_uuid`)

var interfaceKinds = map[string][]any{
	"bios": {"fake", "no-bios"}, "boot": {"fake", "ipxe", "pxe"}, "console": {"fake", "no-console"}, "deploy": {"fake", "direct"},
	"inspect": {"fake", "no-inspect"}, "management": {"fake"}, "network": {"noop"}, "power": {"fake"}, "raid": {"fake", "no-raid"},
	"rescue": {"fake", "no-rescue"}, "storage": {"noop"}, "vendor": {"fake", "no-vendor"},
}

var kinds = []string{"bios", "boot", "console", "deploy", "inspect", "management", "network", "power", "raid", "rescue", "storage", "vendor"}

var traits = []any{"CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX", "CUSTOM_GPU_1"}

// nodeValue returns the name of a field that a client may set, and a value.
func (g *generator) nodeValue() (name string, value any) {
	switch g.IntN(20) {
	case 0, 1:
		kind := pick(g, kinds...)
		return kind + "_interface", g.of(interfaceKinds[kind]...)
	case 2:
		return "name", g.of(fmt.Sprintf("node-%d", g.IntN(pool)), fmt.Sprintf("node-%d", g.IntN(pool)), nil)
	case 3:
		return "resource_class", g.of("baremetal", "baremetal", "gold", nil)
	case 4:
		return "owner", g.of("me", "other", nil, "")
	case 5:
		return "lessee", g.of("me", "tenant", nil)
	case 6:
		return "description", g.of("a description", "ünïcode", "")
	case 7:
		return "automated_clean", g.of(true, false, nil)
	case 8:
		return "protected", g.of(true, false, false)
	case 9:
		return "protected_reason", g.of("because", nil)
	case 10:
		return "retired", g.of(true, false, false)
	case 11:
		return "retired_reason", g.of("because", nil, "")
	case 12:
		return "shard", g.of("a", "b", nil, "")
	case 13:
		return "conductor_group", g.of("", "", "", "other")
	case 14:
		return "instance_uuid", g.of(uuid('i', g.IntN(2)), nil)
	case 15:
		return "chassis_uuid", g.of(uuid('c', g.IntN(pool)), uuid('c', g.IntN(pool)), nil)
	case 16:
		return "network_data", g.of(map[string]any{}, map[string]any{"links": []any{}, "networks": []any{}, "services": []any{}})
	case 17:
		return "instance_info", g.of(map[string]any{}, map[string]any{"image_source": "http://i/image", "root_gb": 10},
			map[string]any{"traits": []any{pick(g, traits...)}}, map[string]any{"capabilities": map[string]any{"boot_option": "local"}})
	case 18:
		return "properties", g.of(map[string]any{}, map[string]any{"cpus": 4, "memory_mb": 1024, "local_gb": 10, "cpu_arch": "x86_64"},
			map[string]any{"capabilities": "boot_mode:uefi,a:b"})
	default:
		return pick(g, "extra", "driver_info"), g.of(map[string]any{}, map[string]any{"a": "b"}, map[string]any{"n": 1, "password": "secret", "l": []any{1}})
	}
}

// newNode returns a request for a new node.
func newNode(g *generator) Request { return g.createNode(g.IntN(pool), g.IntN(4)) }

func (g *generator) createNode(i, extras int) Request {
	body := map[string]any{"driver": g.of("fake-hardware", "fake-hardware", "fake-hardware", "fake-hardware", "fake-hardware", "ipmi"), "uuid": nodeUUID(i)}
	if g.chance(60) {
		body["name"] = fmt.Sprintf("node-%d", i)
	}
	for range extras {
		name, value := g.nodeValue()
		body[name] = value
	}
	if g.chance(4) {
		body[pick(g, "nonsense", "provision_state", "power_state", "id", "created_at", "reservation", "last_error", "traits", "links", "maintenance")] = g.value()
	}
	if g.chance(3) {
		delete(body, pick(g, "driver", "uuid"))
	}
	return request("POST", "/v1/nodes").with(body)
}

// patch returns a JSON patch. The function returns a field and a value for it; below has
// the fields in which a client chooses keys.
func (g *generator) patch(field func() (string, any), below ...string) any {
	var patch []any
	for range 1 + g.IntN(100)/70 + g.IntN(100)/90 {
		name, value := field()
		path := "/" + name
		op := pick(g, "add", "add", "replace", "replace", "remove", "test")
		if g.chance(30) {
			path = "/" + pick(g, below...) + "/" + pick(g, "a", "a", "b", "a/b", "l/0", "l/-", "a~1b", "password", "ü")
			value = g.value()
		}
		if g.chance(3) {
			path = pick(g, "/uuid", "/nonsense", "/provision_state", "/created_at", "/links", "/id", "", "/", "extra", "//", "/extra/", "/traits", "/states")
		}
		if g.chance(1) {
			op = pick(g, "copy", "move", "nonsense", "")
		}
		change := map[string]any{"op": op, "path": path, "value": value}
		if op == "remove" && g.chance(80) || g.chance(1) {
			delete(change, "value")
		}
		patch = append(patch, change)
	}
	if g.chance(2) {
		return g.value()
	}
	return patch
}

func patchNode(g *generator) Request {
	r := request("PATCH", "/v1/nodes/{}", g.node()).with(g.patch(func() (string, any) {
		if g.chance(3) {
			return pick(g, "driver", "maintenance", "maintenance_reason", "boot_mode", "allocation_uuid"), g.of("fake-hardware", "ipmi", true, "because")
		}
		return g.nodeValue()
	}, "extra", "extra", "driver_info", "properties", "instance_info"))
	if g.chance(8) {
		r.Path += "?reset_interfaces=" + pick(g, "true", "false", "x")
	}
	return r
}

// nodeFilters sets filters of a list of nodes.
func (g *generator) nodeFilters(v url.Values) {
	for range 1 + g.IntN(2) {
		name := pick(g, "associated", "maintenance", "provision_state", "driver", "resource_class", "owner", "lessee", "shard", "sharded",
			"retired", "fault", "conductor_group", "instance_uuid", "chassis_uuid", "conductor", "description_contains", "project", "name", "parent_node")
		value := pick(g, "true", "false", "", "x")
		switch name {
		case "provision_state":
			value = pick(g, "enroll", "manageable", "available", "active", "clean failed", "nonsense", "")
		case "driver":
			value = pick(g, "fake-hardware", "fake-hardware", "ipmi", "")
		case "resource_class":
			value = pick(g, "baremetal", "gold", "")
		case "owner", "lessee", "project":
			value = pick(g, "me", "other", "tenant", "")
		case "shard":
			value = pick(g, "a", "b", "a,b", "", "c")
		case "fault":
			value = pick(g, "none", "power failure", "nonsense", "clean failure", "")
		case "conductor_group":
			value = pick(g, "", "other", "x")
		case "instance_uuid":
			value = pick(g, uuid('i', 0), "x", "")
		case "chassis_uuid":
			value = pick(g, uuid('c', 0), uuid('c', 1), "x", "")
		case "conductor":
			value = pick(g, lockstep.HostName, "other", "")
		case "description_contains":
			value = pick(g, "desc", "ün", "%", "")
		}
		v.Set(name, value)
	}
}

func listNodes(g *generator) Request {
	return request("GET", pick(g, "/v1/nodes", "/v1/nodes", "/v1/nodes", "/v1/nodes/detail")).query(g.markers('n', g.list(nodeFields, g.nodeFilters)))
}

// markers adds a marker in some cases.
func (g *generator) markers(kind byte, v url.Values) url.Values {
	if g.chance(8) {
		v.Set("marker", pick(g, uuid(kind, 0), uuid(kind, 1), uuid(kind, pool), "x", ""))
	}
	return v
}

func showNode(g *generator) Request {
	v := url.Values{}
	if g.chance(40) {
		v.Set("fields", g.fields(nodeFields))
	}
	return request("GET", "/v1/nodes/{}", g.node()).query(v)
}

// provisionTarget returns a word that the state of the node permits in most cases.
func (g *generator) provisionTarget(node string) string {
	words := slices.Sorted(func(yield func(string) bool) {
		for word := range states.Verbs() {
			if !yield(word) {
				return
			}
		}
	})
	state, err := states.Parse(g.states[node])
	if err == nil && g.chance(75) {
		var allowed []string
		for _, word := range words {
			if _, err := lockstep.Series.Table().Request(state, word, lockstep.Series.MaxAPIVersion()); err == nil {
				allowed = append(allowed, word)
			}
		}
		if len(allowed) > 0 {
			return pick(g, allowed...)
		}
	}
	if g.chance(10) {
		return pick(g, "", "nonsense", "available", "Manage", "none")
	}
	return pick(g, words...)
}

func provision(g *generator) Request {
	node := g.node()
	target := g.provisionTarget(node)
	body := map[string]any{"target": target}
	if target == "clean" && g.chance(92) || g.chance(2) {
		body["clean_steps"] = g.steps("bios", "raid", "deploy", "power", "management")
	}
	if target == "rescue" && g.chance(92) || g.chance(1) {
		body["rescue_password"] = g.of("secret", "pässword")
	}
	if (target == "active" || target == "deploy" || target == "rebuild") && g.chance(15) || g.chance(1) {
		body["deploy_steps"] = g.steps("deploy", "bios", "raid")
	}
	if g.chance(6) {
		body["configdrive"] = g.of("http://c/d", "H4sIAAAAAAAAAwMAAAAAAAAAAAA=", map[string]any{"meta_data": map[string]any{"a": "b"}}, "not base64!")
	}
	if g.chance(2) {
		body[pick(g, "disable_ramdisk", "nonsense", "runbook", "service_steps")] = g.value()
	}
	return request("PUT", "/v1/nodes/{}/states/provision", node).with(body)
}

// step is a step of a request. Its keys are in the order in which ironstate's texts have them.
type step struct {
	Interface any `json:"interface,omitempty"`
	Step      any `json:"step,omitempty"`
	Args      any `json:"args,omitempty"`
	Priority  any `json:"priority,omitempty"`
	Nonsense  any `json:"nonsense,omitempty"`
}

// steps returns the steps of a request, usually valid ones.
func (g *generator) steps(interfaces ...any) any {
	if g.chance(4) {
		return g.value()
	}
	steps := []*step{}
	for range 1 + g.IntN(2) {
		s := &step{Interface: g.of(interfaces...), Step: g.of("factory_reset", "apply_configuration", "create_configuration",
			"delete_configuration", "deploy", "no_such_step")}
		if s.Interface == "bios" && g.chance(85) {
			s.Step = pick(g, "factory_reset", "apply_configuration")
		}
		if s.Step == "apply_configuration" && g.chance(85) || g.chance(10) {
			s.Args = g.of(map[string]any{"settings": []any{map[string]any{"name": "LogicalProc", "value": "Enabled"}}}, map[string]any{}, map[string]any{"settings": 1})
		}
		if g.chance(3) { // manual steps have none
			s.Priority = g.of(10, 0, "20", -1)
		}
		if g.chance(2) {
			s.Nonsense = 1
		}
		if g.chance(1) {
			s.Interface = nil
		}
		if g.chance(1) {
			s.Step = nil
		}
		steps = append(steps, s)
	}
	return steps
}
