// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// Ports returns the controller of /v1/ports.
func Ports() *rest.Controller { return portResource.controller() }

// Chassis returns the controller of /v1/chassis. nodes is the controller of the nodes of a chassis.
func Chassis(nodes *rest.Controller) *rest.Controller {
	c := chassisResource.controller()
	c.Subs = map[string]*rest.Controller{"nodes": nodes}
	return c
}

// PortGroups returns the controller of /v1/portgroups.
func PortGroups() *rest.Controller {
	c := portGroupResource.controller()
	c.Lookup = rest.Below("portgroup", since.PortGroups, map[string]rest.Part{
		"ports": {Controller: portResource.controllerBelow(ofPortGroup), Since: since.PortGroupsBelow},
	})
	return c
}

// Volumes returns the controller of /v1/volume.
func Volumes() *rest.Controller {
	return volumes(connectorResource.controller(), targetResource.controller())
}

// DeployTemplates returns the controller of /v1/deploy_templates.
func DeployTemplates() *rest.Controller {
	c := templateResource.controller()
	c.Admit = rest.RefuseBefore(since.DeployTemplates, "deploy templates")
	return c
}

// Runbooks returns the controller of /v1/runbooks.
func Runbooks() *rest.Controller {
	c := runbookResource.controller()
	c.Admit = rest.RefuseBefore(since.Runbooks, "runbooks")
	ident := []string{runbookResource.identName()}
	set := rest.Action{Serve: setRunbookTraits, Idents: ident, Optional: 1}
	c.Subs = map[string]*rest.Controller{"traits": {
		Admit:   rest.RefuseBefore(since.RunbookTraits, "runbook traits"),
		Actions: rest.Actions{rest.All: {Serve: listRunbookTraits, Idents: ident}, "put": set, "delete": set},
	}}
	return c
}

// Allocations returns the controller of /v1/allocations.
func Allocations() *rest.Controller {
	c := allocationResource.controller()
	c.Admit = rest.RefuseBefore(since.Allocations, "allocations")
	for name, serve := range map[string]rest.Serve{"post": createAllocation, "delete": deleteAllocation} {
		a := c.Actions[name]
		a.Serve = serve
		c.Actions[name] = a
	}
	return c
}

// BelowNode returns the child resources of a node that this package serves.
func BelowNode() map[string]rest.Part {
	return map[string]rest.Part{
		"ports":      {Controller: portResource.controllerBelow(ofPortNode)},
		"portgroups": {Controller: portGroupResource.controllerBelow(ofPortNode), Since: since.PortGroupsBelow},
		"volume":     {Controller: volumes(connectorResource.controllerBelow(ofNode), targetResource.controllerBelow(ofNode))},
		"allocation": {Since: since.Allocations, Controller: &rest.Controller{Actions: rest.Actions{
			rest.All: {Serve: showNodeAllocation}, "delete": {Serve: deleteNodeAllocation},
		}}},
	}
}

// controller returns the controller of a resource.
func (x *resource) controller() *rest.Controller {
	ident := []string{x.identName()}
	c := &rest.Controller{Actions: rest.Actions{
		rest.All: {Serve: listing{resource: x}.serve, Since: x.since},
		rest.One: {Serve: x.get, Since: x.since, Idents: ident, Args: []string{"fields"}},
		"post":   {NoArgs: true, Body: x.word, Serve: x.create, Since: x.since},
		"patch":  {Body: "patch", Serve: x.patch, Since: x.since, Idents: ident}, "delete": {Serve: x.remove, Since: x.since, Idents: ident},
	}}
	if x.list.detailPath {
		c.Actions["detail"] = rest.Action{Method: http.MethodGet, Serve: listing{resource: x, details: true}.serve, Since: x.since, Args: x.parents()}
	}
	return c
}

// parents returns the arguments that the segments after detail stand for: the first parameters of the resource's list.
func (x *resource) parents() (names []string) {
	switch {
	case x.list.early != nil:
		return x.list.early
	case len(x.list.filters) == 0:
		return []string{"marker"}
	}
	for _, f := range x.list.filters {
		names = append(names, f.name)
	}
	return names
}

// controllerBelow returns the controller of the list of a resource below a parent. The
// parent's identifier is in the path.
func (x *resource) controllerBelow(of *parent) *rest.Controller {
	forbidden := rest.Action{Optional: 9, Serve: x.forbid}
	c := &rest.Controller{Actions: rest.Actions{
		rest.All: {Serve: listing{resource: x, parent: of}.serve},
		rest.One: forbidden, "patch": forbidden, "delete": forbidden,
		"post": {NoArgs: true, Body: x.word, Serve: x.forbidCreate},
	}}
	if x.list.detailPath {
		c.Actions["detail"] = rest.Action{Method: http.MethodGet, Serve: listing{resource: x, parent: of, details: true}.serve}
	}
	return c
}

// volumes returns the controller of /v1/volume or /v1/nodes/NODE/volume.
func volumes(connectors, targets *rest.Controller) *rest.Controller {
	return &rest.Controller{
		Actions: rest.Actions{rest.Both: {Serve: showVolumes, Since: since.Volumes}},
		Lookup: func(r *rest.Request, segments []string) (*rest.Controller, []string, error) {
			if r.Version < since.Volumes {
				return nil, nil, fault.UnknownPath
			}
			return map[string]*rest.Controller{"connectors": connectors, "targets": targets}[segments[0]], segments[1:], nil
		},
	}
}

// showVolumes answers GET /v1/volume and /v1/nodes/NODE/volume.
func showVolumes(r *rest.Request) (rest.Answer, error) {
	if err := r.Accept(r.QueryArgs()); err != nil {
		return rest.Answer{}, err
	}
	path := "volume"
	if len(r.Params) > 0 { // Ironic does not look for the node
		path = "nodes/" + r.Param(0) + "/volume"
	}
	return rest.Object(func(w *wire.Writer) {
		w.Key("links").Links(r.Base(), path+"/")
		w.Key("connectors").Links(r.Base(), path+"/connectors")
		w.Key("targets").Links(r.Base(), path+"/targets")
	}), nil
}
