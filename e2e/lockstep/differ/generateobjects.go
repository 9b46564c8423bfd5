// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// A letter stands for a kind of objects in templates, such as {n:2}, and in the UUIDs that requests choose.
type letter byte

// Templates have other letters for what is no object of the API.
const (
	nodeLetter           letter = 'n'
	portLetter           letter = 'p'
	portgroupLetter      letter = 'g'
	chassisLetter        letter = 'c'
	connectorLetter      letter = 'k'
	targetLetter         letter = 't'
	deployTemplateLetter letter = 'd'
	allocationLetter     letter = 'a'
	runbookLetter        letter = 'r'
)

// kind is a kind of objects, whose fields are in fields.txt.
type kind struct {
	path       string
	letter     letter
	name       string        // of the objects, empty if they have none
	since      states.Series // the first series with the kind; NoSeries for all
	detailed   bool          // the path has /detail
	full       string        // what makes a list of the path complete
	children   bool          // since 2023.2 a complete list also needs include_children
	setup      bool          // some are created at the start of a round
	parameters []string      // that have a meaning for the list, besides the ones that all lists have
	filters    func(g *generator, v url.Values)
}

func mac(i int) string { return fmt.Sprintf("52:54:00:00:00:%02x", i) }

func byNode(g *generator, v url.Values) {
	maps.Copy(v, g.parameters(g.named("by_node")))
}

const detail = "?detail=true"

var (
	nodeKind = &kind{
		path: nodesPath, letter: nodeLetter, name: "node", detailed: true, full: detail, children: true,
		parameters: strings.Fields("associated maintenance provision_state driver resource_class owner lessee shard sharded retired fault " +
			"conductor_group instance_uuid chassis_uuid conductor description_contains parent_node include_children instance_name"),
		filters: (*generator).nodeFilters,
	}
	chassisKind = &kind{path: "/v1/chassis", letter: chassisLetter, detailed: true, full: "/detail", setup: true}
	runbookKind = &kind{path: "/v1/runbooks", letter: runbookLetter, name: "CUSTOM", since: states.Dalmatian, full: detail}
)

// kinds are all kinds, nodes first.
var kinds = []*kind{
	nodeKind,
	{
		path: "/v1/ports", letter: portLetter, name: "port", detailed: true, full: "/detail", setup: true,
		parameters: []string{"node", "node_uuid", "address", "portgroup", "shard", "description_contains", "conductor_groups"},
		filters: func(g *generator, v url.Values) {
			v.Set(pick(g, "node", "node_uuid", "address", "portgroup", "shard"),
				pick(g, nodeUUID(0), nodeUUID(1), mac(0), "portgroup-0", uuid(portgroupLetter, 0), "a", "", "x"))
			if g.chance(10) {
				v.Set("shard", "a")
			}
		},
	},
	{
		path: "/v1/portgroups", letter: portgroupLetter, name: "portgroup", detailed: true, full: "/detail", setup: true,
		parameters: []string{"node", "address", "shard", "description_contains", "conductor_groups"},
		filters: func(g *generator, v url.Values) {
			v.Set(pick(g, "node", "node_uuid", "address"), pick(g, nodeUUID(0), nodeUUID(1), mac(20), "", "x"))
		},
	},
	chassisKind,
	{
		path: "/v1/volume/connectors", letter: connectorLetter, full: detail, setup: true,
		parameters: []string{"node"}, filters: byNode,
	},
	{path: "/v1/volume/targets", letter: targetLetter, full: detail, setup: true, parameters: []string{"node"}, filters: byNode},
	{path: "/v1/deploy_templates", letter: deployTemplateLetter, name: "CUSTOM", full: detail, setup: true},
	{
		path: "/v1/allocations", letter: allocationLetter, name: "allocation",
		parameters: []string{"node", "resource_class", "state", "owner"},
		filters: func(g *generator, v url.Values) {
			v.Set(pick(g, "node", "resource_class", "state", "owner"),
				pick(g, nodeUUID(0), nodeUUID(1), "baremetal", "active", "error", "me", "", "x"))
		},
	},
	runbookKind,
}

// kindAt returns the kind with a path.
func kindAt(path string) *kind {
	return kinds[slices.IndexFunc(kinds, func(k *kind) bool { return k.path == path })]
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

// orderedSteps are the steps of a runbook.
func (g *generator) orderedSteps() any {
	steps := g.steps("deploy", "bios", "raid")
	list, _ := steps.([]*step)
	for _, s := range list {
		if s.Priority = nil; g.chance(95) {
			s.Order = g.of(1, 0, "2", -1)
		}
	}
	return steps
}

// object returns the body of a request for the i-th object, with all that it needs.
func (k *kind) object(g *generator, i int) map[string]any {
	if g.series < k.since {
		return map[string]any{"name": "CUSTOM_A", "steps": g.templateSteps()}
	}
	g.index = i
	return evalAs[map[string]any](g, tables[k.path].object)
}

// create returns a request for a new object.
func (k *kind) create(g *generator, i int, extras int) Request {
	body := k.object(g, i)
	body["uuid"] = uuid(k.letter, i)
	for range extras {
		name, value := g.valueOf(k.path)
		body[name] = value
	}
	if g.chance(3) {
		delete(body, pick(g, append([]string{"uuid"}, tables[k.path].fields...)...))
	}
	if g.chance(3) {
		body[pick(g, "nonsense", "created_at", "id", "links", "internal_info")] = g.value()
	}
	return newRequest("POST", k.path).with(body)
}

// requests returns the requests for objects of the kind.
func (k *kind) requests() []choice {
	id := func(g *generator) string { return g.id(k.letter, k.name) }
	all := []choice{
		{24, func(g *generator) Request {
			return newRequest("GET", k.path).query(g.markers(k.letter, g.list(g.fieldsOf(k.path), func(v url.Values) {
				if k.filters != nil {
					k.filters(g, v)
				}
			})))
		}},
		{22, func(g *generator) Request {
			v := url.Values{}
			if g.chance(35) {
				v.Set("fields", g.fields(g.fieldsOf(k.path)))
			}
			return newRequest("GET", k.path+"/{}", id(g)).query(v)
		}},
		{24, func(g *generator) Request { return k.create(g, g.IntN(pool), g.IntN(3)) }},
		{20, func(g *generator) Request {
			return newRequest("PATCH", k.path+"/{}", id(g)).with(g.patch(func() (string, any) { return g.valueOf(k.path) }, "object"))
		}},
		{8, func(g *generator) Request { return newRequest("DELETE", k.path+"/{}", id(g)) }},
	}
	if k.detailed {
		all = append(all, choice{8, func(g *generator) Request {
			return newRequest("GET", k.path+"/detail").query(g.markers(k.letter, g.list(tables[k.path].fields, nil)))
		}})
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
