// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// traits returns the traits of a node.
func (g *generator) traits() any {
	list := []any{}
	for range g.IntN(4) {
		list = append(list, g.named("usually_trait"))
	}
	if g.chance(2) {
		for i := range 60 {
			list = append(list, "CUSTOM_"+string(rune('A'+i%26))+string(rune('A'+i/26)))
		}
	}
	return list
}

// newNode returns a request for a new node.
func newNode(g *generator) Request { return g.createNode(g.IntN(pool), g.IntN(4)) }

func (g *generator) createNode(i, extras int) Request {
	body := map[string]any{"driver": g.named("new_driver"), "uuid": nodeUUID(i)}
	if g.chance(60) {
		body["name"] = fmt.Sprintf("node-%d", i)
	}
	for range extras {
		name, value := g.valueOf(nodesPath)
		body[name] = value
	}
	if g.chance(5) {
		body["secure_boot"] = g.of(true, false, nil, "on", "x", "")
	}
	if g.chance(3) {
		body["boot_mode"] = g.of("uefi", "bios", nil, "x")
	}
	if g.chance(4) {
		body[pick(g, "nonsense", "provision_state", "power_state", "id", "created_at", "reservation", "last_error", "traits", "links",
			"maintenance")] = g.value()
	}
	if g.chance(3) {
		delete(body, pick(g, "driver", "uuid"))
	}
	return newRequest("POST", "/v1/nodes").with(body)
}

// patch returns a JSON patch. The function returns a field and a value for it; below is the template of
// the fields in which a client chooses keys.
func (g *generator) patch(field func() (string, any), below string) any {
	var patch []any
	for range 1 + g.IntN(100)/70 + g.IntN(100)/90 {
		name, value := field()
		path := "/" + name
		op := named[string](g, "operation")
		if g.chance(30) {
			path = "/" + named[string](g, below) + "/" + named[string](g, "key")
			value = g.value()
		}
		if g.chance(3) {
			path = pick(g, "/uuid", "/nonsense", "/provision_state", "/created_at", "/links", "/id", "", "/", "extra", "//", "/extra/",
				"/traits", "/states")
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
	r := newRequest("PATCH", "/v1/nodes/{}", g.node()).with(g.patch(func() (string, any) {
		if g.chance(3) {
			return pick(g, "driver", "maintenance", "maintenance_reason", "boot_mode", "allocation_uuid"),
				g.of("fake-hardware", "ipmi", true, "because")
		}
		return g.valueOf(nodesPath)
	}, "object_of_node"))
	if g.chance(8) {
		r.Path += "?reset_interfaces=" + pick(g, "true", "false", "x")
	}
	return r
}

// nodeFilters sets filters of a list of nodes.
func (g *generator) nodeFilters(v url.Values) {
	for range 1 + g.IntN(2) {
		name := pick(g, slices.Sorted(maps.Keys(values.NodeFilters))...)
		v.Set(name, evalAs[string](g, template{values.NodeFilters[name]}))
	}
}

func listNodes(g *generator) Request {
	return newRequest("GET", named[string](g, "list_of_nodes")).query(g.markers(nodeLetter,
		g.list(g.fieldsOf(nodesPath), g.nodeFilters)))
}

// markers adds a marker in some cases.
func (g *generator) markers(kind letter, v url.Values) url.Values {
	if g.chance(8) {
		v.Set("marker", pick(g, uuid(kind, 0), uuid(kind, 1), uuid(kind, pool), "x", ""))
	}
	return v
}

func showNode(g *generator) Request {
	v := url.Values{}
	if g.chance(40) {
		v.Set("fields", g.fields(g.fieldsOf(nodesPath)))
	}
	return newRequest("GET", "/v1/nodes/{}", g.node()).query(v)
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
			if _, err := g.series.Table().Request(state, word, g.series.MaxAPIVersion()); err == nil {
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
		body["configdrive"] = g.of("http://c/d", "H4sIAAAAAAAAAwMAAAAAAAAAAAA=", map[string]any{"meta_data": map[string]any{"a": "b"}},
			"not base64!")
	}
	if g.chance(2) {
		body[pick(g, "disable_ramdisk", "nonsense", "runbook", "service_steps")] = g.value()
	}
	return newRequest("PUT", "/v1/nodes/{}/states/provision", node).with(body)
}

// step is a step of a request. Its keys are in the order in which ironstate's texts have them.
type step struct {
	Interface any `json:"interface,omitempty"`
	Step      any `json:"step,omitempty"`
	Args      any `json:"args,omitempty"`
	Priority  any `json:"priority,omitempty"`
	Order     any `json:"order,omitempty"`
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
			s.Args = g.of(map[string]any{"settings": []any{map[string]any{"name": "LogicalProc", "value": "Enabled"}}}, map[string]any{},
				map[string]any{"settings": 1})
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
