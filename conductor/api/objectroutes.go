package api

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// portController returns the controller of /v1/ports.
func portController() *controller { return portResource.controller() }

// chassisController returns the controller of /v1/chassis, with the one of the nodes of a chassis.
func chassisController(nodes *controller) *controller {
	c := chassisResource.controller()
	c.subs = map[string]*controller{"nodes": nodes}
	return c
}

// portGroupController returns the controller of /v1/portgroups.
func portGroupController() *controller {
	c := portGroupResource.controller()
	c.lookup = below("portgroup", since.PortGroups, map[string]part{
		"ports": {controller: portResource.controllerBelow(ofPortGroup), since: since.PortGroupsBelow},
	})
	return c
}

// volumeController returns the controller of /v1/volume.
func volumeController() *controller {
	return volumes(connectorResource.controller(), targetResource.controller())
}

// templateController returns the controller of /v1/deploy_templates.
func templateController() *controller {
	c := templateResource.controller()
	c.admit = refuseBefore(since.DeployTemplates, "deploy templates")
	return c
}

// runbookController returns the controller of /v1/runbooks.
func runbookController() *controller {
	c := runbookResource.controller()
	c.admit = refuseBefore(since.Runbooks, "runbooks")
	ident := []string{runbookResource.identName()}
	set := action{serve: setRunbookTraits, idents: ident, optional: 1}
	c.subs = map[string]*controller{"traits": {
		admit:   refuseBefore(since.RunbookTraits, "runbook traits"),
		actions: actions{all: {serve: listRunbookTraits, idents: ident}, "put": set, "delete": set},
	}}
	return c
}

// allocationController returns the controller of /v1/allocations.
func allocationController() *controller {
	c := allocationResource.controller()
	c.admit = refuseBefore(since.Allocations, "allocations")
	for name, serve := range map[string]serve{"post": createAllocation, "delete": deleteAllocation} {
		a := c.actions[name]
		a.serve = serve
		c.actions[name] = a
	}
	return c
}

// belowNode returns the parts of a node that are objects.
func belowNode() map[string]part {
	return map[string]part{
		"ports":      {controller: portResource.controllerBelow(ofNode)},
		"portgroups": {controller: portGroupResource.controllerBelow(ofNode), since: since.PortGroupsBelow},
		"volume":     {controller: volumes(connectorResource.controllerBelow(ofNode), targetResource.controllerBelow(ofNode))},
		"allocation": {since: since.Allocations, controller: &controller{actions: actions{
			all: {serve: showNodeAllocation}, "delete": {serve: deleteNodeAllocation},
		}}},
	}
}

// controller returns the controller of a resource.
func (x *resource) controller() *controller {
	ident := []string{x.identName()}
	c := &controller{actions: actions{
		all:     {serve: listing{resource: x}.serve, since: x.since},
		one:     {serve: x.show, since: x.since, idents: ident, args: []string{"fields"}},
		"post":  {plain: true, body: x.schema, serve: x.create, since: x.since},
		"patch": {body: "patch", serve: x.patch, since: x.since, idents: ident}, "delete": {serve: x.remove, since: x.since, idents: ident},
	}}
	if x.detailed {
		c.actions["detail"] = action{custom: http.MethodGet, serve: listing{resource: x, details: true}.serve, since: x.since, args: x.parents()}
	}
	return c
}

// parents returns the first filters of the resource's list.
func (x *resource) parents() (names []string) {
	if x.early != nil {
		return x.early
	}
	for _, f := range x.filters {
		names = append(names, f.name)
	}
	return names
}

// controllerBelow returns the controller of the list of a resource below a parent. The
// parent's identifier is in the path.
func (x *resource) controllerBelow(of parent) *controller {
	forbidden := action{optional: 9, serve: x.forbid}
	c := &controller{actions: actions{
		all: {serve: listing{resource: x, parent: of}.serve},
		one: forbidden, "post": forbidden, "patch": forbidden, "delete": forbidden,
	}}
	if x.detailed {
		c.actions["detail"] = action{custom: http.MethodGet, serve: listing{resource: x, parent: of, details: true}.serve}
	}
	return c
}

// volumes returns the controller of /v1/volume or of the same below a node.
func volumes(connectors, targets *controller) *controller {
	return &controller{
		actions: actions{both: {serve: showVolumes, since: since.Volumes}},
		lookup: func(r *request, segments []string) (*controller, []string, error) {
			if r.version < since.Volumes {
				return nil, nil, errUnknown
			}
			return map[string]*controller{"connectors": connectors, "targets": targets}[segments[0]], segments[1:], nil
		},
	}
}

// showVolumes answers GET /v1/volume and /v1/nodes/NODE/volume.
func showVolumes(r *request) (answer, error) {
	if err := r.accept(r.queryArgs()); err != nil {
		return answer{}, err
	}
	path := "volume"
	if len(r.params) > 0 { // Ironic does not look for the node
		path = "nodes/" + r.param(0) + "/volume"
	}
	w := newWriter(512)
	w.open()
	w.key("links").links(r.base(), path+"/")
	w.key("connectors").links(r.base(), path+"/connectors")
	w.key("targets").links(r.base(), path+"/targets")
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}
