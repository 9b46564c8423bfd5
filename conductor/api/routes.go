// SPDX-License-Identifier: Apache-2.0

package api

import (
	"github.com/ironstate/ironstate/conductor/api/internal/drivers"
	"github.com/ironstate/ironstate/conductor/api/internal/nodes"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/ramdisk"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// newTree returns the paths of the service's series.
//
// Source: the controllers in ironic/api/controllers/v1.
func newTree(s *rest.Service) *rest.Tree {
	resources := map[string]*rest.Controller{
		"nodes":            nodes.Controller(s),
		"chassis":          objects.Chassis(nodes.OfChassis(s)),
		"ports":            objects.Ports(),
		"portgroups":       objects.PortGroups(),
		"volume":           objects.Volumes(),
		"deploy_templates": objects.DeployTemplates(),
		"runbooks":         objects.Runbooks(),
		"allocations":      objects.Allocations(),
		"drivers":          drivers.Drivers(),
		"conductors":       drivers.Conductors(),
		"shards":           nodes.Shards(),
		"lookup":           {Actions: rest.Actions{rest.All: {Serve: ramdisk.Lookup, Since: since.Lookup}}},
		"heartbeat":        {Actions: rest.Actions{"post": {Serve: ramdisk.Heartbeat, Since: since.Lookup, Idents: rest.NodeIdent}}},
		"events":           ramdisk.Events(),

		"continue_inspection": {Actions: rest.Actions{"post": {Serve: ramdisk.ContinueInspection}}},
	}
	for name, first := range map[string]states.APIVersion{
		"runbooks": since.Runbooks, "shards": since.Shards, "continue_inspection": since.ContinueInspection, "events": since.Events,
	} {
		if s.Highest < first { // the series lacks the resource
			delete(resources, name)
		}
	}
	return &rest.Tree{Root: root, V1: v1, Resources: resources}
}
