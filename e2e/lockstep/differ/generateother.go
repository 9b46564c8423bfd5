// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"net/url"
	"slices"

	"github.com/ironstate/ironstate/e2e/lockstep"
)

var drivers = []string{"fake-hardware", "fake-hardware", "fake-hardware", "ipmi", "ünï"}

// others are the requests for paths without objects of their own.
var others = []choice{
	{4, func(g *generator) Request { return newRequest("GET", "/") }},
	{6, func(g *generator) Request { return newRequest("GET", pick(g, "/v1", "/v1/")) }},
	{8, func(g *generator) Request {
		v := url.Values{}
		if g.chance(60) {
			v.Set(pick(g, "type", "detail", "fields"),
				pick(g, "dynamic", "classic", "true", "false", "x", "name", "name,hosts", "enabled_bios_interfaces,name"))
		}
		return newRequest("GET", "/v1/drivers").query(v)
	}},
	{6, func(g *generator) Request {
		v := url.Values{}
		if g.chance(40) {
			v.Set("fields", pick(g, "name", "name,hosts", "default_bios_interface", "nonsense", "type,properties"))
		}
		return newRequest("GET", "/v1/drivers/{}", pick(g, drivers...)).query(v)
	}},
	{5, func(g *generator) Request { return newRequest("GET", "/v1/drivers/{}/properties", pick(g, drivers...)) }},
	{2, func(g *generator) Request { return newRequest("GET", "/v1/drivers/properties") }},
	{3, func(g *generator) Request {
		r := newRequest("GET", "/v1/drivers/"+pick(g, "properties", "vendor_passthru/methods", ""))
		r.Path += "?driver_name=" + pick(g, "fake-hardware", "ipmi", "") + pick(g, "", "&driver_name=x", "&x=1")
		return r
	}},
	{1, func(g *generator) Request {
		return newRequest("GET", "/v1/drivers/{}/raid/logical_disk_properties", pick(g, drivers...))
	}},
	{3, func(g *generator) Request {
		return newRequest("GET", "/v1/drivers/{}/vendor_passthru/methods", pick(g, drivers...))
	}},
	{4, callVendor("/v1/drivers/{}/vendor_passthru", func(g *generator) []string { return []string{pick(g, drivers...)} })},
	{5, func(g *generator) Request {
		return newRequest("GET", "/v1/conductors").query(g.list([]string{"hostname", "conductor_group", "alive", "drivers", "created_at"}, nil))
	}},
	{4, func(g *generator) Request {
		return newRequest("GET", "/v1/conductors/{}", pick(g, lockstep.HostName, lockstep.HostName, "other"))
	}},
	{5, func(g *generator) Request { return newRequest("GET", "/v1/shards") }},
	{4, func(g *generator) Request { return newRequest("GET", "/v1/volume") }},
	{6, func(g *generator) Request {
		v := url.Values{}
		v.Set(pick(g, "addresses", "node_uuid", "node_uuid"), pick(g, mac(0)+","+mac(1), nodeUUID(0), nodeUUID(1), "x", ""))
		return newRequest("GET", "/v1/lookup").query(v)
	}},
	{6, func(g *generator) Request {
		body := map[string]any{"callback_url": g.of("http://127.0.0.1:1/"), "agent_token": g.of("token", "x")}
		if g.chance(40) {
			body["agent_version"] = g.of("9.1.0")
		}
		if g.chance(20) {
			body["agent_status"] = g.of("start", "end", "error")
			body["agent_status_message"] = g.of("broken")
		}
		if g.chance(30) {
			delete(body, pick(g, "callback_url", "agent_token"))
		}
		return newRequest("POST", "/v1/heartbeat/{}", g.node()).with(body)
	}},
	{4, func(g *generator) Request {
		return newRequest("POST", "/v1/events").with(map[string]any{"events": g.of([]any{}, []any{map[string]any{"event": "network.bind_port",
			"port_id":           uuid('p', 0),
			"mac_address":       mac(0),
			"status":            "ACTIVE",
			"device_id":         nodeUUID(0),
			"binding:host_id":   nodeUUID(0),
			"binding:vnic_type": "baremetal"}})})
	}},
	{4, func(g *generator) Request {
		return newRequest("GET", "/v1/chassis/{}/nodes", g.id('c', "")).query(g.list(tables[nodesPath].fields, g.nodeFilters))
	}},
	{2, func(g *generator) Request { return newRequest("GET", "/v1/chassis/{}/nodes/detail", g.id('c', "")) }},
	{4, func(g *generator) Request {
		return newRequest("GET", "/v1/portgroups/{}/ports", g.id('g', "portgroup")).query(g.list(tables["/v1/ports"].fields, nil))
	}},
	{2, func(g *generator) Request {
		return newRequest("GET", "/v1/portgroups/{}/ports/detail", g.id('g', "portgroup"))
	}},
	{4, func(g *generator) Request {
		return newRequest(pick(g, "GET", "POST", "PUT", "DELETE"),
			pick(g, "/v1/nonsense", "/v2", "/v1/nodes/{}/nonsense/x", "/v1/nodes/{}/states/nonsense", "/v1/nodes/detail/x",
				"/nonsense", "/v1/volume/nonsense", "/v1/inspection_rules", "/v1/continue_inspection", "/favicon.ico"), g.node())
	}},
}

// requests are all requests, with their weights.
var requests = slices.Concat([]choice{
	{50, listNodes}, {60, showNode}, {45, newNode}, {90, patchNode},
	{7, func(g *generator) Request { return newRequest("DELETE", "/v1/nodes/{}", g.node()) }},
	{110, provision}, {330, func(g *generator) Request { return g.choose(nodeParts) }},
	{80, func(g *generator) Request { return g.choose(others) }},
}, kindChoices())

func kindChoices() []choice {
	var all []choice
	for _, k := range kinds {
		of := k.requests()
		all = append(all, choice{k.weight, func(g *generator) Request { return g.choose(of) }})
	}
	return all
}

// setup returns the requests that create the objects at the start of a round.
func (g *generator) setup() []Request {
	var all []Request
	for i := range 2 {
		all = append(all, chassisKind.create(g, i, 1))
	}
	for i := range pool {
		all = append(all, g.createNode(i, 2))
	}
	for range 3 {
		for _, k := range kinds {
			if k.setup {
				all = append(all, k.create(g, g.IntN(pool), 1))
			}
		}
	}
	for i := range all {
		g.finish(&all[i])
		all[i].Header.Set(versionHeader, g.series.MaxAPIVersion().String())
	}
	return all
}
