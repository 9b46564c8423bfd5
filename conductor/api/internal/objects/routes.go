// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

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

// forbidCreate answers a POST below another record. Ironic does not permit it, but checks the body before it says so.
func (x *resource) forbidCreate(r *rest.Request) (rest.Answer, error) {
	o, _, err := x.decode(r)
	if err == nil && !x.write.forbidFirst {
		err = x.checkNode(r, nil, o)
	}
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Answer{}, fault.NotPermitted
}

// forbid answers a request for one record in the path of another record. Ironic does not permit it, but checks its
// arguments before it says so.
func (x *resource) forbid(r *rest.Request) (rest.Answer, error) {
	var names []string
	if r.Method == http.MethodGet {
		names = []string{"fields"}
	}
	a := r.QueryArgs(names...)
	if a.Err == nil && r.Method == http.MethodGet && x.alwaysNamed() && len(r.Params) > 1 && rest.IsName(r.Param(1)) {
		if _, err := find(r, x, r.Param(1)); err != nil { // Ironic looks for a record with this name before it refuses the request
			return rest.Answer{}, err
		}
	}
	switch {
	case a.Err != nil:
		return rest.Answer{}, a.Err
	case len(r.Params) > 1 && (rest.IsUUID(r.Param(1)) || x.alwaysNamed() && rest.IsName(r.Param(1))):
		return rest.Answer{}, fault.NotPermitted
	case len(r.Params) == 1:
		return rest.Answer{}, fault.Invalid("Missing mandatory parameter: %s", x.identName())
	case x.alwaysNamed():
		return rest.Answer{}, fault.Invalid("Expected UUID or name for %s: %s", x.identName(), fault.Show(r.Param(1)))
	default:
		return rest.Answer{}, fault.Invalid("Expected UUID for %s: %s", x.identName(), fault.Show(r.Param(1)))
	}
}
