// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/e2e/lockstep"
)

var (
	portFields      = strings.Fields("uuid address extra internal_info is_smartnic local_link_connection name node_uuid physical_network portgroup_uuid pxe_enabled created_at updated_at")
	portGroupFields = strings.Fields("uuid address extra internal_info mode name node_uuid properties standalone_ports_supported created_at updated_at")
	chassisFields   = strings.Fields("uuid description extra created_at updated_at")
	connectorFields = strings.Fields("uuid node_uuid type connector_id extra created_at updated_at")
	targetFields    = strings.Fields("uuid node_uuid volume_type properties boot_index volume_id extra created_at updated_at")
	templateFields  = strings.Fields("uuid name steps extra created_at updated_at")
	allocFields     = strings.Fields("uuid name node_uuid state last_error resource_class traits candidate_nodes extra owner created_at updated_at")
)

// kind is a kind of objects beside nodes.
type kind struct {
	path     string
	id       byte
	name     string // of the objects, empty if they have none
	fields   []string
	detailed bool // the path has /detail
	weight   int
	filters  func(g *generator, v url.Values)
	// object returns the body of a request for the i-th object, with all that it needs.
	object func(g *generator, i int) map[string]any
	value  func(g *generator) (string, any)
}

func (g *generator) otherNode() any {
	return g.of(nodeUUID(g.IntN(pool)), nodeUUID(g.IntN(pool)), nodeUUID(g.IntN(pool)), "node-0", nodeUUID(pool))
}

func mac(i int) string { return fmt.Sprintf("52:54:00:00:00:%02x", i) }

func byNode(g *generator, v url.Values) {
	v.Set(pick(g, "node", "node", "node_uuid"), g.node())
}

var otherKinds = []*kind{
	{path: "/v1/ports", id: 'p', name: "port", fields: portFields, detailed: true, weight: 90,
		filters: func(g *generator, v url.Values) {
			v.Set(pick(g, "node", "node_uuid", "address", "portgroup", "shard"), pick(g, nodeUUID(0), nodeUUID(1), mac(0), "portgroup-0", uuid('g', 0), "a", "", "x"))
			if g.chance(10) {
				v.Set("shard", "a")
			}
		},
		object: func(g *generator, i int) map[string]any {
			return map[string]any{"address": g.of(mac(i), mac(i), strings.ToUpper(mac(i+10)), mac(i+10)), "node_uuid": g.otherNode()}
		},
		value: func(g *generator) (string, any) {
			switch g.IntN(9) {
			case 0:
				return "address", g.of(mac(g.IntN(8)), "52-54-00-00-00-01")
			case 1:
				return "node_uuid", g.otherNode()
			case 2:
				return "portgroup_uuid", g.of(uuid('g', g.IntN(pool)), uuid('g', 0), nil)
			case 3:
				return "physical_network", g.of("physnet1", "physnet2", nil, "")
			case 4:
				return "pxe_enabled", g.of(true, false)
			case 5:
				return "local_link_connection", g.of(map[string]any{}, map[string]any{"switch_id": "0a:1b:2c:3d:4e:5f", "port_id": "Ethernet3/1", "switch_info": "s1"},
					map[string]any{"switch_id": "x"}, map[string]any{"network_type": "unmanaged"})
			case 6:
				return "is_smartnic", g.of(false, false, true)
			case 7:
				return "name", g.of(fmt.Sprintf("port-%d", g.IntN(pool)), nil)
			default:
				return "extra", g.of(map[string]any{}, map[string]any{"a": "b"}, map[string]any{"vif_port_id": "x"})
			}
		}},
	{path: "/v1/portgroups", id: 'g', name: "portgroup", fields: portGroupFields, detailed: true, weight: 55,
		filters: func(g *generator, v url.Values) {
			v.Set(pick(g, "node", "node_uuid", "address"), pick(g, nodeUUID(0), nodeUUID(1), mac(20), "", "x"))
		},
		object: func(g *generator, i int) map[string]any { return map[string]any{"node_uuid": g.otherNode()} },
		value: func(g *generator) (string, any) {
			switch g.IntN(7) {
			case 0:
				return "address", g.of(mac(20+g.IntN(pool)), nil)
			case 1:
				return "node_uuid", g.otherNode()
			case 2:
				return "mode", g.of("active-backup", "802.3ad", "balance-rr")
			case 3:
				return "standalone_ports_supported", g.of(true, false)
			case 4:
				return "name", g.of(fmt.Sprintf("portgroup-%d", g.IntN(pool)), nil)
			case 5:
				return "properties", g.of(map[string]any{}, map[string]any{"miimon": 100, "xmit_hash_policy": "layer2"})
			default:
				return "extra", g.of(map[string]any{}, map[string]any{"a": "b"})
			}
		}},
	{path: "/v1/chassis", id: 'c', fields: chassisFields, detailed: true, weight: 35,
		object: func(g *generator, i int) map[string]any { return map[string]any{} },
		value: func(g *generator) (string, any) {
			if g.chance(50) {
				return "description", g.of("a chassis", "", nil)
			}
			return "extra", g.of(map[string]any{}, map[string]any{"a": "b"})
		}},
	{path: "/v1/volume/connectors", id: 'k', fields: connectorFields, weight: 35, filters: byNode,
		object: func(g *generator, i int) map[string]any {
			return map[string]any{"node_uuid": g.otherNode(), "type": g.of("iqn", "ip", "mac", "wwnn", "wwpn", "port", "portgroup"), "connector_id": g.of(fmt.Sprintf("id-%d", i))}
		},
		value: func(g *generator) (string, any) {
			switch g.IntN(4) {
			case 0:
				return "node_uuid", g.otherNode()
			case 1:
				return "type", g.of("iqn", "mac", "nonsense")
			case 2:
				return "connector_id", g.of("id-0", "id-1", "other")
			default:
				return "extra", g.of(map[string]any{}, map[string]any{"a": "b"})
			}
		}},
	{path: "/v1/volume/targets", id: 't', fields: targetFields, weight: 35, filters: byNode,
		object: func(g *generator, i int) map[string]any {
			return map[string]any{"node_uuid": g.otherNode(), "volume_type": g.of("iscsi", "fibre_channel"), "boot_index": g.of(i, "0"), "volume_id": g.of("volume")}
		},
		value: func(g *generator) (string, any) {
			switch g.IntN(6) {
			case 0:
				return "node_uuid", g.otherNode()
			case 1:
				return "volume_type", g.of("iscsi")
			case 2:
				return "boot_index", g.of(0, 1, 2, "3", -1)
			case 3:
				return "volume_id", g.of("volume", "other")
			case 4:
				return "properties", g.of(map[string]any{}, map[string]any{"target_iqn": "iqn", "auth_password": "secret"})
			default:
				return "extra", g.of(map[string]any{}, map[string]any{"a": "b"})
			}
		}},
	{path: "/v1/deploy_templates", id: 'd', name: "CUSTOM", fields: templateFields, weight: 40,
		object: func(g *generator, i int) map[string]any {
			return map[string]any{"name": g.of(fmt.Sprintf("CUSTOM_%d", i), "CUSTOM_A", "HW_CPU_X86_VMX", "lower"), "steps": g.templateSteps()}
		},
		value: func(g *generator) (string, any) {
			switch g.IntN(3) {
			case 0:
				return "name", g.of("CUSTOM_0", "CUSTOM_A", "CUSTOM_B")
			case 1:
				return "steps", g.templateSteps()
			default:
				return "extra", g.of(map[string]any{}, map[string]any{"a": "b"})
			}
		}},
	{path: "/v1/allocations", id: 'a', name: "allocation", fields: allocFields, weight: 45,
		filters: func(g *generator, v url.Values) {
			v.Set(pick(g, "node", "resource_class", "state", "owner"), pick(g, nodeUUID(0), nodeUUID(1), "baremetal", "active", "error", "me", "", "x"))
		},
		object: func(g *generator, i int) map[string]any {
			return map[string]any{"resource_class": g.of("baremetal", "gold")}
		},
		value: func(g *generator) (string, any) {
			switch g.IntN(7) {
			case 0, 1:
				return "name", g.of(fmt.Sprintf("allocation-%d", g.IntN(pool)), nil)
			case 2:
				return "traits", g.of([]any{}, []any{pick(g, traits...)})
			case 3:
				return "candidate_nodes", g.of([]any{}, []any{nodeUUID(g.IntN(pool))}, []any{"node-0", "node-1"})
			case 4:
				return "node", g.of(nodeUUID(g.IntN(pool)), "node-1", nil)
			case 5:
				return "owner", g.of("me", nil)
			default:
				return "extra", g.of(map[string]any{}, map[string]any{"a": "b"})
			}
		}},
	{path: "/v1/runbooks", id: 'r', name: "CUSTOM", fields: templateFields, weight: 4,
		object: func(g *generator, i int) map[string]any {
			return map[string]any{"name": "CUSTOM_A", "steps": g.templateSteps()}
		},
		value: func(g *generator) (string, any) { return "public", true }},
}

func (g *generator) templateSteps() any {
	steps := g.steps("deploy", "bios", "raid")
	list, _ := steps.([]*step)
	for _, s := range list {
		if g.chance(95) {
			s.Priority = g.of(10, 0, 99, -1)
			if s.Args == nil {
				s.Args = map[string]any{}
			}
		}
	}
	return steps
}

// create returns a request for a new object.
func (k *kind) create(g *generator, i int, extras int) Request {
	body := k.object(g, i)
	body["uuid"] = uuid(k.id, i)
	for range extras {
		name, value := k.value(g)
		body[name] = value
	}
	if g.chance(3) {
		delete(body, pick(g, append([]string{"uuid"}, k.fields...)...))
	}
	if g.chance(3) {
		body[pick(g, "nonsense", "created_at", "id", "links", "internal_info")] = g.value()
	}
	return request("POST", k.path).with(body)
}

// requests returns the requests for objects of the kind.
func (k *kind) requests() []choice {
	id := func(g *generator) string { return g.id(k.id, k.name) }
	all := []choice{
		{24, func(g *generator) Request {
			return request("GET", k.path).query(g.markers(k.id, g.list(k.fields, func(v url.Values) {
				if k.filters != nil {
					k.filters(g, v)
				}
			})))
		}},
		{22, func(g *generator) Request {
			v := url.Values{}
			if g.chance(35) {
				v.Set("fields", g.fields(k.fields))
			}
			return request("GET", k.path+"/{}", id(g)).query(v)
		}},
		{24, func(g *generator) Request { return k.create(g, g.IntN(pool), g.IntN(3)) }},
		{20, func(g *generator) Request {
			return request("PATCH", k.path+"/{}", id(g)).with(g.patch(func() (string, any) { return k.value(g) }, "extra", "properties"))
		}},
		{8, func(g *generator) Request { return request("DELETE", k.path+"/{}", id(g)) }},
	}
	if k.detailed {
		all = append(all, choice{8, func(g *generator) Request {
			return request("GET", k.path+"/detail").query(g.markers(k.id, g.list(k.fields, nil)))
		}})
	}
	return all
}

var drivers = []string{"fake-hardware", "fake-hardware", "fake-hardware", "ipmi", "ünï"}

// others are the requests for paths without objects of their own.
var others = []choice{
	{4, func(g *generator) Request { return request("GET", "/") }},
	{6, func(g *generator) Request { return request("GET", pick(g, "/v1", "/v1/")) }},
	{8, func(g *generator) Request {
		v := url.Values{}
		if g.chance(60) {
			v.Set(pick(g, "type", "detail", "fields"), pick(g, "dynamic", "classic", "true", "false", "x", "name", "name,hosts", "enabled_bios_interfaces,name"))
		}
		return request("GET", "/v1/drivers").query(v)
	}},
	{6, func(g *generator) Request {
		v := url.Values{}
		if g.chance(40) {
			v.Set("fields", pick(g, "name", "name,hosts", "default_bios_interface", "nonsense", "type,properties"))
		}
		return request("GET", "/v1/drivers/{}", pick(g, drivers...)).query(v)
	}},
	{5, func(g *generator) Request { return request("GET", "/v1/drivers/{}/properties", pick(g, drivers...)) }},
	{2, func(g *generator) Request { return request("GET", "/v1/drivers/properties") }},
	{1, func(g *generator) Request {
		return request("GET", "/v1/drivers/{}/raid/logical_disk_properties", pick(g, drivers...))
	}},
	{3, func(g *generator) Request {
		return request("GET", "/v1/drivers/{}/vendor_passthru/methods", pick(g, drivers...))
	}},
	{4, callVendor("/v1/drivers/{}/vendor_passthru", func(g *generator) []string { return []string{pick(g, drivers...)} })},
	{5, func(g *generator) Request {
		return request("GET", "/v1/conductors").query(g.list([]string{"hostname", "conductor_group", "alive", "drivers", "created_at"}, nil))
	}},
	{4, func(g *generator) Request {
		return request("GET", "/v1/conductors/{}", pick(g, lockstep.HostName, lockstep.HostName, "other"))
	}},
	{5, func(g *generator) Request { return request("GET", "/v1/shards") }},
	{4, func(g *generator) Request { return request("GET", "/v1/volume") }},
	{6, func(g *generator) Request {
		v := url.Values{}
		v.Set(pick(g, "addresses", "node_uuid", "node_uuid"), pick(g, mac(0)+","+mac(1), nodeUUID(0), nodeUUID(1), "x", ""))
		return request("GET", "/v1/lookup").query(v)
	}},
	{6, func(g *generator) Request {
		body := map[string]any{"callback_url": g.of("http://127.0.0.1:1/"), "agent_token": g.of("token", "x")}
		if g.chance(40) {
			body["agent_version"] = g.of("9.1.0")
		}
		if g.chance(30) {
			delete(body, pick(g, "callback_url", "agent_token"))
		}
		return request("POST", "/v1/heartbeat/{}", g.node()).with(body)
	}},
	{4, func(g *generator) Request {
		return request("POST", "/v1/events").with(map[string]any{"events": g.of([]any{}, []any{map[string]any{"event": "network.bind_port",
			"port_id": uuid('p', 0), "mac_address": mac(0), "status": "ACTIVE", "device_id": nodeUUID(0), "binding:host_id": nodeUUID(0), "binding:vnic_type": "baremetal"}})})
	}},
	{4, func(g *generator) Request {
		return request("GET", "/v1/chassis/{}/nodes", g.id('c', "")).query(g.list(nodeFields, g.nodeFilters))
	}},
	{2, func(g *generator) Request { return request("GET", "/v1/chassis/{}/nodes/detail", g.id('c', "")) }},
	{4, func(g *generator) Request {
		return request("GET", "/v1/portgroups/{}/ports", g.id('g', "portgroup")).query(g.list(portFields, nil))
	}},
	{2, func(g *generator) Request {
		return request("GET", "/v1/portgroups/{}/ports/detail", g.id('g', "portgroup"))
	}},
	{4, func(g *generator) Request {
		return request(pick(g, "GET", "POST", "PUT", "DELETE"), pick(g, "/v1/nonsense", "/v2", "/v1/nodes/{}/nonsense/x", "/v1/nodes/{}/states/nonsense", "/v1/nodes/detail/x",
			"/nonsense", "/v1/volume/nonsense", "/v1/inspection_rules", "/v1/continue_inspection", "/favicon.ico"), g.node())
	}},
}

// requests are all requests, with their weights.
var requests = slices.Concat([]choice{
	{50, listNodes}, {60, showNode}, {45, newNode}, {90, patchNode}, {7, func(g *generator) Request { return request("DELETE", "/v1/nodes/{}", g.node()) }},
	{110, provision}, {330, func(g *generator) Request { return g.choose(nodeParts) }}, {80, func(g *generator) Request { return g.choose(others) }},
}, kindChoices())

func kindChoices() []choice {
	var all []choice
	for _, k := range otherKinds {
		of := k.requests()
		all = append(all, choice{k.weight, func(g *generator) Request { return g.choose(of) }})
	}
	return all
}

// setup returns the requests that create the objects at the start of a round.
func (g *generator) setup() []Request {
	var all []Request
	for i := range 2 {
		all = append(all, otherKinds[2].create(g, i, 1))
	}
	for i := range pool {
		all = append(all, g.createNode(i, 2))
	}
	for range 3 {
		for _, k := range otherKinds {
			if k.weight > 10 && k.id != 'a' {
				all = append(all, k.create(g, g.IntN(pool), 1))
			}
		}
	}
	for i := range all {
		g.finish(&all[i])
		all[i].Header.Set(versionHeader, lockstep.Series.MaxAPIVersion().String())
	}
	return all
}
