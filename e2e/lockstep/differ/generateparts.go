// SPDX-License-Identifier: Apache-2.0

package differ

import "net/url"

// nodeParts are the requests below a node.
var nodeParts = []choice{
	{10, get("/v1/nodes/{}/states")},
	{25, func(g *generator) Request {
		body := map[string]any{"target": g.of("power on", "power off", "rebooting", "soft rebooting", "soft power off")}
		if g.chance(15) {
			body["timeout"] = g.of(10, 5, 1000, 0, -1, "10")
		}
		return newRequest("PUT", "/v1/nodes/{}/states/power", g.node()).with(body)
	}},
	{8, func(g *generator) Request {
		return newRequest("PUT", "/v1/nodes/{}/states/raid", g.node()).with(g.of(
			map[string]any{"logical_disks": []any{map[string]any{"size_gb": 10, "raid_level": pick(g, "1", "0", "77", "JBOD")}}},
			map[string]any{"logical_disks": []any{map[string]any{"size_gb": pick[any](g, "MAX", 1, -1, "x"), "raid_level": "5",
				"is_root_volume": true}}},
			map[string]any{}, map[string]any{"logical_disks": []any{}}))
	}},
	{5, func(g *generator) Request {
		return newRequest("PUT", "/v1/nodes/{}/states/boot_mode", g.node()).with(map[string]any{"target": g.of("uefi", "bios")})
	}},
	{5, func(g *generator) Request {
		return newRequest("PUT", "/v1/nodes/{}/states/secure_boot", g.node()).with(map[string]any{"target": g.of(true, false, "on")})
	}},
	{6, get("/v1/nodes/{}/states/console")},
	{8, func(g *generator) Request {
		return newRequest("PUT", "/v1/nodes/{}/states/console", g.node()).with(map[string]any{"enabled": g.of(true, false)})
	}},
	{12, func(g *generator) Request {
		r := newRequest("PUT", "/v1/nodes/{}/maintenance", g.node())
		if g.chance(30) {
			return r
		}
		return r.with(map[string]any{"reason": g.of("because", nil, "")})
	}},
	{14, func(g *generator) Request { return newRequest("DELETE", "/v1/nodes/{}/maintenance", g.node()) }},
	{6, get("/v1/nodes/{}/validate")},
	{2, func(g *generator) Request {
		v := url.Values{}
		v.Set(pick(g, "node", "node", "node_uuid"), g.node())
		return newRequest("GET", "/v1/nodes/validate").query(v)
	}},
	{4, get("/v1/nodes/{}/management/boot_device")},
	{4, get("/v1/nodes/{}/management/boot_device/supported")},
	{5, func(g *generator) Request {
		body := map[string]any{"boot_device": g.of("pxe", "pxe", "disk")}
		if g.chance(50) {
			body["persistent"] = g.of(true, false)
		}
		return newRequest("PUT", "/v1/nodes/{}/management/boot_device", g.node()).with(body)
	}},
	{3, func(g *generator) Request {
		return newRequest("PUT", "/v1/nodes/{}/management/inject_nmi", g.node()).with(map[string]any{})
	}},
	{1, func(g *generator) Request {
		return newRequest("GET", "/v1/nodes/{}/management/indicators"+pick(g, "", "/system", "/led@system"), g.node())
	}},
	{2, get("/v1/nodes/{}/management")},
	{4, get("/v1/nodes/{}/vendor_passthru/methods")},
	{6, callVendor("/v1/nodes/{}/vendor_passthru", func(g *generator) []string { return []string{g.node()} })},
	{4, func(g *generator) Request {
		return newRequest(pick(g, "POST", "POST", "POST", "GET", "PUT"), "/v1/nodes/{}/vendor_passthru/{}", g.node(), pick(g, vendorMethods...)).
			with(g.vendorBody()).mayWrite()
	}},
	{6, get("/v1/nodes/{}/traits")},
	{8, func(g *generator) Request {
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.of(traits...))
		}
		if g.chance(2) {
			for i := range 60 {
				list = append(list, "CUSTOM_"+string(rune('A'+i%26))+string(rune('A'+i/26)))
			}
		}
		return newRequest("PUT", "/v1/nodes/{}/traits", g.node()).with(map[string]any{"traits": list})
	}},
	{8, func(g *generator) Request {
		return newRequest("PUT", "/v1/nodes/{}/traits/{}", g.node(),
			pick(g, "CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX", "lower", "CUSTOM_ü", "CUSTOM_"))
	}},
	{3, func(g *generator) Request { return newRequest("DELETE", "/v1/nodes/{}/traits", g.node()) }},
	{5, func(g *generator) Request {
		return newRequest("DELETE", "/v1/nodes/{}/traits/{}", g.node(), pick(g, "CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX", "lower"))
	}},
	{5, get("/v1/nodes/{}/vifs")},
	{6, func(g *generator) Request {
		body := map[string]any{"id": g.of(uuid('v', 0), uuid('v', 1), "vif")}
		if g.chance(10) {
			body[pick(g, "port_uuid", "portgroup_uuid", "nonsense")] = pick(g, uuid('p', 0), uuid('g', 0), "x")
		}
		return newRequest("POST", "/v1/nodes/{}/vifs", g.node()).with(body)
	}},
	{5, func(g *generator) Request {
		return newRequest("DELETE", "/v1/nodes/{}/vifs/{}", g.node(), pick(g, uuid('v', 0), uuid('v', 1), "vif"))
	}},
	{5, func(g *generator) Request {
		v := url.Values{}
		if g.chance(40) {
			v.Set(pick(g, "detail", "fields"), pick(g, "true", "name,value", "name", "nonsense", "attribute_type", "links"))
		}
		return newRequest("GET", "/v1/nodes/{}/bios", g.node()).query(v)
	}},
	{3, func(g *generator) Request {
		return newRequest("GET", "/v1/nodes/{}/bios/{}", g.node(), pick(g, "LogicalProc", "none"))
	}},
	{2, get("/v1/nodes/{}/firmware")},
	{2, get("/v1/nodes/{}/vmedia")},
	{5, get("/v1/nodes/{}/history")},
	{2, func(g *generator) Request {
		return newRequest("GET", "/v1/nodes/{}/history/{}", g.node(), pick(g, uuid('h', 0), "x"))
	}},
	{2, get("/v1/nodes/{}/inventory")},
	{1, get("/v1/nodes/{}/children")},
	{6, get("/v1/nodes/{}/allocation")},
	{3, func(g *generator) Request { return newRequest("DELETE", "/v1/nodes/{}/allocation", g.node()) }},
	{2, below("/v1/nodes/{}/ports", "/v1/ports")},
	{1, below("/v1/nodes/{}/ports/detail", "/v1/ports")},
	{1, below("/v1/nodes/{}/portgroups", "/v1/portgroups")},
	{1, below("/v1/nodes/{}/portgroups/detail", "/v1/portgroups")},
	{3, get("/v1/nodes/{}/volume")},
	{3, below("/v1/nodes/{}/volume/connectors", "/v1/volume/connectors")},
	{3, below("/v1/nodes/{}/volume/targets", "/v1/volume/targets")},
	{4, func(g *generator) Request {
		node := g.node()
		names := append([]string{"nonsense", "id", "", "detail", "links"}, tables[nodesPath].fields...)
		return newRequest("GET", "/v1/nodes/{}/{}", node, pick(g, names...))
	}},
	{3, func(g *generator) Request {
		return newRequest("GET", "/v1/nodes/"+pick(g, "states", "states/console", "maintenance", "ports", "vifs", "traits", "validate",
			"management",
			"management/boot_device", "vendor_passthru/methods", "bios", "history", "volume", "allocation")+"/{}", g.node())
	}},
	{1, func(g *generator) Request {
		return newRequest("PUT", "/v1/nodes/states/{}/power", g.node()).with(map[string]any{"target": "power on"})
	}},
}

var vendorMethods = []string{"second_method", "third_method_sync", "fourth_method_shared_lock", "first_method", "no_such_method",
	"bmc_reset"}

// get returns a request for a path below a node.
func get(pattern string) func(*generator) Request {
	return func(g *generator) Request { return newRequest("GET", pattern, g.node()) }
}

// below returns a request for the objects of a list below a node.
func below(pattern, of string) func(*generator) Request {
	return func(g *generator) Request {
		return newRequest("GET", pattern, g.node()).query(g.list(tables[of].fields, nil))
	}
}

func callVendor(pattern string, args func(g *generator) []string) func(*generator) Request {
	return func(g *generator) Request {
		v := url.Values{}
		if g.chance(95) {
			v.Set("method", pick(g, vendorMethods...))
		}
		r := newRequest(pick(g, "POST", "POST", "POST", "POST", "GET", "PUT", "DELETE", "PATCH"), pattern, args(g)...).query(v).mayWrite()
		if g.chance(10) {
			return r
		}
		return r.with(g.vendorBody())
	}
}

// vendorBody returns the body of a call of a vendor method.
func (g *generator) vendorBody() any {
	if g.chance(12) {
		return map[string]any{"bar": g.value()}
	}
	return g.of(map[string]any{"bar": "kazoo"}, map[string]any{"bar": "meow"}, map[string]any{"bar": "woof"}, map[string]any{})
}

func (r Request) mayWrite() Request {
	r.writes = true
	return r
}
