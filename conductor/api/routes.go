package api

import (
	"maps"

	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// newTree returns the paths of the service's series.
//
// Source: the controllers in ironic/api/controllers/v1.
func newTree(s *service) *tree {
	resources := map[string]*controller{
		"nodes":            nodeController(s),
		"chassis":          chassisController(chassisNodes()),
		"ports":            portController(),
		"portgroups":       portGroupController(),
		"volume":           volumeController(),
		"deploy_templates": templateController(),
		"runbooks":         runbookController(),
		"allocations":      allocationController(),
		"drivers":          driverController(),
		"conductors":       conductorController(),
		"shards":           shardController(),
		"lookup":           {actions: actions{all: {serve: lookup, since: since.Lookup}}},
		"heartbeat":        {actions: actions{"post": {serve: heartbeat, since: since.Lookup, idents: nodeIdent}}},
		"events":           {actions: actions{"post": {plain: true, serve: takeEvents, since: since.Events}}},
	}
	maps.DeleteFunc(resources, func(name string, _ *controller) bool {
		return name == "runbooks" && s.highest < since.Runbooks || name == "shards" && s.highest < since.Shards || name == "events" && s.highest < since.Events
	})
	return &tree{root: root, v1: v1, resources: resources}
}
