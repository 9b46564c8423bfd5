// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"fmt"
	"net/url"
)

// laterRequests are those that 2023.1 does not have.
var laterRequests = []choice{
	{40, func(g *generator) Request {
		body := map[string]any{"target": "service", "service_steps": g.steps("bios", "raid", "deploy", "power", "management")}
		if g.chance(20) {
			body["disable_ramdisk"] = g.of(true, false)
		}
		return newRequest("PUT", "/v1/nodes/{}/states/provision", g.node()).with(body)
	}},
	{25, func(g *generator) Request {
		body := map[string]any{"target": g.of("clean", "service", "active"),
			"runbook": g.of(fmt.Sprintf("CUSTOM_%d", g.IntN(pool)), "CUSTOM_A", uuid('r', g.IntN(pool)))}
		return newRequest("PUT", "/v1/nodes/{}/states/provision", g.node()).with(body)
	}},
	{10, func(g *generator) Request {
		return newRequest("PUT", "/v1/nodes/{}/states/provision", g.node()).with(map[string]any{"target": g.of("unhold", "abort")})
	}},
	{50, func(g *generator) Request { return g.choose(runbookKind.requests()) }},
	{15, get("/v1/nodes/{}/firmware")},
	{10, func(g *generator) Request {
		v := url.Values{}
		v.Set(pick(g, "fields", "detail"), pick(g, "component,vendor", "vendor,model", "component", "true", "nonsense"))
		return newRequest("GET", "/v1/nodes/{}/firmware", g.node()).query(v)
	}},
	{15, get("/v1/nodes/{}/children")},
	{10, get("/v1/nodes/{}/vmedia")},
	{10, func(g *generator) Request { return newRequest("DELETE", "/v1/nodes/{}/vmedia", g.node()) }},
	{10, func(g *generator) Request {
		return newRequest("POST", "/v1/nodes/{}/vmedia", g.node()).with(map[string]any{
			"device_type": g.of("cdrom", "disk", "floppy"), "image_url": g.of("http://i/image", "ftp://i/image"),
		})
	}},
	{15, func(g *generator) Request {
		v := url.Values{}
		name := pick(g, "parent_node", "include_children", "instance_name")
		v.Set(name, pick(g, nodeUUID(0), "true", "instance", "node-1", "", "x"))
		return newRequest("GET", pick(g, nodesPath, nodesPath+"/detail")).query(v)
	}},
	{10, func(g *generator) Request {
		v := url.Values{}
		v.Set(pick(g, "description_contains", "conductor_groups", "shard"), pick(g, "port", "a", "", "other"))
		return newRequest("GET", pick(g, "/v1/ports", "/v1/portgroups", "/v1/ports/detail", "/v1/portgroups/detail")).query(v)
	}},
	{10, func(g *generator) Request {
		return newRequest("GET", "/v1/runbooks/{}/traits", pick(g, "CUSTOM_0", "CUSTOM_A", uuid('r', 0), uuid('r', 1)))
	}},
	{10, func(g *generator) Request {
		return newRequest("PUT", "/v1/runbooks/{}/traits", pick(g, "CUSTOM_0", "CUSTOM_A", uuid('r', 0), uuid('r', 1))).
			with(map[string]any{"traits": []any{g.of(traits...)}})
	}},
}

// laterShare is the share of laterRequests, in percent.
const laterShare = 12
