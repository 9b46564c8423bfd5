// SPDX-License-Identifier: Apache-2.0

package differ

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// wideRequests are the requests that a reader of Ironic's API reference would send: lives of nodes, each field with
// each kind of value, all parameters of a list together, and each path below a node by each method and each name.
var wideRequests = []choice{
	{30, live}, {20, wideCreate}, {20, widePatch}, {16, wideList}, {14, wideBelow}, {12, agent}, {6, wideDriver},
}

// edges are values at the limits of the values that fields take.
var edges = []any{
	nil, true, false, 0, 1, -1, 1.5, 1 << 40, "", " ", "a", "true", "False", "yes", "maybe", "0", "1", "12", "a/b", " padded ",
	"ünï 𝄞",
	"x.json", "under_score", "-dash", "UPPER", nodeUUID(0), nodeUUID(pool), strings.ToUpper(nodeUUID(1)),
	strings.ReplaceAll(nodeUUID(1), "-", ""),
	strings.Repeat("x", 64), strings.Repeat("x", 80), strings.Repeat("y", 81), strings.Repeat("x", 255), strings.Repeat("z", 256),
	strings.Repeat("ü", 256), strings.Repeat("d", 4096),
	[]any{}, []any{"a"}, []any{nil}, map[string]any{}, map[string]any{"a": 1}, map[string]any{"ü": nil}, map[string]any{"": ""},
	map[string]any{"a": map[string]any{"b": []any{1, 2}}},
}

// wideKind returns a kind of objects, and the fields that clients see of it.
func (g *generator) wideKind() (k *kind, fields []string) {
	if k = nodeKind; !g.chance(40) {
		k = pick(g, kinds[1:]...)
	}
	return k, g.fieldsOf(k.path)
}

func wideCreate(g *generator) Request {
	k, fields := g.wideKind()
	i := g.IntN(pool)
	body := k.object(g, i)
	body["uuid"] = uuid(k.id, i)
	for range 1 + g.IntN(2) {
		body[pick(g, fields...)] = pick(g, edges...)
	}
	if g.chance(10) {
		delete(body, pick(g, slices.Sorted(maps.Keys(body))...))
	}
	return newRequest(http.MethodPost, k.path).with(body)
}

func widePatch(g *generator) Request {
	k, fields := g.wideKind()
	id := g.id(k.id, k.name)
	var patch []any
	for range 1 + g.IntN(100)/80 {
		change := map[string]any{"op": pick(g, "add", "replace", "replace", "remove"), "path": "/" + pick(g, fields...)}
		if change["op"] != "remove" {
			change["value"] = pick(g, edges...)
		}
		patch = append(patch, change)
	}
	return newRequest(http.MethodPatch, k.path+"/{}", id).with(patch)
}

//go:embed wide.json
var wideText []byte

// wideData has the data of the wide requests.
var wideData = parseWide(wideText)

type wide struct {
	Parameters map[string][]template     // of all lists, with values
	Parts      [][]template              // the paths below a node, each with the bodies that it takes, if any
	Forward    map[states.State][]string // the requests that take a node through its life, by its state
	Change     template                  // of a field that decides about the life of a node
	Steps      template                  // of a cleaning or a service
	Deployment template                  // members of the body
	Inspection template                  // of an agent
	Heartbeat  template
}

// parseWide parses wide.json. It panics for malformed data.
func parseWide(text []byte) (w wide) {
	if err := json.Unmarshal(text, &w); err != nil {
		panic(fmt.Sprintf("differ: wide.json: %v", err))
	}
	return w
}

var parameterNames = slices.Sorted(maps.Keys(wideData.Parameters))

func wideList(g *generator) Request {
	k, fields := g.wideKind()
	path := k.path
	known := append(strings.Fields("limit sort_dir detail marker"), k.parameters...) // the others often have no meaning for the list
	if k.detailed && g.chance(20) {
		path += "/detail"
	}
	v := url.Values{}
	for range 1 + g.IntN(4) {
		name := pick(g, known...)
		if g.chance(10) {
			name = pick(g, parameterNames...)
		}
		v.Set(name, g.eval(pick(g, wideData.Parameters[name]...)).(string))
	}
	if g.chance(25) {
		v.Set("fields", strings.Join([]string{pick(g, fields...), pick(g, fields...)}, ","))
	}
	if g.chance(25) {
		v.Set("sort_key", pick(g, fields...))
	}
	return newRequest(http.MethodGet, path).query(v)
}

func wideBelow(g *generator) Request {
	part := pick(g, wideData.Parts...)
	whole, bodies := g.eval(part[0]).(string), part[1:]
	path, _, _ := strings.Cut(whole, "?")
	node := g.node()
	if g.chance(8) {
		node += pick(g, ".json", ".xml", ".")
	}
	r := newRequest(pick(g, "GET", "GET", "GET", "PUT", "PUT", "POST", "DELETE", "PATCH", "HEAD"), "/v1/nodes/{}"+path, node)
	r.Path += strings.TrimPrefix(whole, path)
	if len(bodies) > 0 && r.Method != http.MethodGet && r.Method != http.MethodHead && g.chance(90) {
		r = r.with(g.eval(pick(g, bodies...)))
	}
	return r.mayWrite()
}

// live moves a node on, or changes one of the fields that decide about its life.
func live(g *generator) Request {
	node := nodeUUID(g.IntN(pool))
	if g.chance(15) {
		return newRequest(http.MethodPatch, "/v1/nodes/{}", node).with([]any{g.eval(wideData.Change)})
	}
	state, err := states.Parse(g.states[node])
	if err != nil {
		return newRequest(http.MethodPost, nodesPath).with(map[string]any{"driver": "fake-hardware", "uuid": node})
	}
	words := wideData.Forward[state]
	if len(words) == 0 {
		return newRequest(http.MethodDelete, "/v1/nodes/{}/maintenance", node)
	}
	body := map[string]any{"target": pick(g, words...)}
	switch body["target"] {
	case "clean", "service":
		body[body["target"].(string)+"_steps"] = g.eval(wideData.Steps)
		if g.chance(20) {
			body["disable_ramdisk"] = pick(g, true, false)
		}
	case "rescue":
		body["rescue_password"] = "secret"
	case "active", "rebuild":
		maps.Copy(body, g.eval(wideData.Deployment).(map[string]any))
	}
	return newRequest(http.MethodPut, "/v1/nodes/{}/states/provision", node).with(body)
}

// agent returns a request of an agent.
func agent(g *generator) Request {
	switch g.IntN(4) {
	case 0:
		v := url.Values{}
		for _, name := range []string{"node_uuid", "addresses"} {
			if g.chance(60) {
				v.Set(name, pick(g, nodeUUID(0), nodeUUID(1), "node-1", mac(0), mac(0)+","+mac(1), strings.ToUpper(mac(1)), "x",
					"", "x,"+mac(2)))
			}
		}
		return newRequest(http.MethodGet, "/v1/lookup").query(v)
	case 1:
		return newRequest(http.MethodPost, "/v1/continue_inspection").with(g.eval(wideData.Inspection))
	default:
		body := g.eval(wideData.Heartbeat)
		return newRequest(http.MethodPost, "/v1/heartbeat/{}", g.node()).with(body)
	}
}

// wideDriver returns a request for a path without records.
func wideDriver(g *generator) Request {
	path := pick(g, "/v1/drivers", "/v1/drivers/{}", "/v1/drivers/{}/properties", "/v1/drivers/{}/raid",
		"/v1/drivers/{}/raid/logical_disk_properties", "/v1/drivers/{}/vendor_passthru", "/v1/drivers/{}/vendor_passthru/methods",
		"/v1/drivers/{}/x", "/v1/conductors", "/v1/conductors/{}", "/v1/shards", "/v1/shards/{}", "/v1/volume", "/v1/volume/{}",
		"/v1/events", "/v1/lookup", "/v1/heartbeat", "/v1/continue_inspection",
		"/v1", "/", "/v1/{}", "/v1/runbooks/{}/traits", "/v1/runbooks/{}/traits/CUSTOM_A", "/v1/chassis/{}/nodes",
		"/v1/portgroups/{}/ports", "/v1/allocations/{}/x")
	name := pick(g, "fake-hardware", "fake-hardware", "lockstep", "x", "ipmi", "fake-hardware.json", "CUSTOM_0", uuid('c', 0),
		uuid('g', 0))
	v := url.Values{}
	if g.chance(35) {
		for range 1 + g.IntN(2) {
			known := pick(g, "detail", "fields", "type", "limit", "sort_key", "sort_dir", "marker", "bogus")
			v.Set(known, pick(g, "true", "x", "name", "1", "hostname,alive", "dynamic", "default_deploy_interface", "asc",
				"hostname", "lockstep", "", "name,hosts,type"))
		}
	}
	r := newRequest(pick(g, "GET", "GET", "GET", "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"), path, name).query(v)
	if (r.Method == http.MethodPut || r.Method == http.MethodPost || r.Method == http.MethodPatch) && g.chance(70) {
		r = r.with(pick[any](g, map[string]any{}, map[string]any{"traits": []any{"CUSTOM_A"}}, []any{}, map[string]any{"x": 1}))
	}
	return r.mayWrite()
}
