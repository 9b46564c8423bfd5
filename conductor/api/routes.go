// SPDX-License-Identifier: Apache-2.0

package api

import (
	"maps"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor/api/internal/drivers"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/nodes"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/ramdisk"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// agentPaths are the resources that agents use, and nobody else.
var agentPaths = []string{"lookup", "heartbeat", "continue_inspection"}

// newTree returns the paths of the service's series for an audience.
//
// Source: the controllers in ironic/api/controllers/v1.
func newTree(s *rest.Service, config Config) *rest.Tree {
	resources := map[string]*rest.Controller{
		"nodes":            nodes.Controller(s),
		"chassis":          objects.Chassis(s),
		"ports":            objects.Ports(s),
		"portgroups":       objects.PortGroups(s),
		"volume":           objects.Volumes(s),
		"deploy_templates": objects.DeployTemplates(s),
		"runbooks":         objects.Runbooks(s),
		"allocations":      objects.Allocations(s),
		"drivers":          drivers.Drivers(),
		"conductors":       drivers.Conductors(),
		"shards":           nodes.Shards(s),
		"lookup":           {Actions: rest.Actions{rest.All: {Serve: ramdisk.Lookup, Since: since.Lookup}}},
		"events":           ramdisk.Events(s),
		"inspection_rules": objects.InspectionRules(s),

		"heartbeat": {Actions: rest.Actions{
			"post": {Serve: ramdisk.Heartbeat, Since: since.Lookup, Optional: 1, Args: ramdisk.HeartbeatArgs},
		}},
		"continue_inspection": {Actions: rest.Actions{"post": {Serve: ramdisk.ContinueInspection, Body: "data"}}},
	}
	for name, first := range map[string]states.APIVersion{
		"runbooks": since.Runbooks, "shards": since.Shards, "continue_inspection": since.ContinueInspection, "events": since.Events,
		"inspection_rules": since.InspectionRules,
	} {
		if s.Highest < first { // the series lacks the resource
			delete(resources, name)
		}
	}
	for _, name := range agentPaths {
		if c := resources[name]; c != nil {
			c.Admit = config.admitAgent
		}
	}
	if config.Audience == Agents {
		maps.DeleteFunc(resources, func(name string, _ *rest.Controller) bool { return !slices.Contains(agentPaths, name) })
	}
	return &rest.Tree{Root: root, V1: v1, Resources: resources}
}

// admitAgent refuses a request of an agent that the handler does not answer, before anything is read.
//
// Source: ironic/api/controllers/v1/ramdisk.py, where enable_ramdisk_endpoints is False.
func (c Config) admitAgent(r *rest.Request) error {
	if c.Audience != Clients && (len(c.AgentNetworks) == 0 || c.AgentNetworks.Contains(r.Source())) {
		return nil
	}
	return &fault.Fault{Status: http.StatusForbidden, Text: "Access was denied to the following resource: " + r.URL.Path}
}
