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
	body["uuid"] = uuid(k.letter, i)
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
	id := g.id(k.letter, k.name)
	var patch []any
	for range 1 + g.IntN(100)/80 {
		change := map[string]any{"op": named[string](g, "wide_operation"), "path": "/" + pick(g, fields...)}
		if change["op"] != "remove" {
			change["value"] = pick(g, edges...)
		}
		patch = append(patch, change)
	}
	return newRequest(http.MethodPatch, k.path+"/{}", id).with(patch)
}

//go:embed values.json
var valuesText []byte

// values are the contents of values.json. They are set by init, since templates use them.
var values valueTables

type valueTables struct {
	Values      map[string]template        // by name
	NodeFilters map[string]selection       `json:"node_filters"`
	WidePaths   []string                   `json:"wide_paths"` // without records
	Parameters  map[string]selection       // of all lists, with values
	Parts       [][]template               // the paths below a node, each with the bodies that it takes, if any
	Forward     map[states.State]selection // the requests that take a node through its life, by its state
}

// parseValues parses values.json. It panics for malformed data.
func parseValues(text []byte) (v valueTables) {
	if err := json.Unmarshal(text, &v); err != nil {
		panic(fmt.Sprintf("differ: values.json: %v", err))
	}
	return v
}

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
			name = pick(g, slices.Sorted(maps.Keys(values.Parameters))...)
		}
		v.Set(name, evalAs[string](g, template{values.Parameters[name]}))
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
	part := pick(g, values.Parts...)
	whole, bodies := evalAs[string](g, part[0]), part[1:]
	path, _, _ := strings.Cut(whole, "?")
	node := g.node()
	if g.chance(8) {
		node += pick(g, ".json", ".xml", ".")
	}
	r := newRequest(named[string](g, "wide_method"), "/v1/nodes/{}"+path, node)
	r.Path += strings.TrimPrefix(whole, path)
	if len(bodies) > 0 && r.Method != http.MethodGet && r.Method != http.MethodHead && g.chance(90) {
		r = r.with(g.eval(pick(g, bodies...)))
	}
	r.writes = true
	return r
}

// live moves a node on, or changes one of the fields that decide about its life.
func live(g *generator) Request {
	node := nodeUUID(g.IntN(pool))
	if g.chance(15) {
		return newRequest(http.MethodPatch, "/v1/nodes/{}", node).with([]any{g.named("live_change")})
	}
	state, err := states.Parse(g.states[node])
	if err != nil {
		return newRequest(http.MethodPost, nodesPath).with(map[string]any{"driver": "fake-hardware", "uuid": node})
	}
	words := values.Forward[state]
	if len(words.from) == 0 {
		return newRequest(http.MethodDelete, "/v1/nodes/{}/maintenance", node)
	}
	target := evalAs[string](g, template{words})
	body := map[string]any{"target": target}
	switch target {
	case "clean", "service":
		body[target+"_steps"] = g.named("live_steps")
		if g.chance(20) {
			body["disable_ramdisk"] = pick(g, true, false)
		}
	case "rescue":
		body["rescue_password"] = "secret"
	case "active", "rebuild":
		maps.Copy(body, named[map[string]any](g, "live_deployment"))
	}
	return newRequest(http.MethodPut, "/v1/nodes/{}/states/provision", node).with(body)
}

// wideDriver returns a request for a path without records.
func wideDriver(g *generator) Request {
	path, name := pick(g, values.WidePaths...), named[string](g, "wide_name")
	v := url.Values{}
	if g.chance(35) {
		for range 1 + g.IntN(2) {
			known := pick(g, "detail", "fields", "type", "limit", "sort_key", "sort_dir", "marker", "bogus")
			v.Set(known, pick(g, "true", "x", "name", "1", "hostname,alive", "dynamic", "default_deploy_interface", "asc",
				"hostname", "lockstep", "", "name,hosts,type"))
		}
	}
	r := newRequest(named[string](g, "driver_method"), path, name).query(v)
	if (r.Method == http.MethodPut || r.Method == http.MethodPost || r.Method == http.MethodPatch) && g.chance(70) {
		r = r.with(pick[any](g, map[string]any{}, map[string]any{"traits": []any{"CUSTOM_A"}}, []any{}, map[string]any{"x": 1}))
	}
	r.writes = true
	return r
}
