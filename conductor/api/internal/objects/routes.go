// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// controller returns the controller of a resource.
func (x *resource) controller(s *rest.Service) *rest.Controller {
	ident := []string{x.identName(s)}
	c := &rest.Controller{Actions: rest.Actions{
		rest.All: {Serve: listing{resource: x}.serve},
		rest.One: {Serve: x.get, Idents: ident, Args: []string{"fields"}},
		"post":   {NoArgs: !x.checksQueryLast(s), Body: x.word, Serve: x.post},
		"patch":  {Body: "patch", Serve: x.patch, Idents: ident, Args: x.patching.args},
		"delete": {Serve: x.delete, Idents: []string{x.deletedName(s)}},
	}}
	if x.hasDetailPath() {
		c.Actions["detail"] = rest.Action{Method: http.MethodGet, Serve: listing{resource: x, details: true}.serve, Args: x.pathArgs(s)}
	}
	for name, a := range c.Actions {
		a.Since, a.VersionFirst = x.since, x.schemas.since
		c.Actions[name] = a
	}
	return c
}

// pathArgs returns the names of the arguments that further segments of the path /detail set: Ironic's web framework
// gives them to the first parameters of the list's handler.
func (x *resource) pathArgs(s *rest.Service) []string {
	if x != nodeResource {
		return slices.Concat(x.list.first, []string{"marker", "limit", "sort_key", "sort_dir"})
	}
	return slices.DeleteFunc(slices.Clone(x.list.types), func(name string) bool {
		return name == "fields" || name == "detail" ||
			slices.ContainsFunc(x.list.filters, func(f filter) bool { return f.name == name && f.since > s.Highest })
	})
}

// BelowNode returns the child resources of a node that this package serves.
func BelowNode() map[string]rest.Part {
	groups := portGroupResource.controllerBelow(ofPortNode)
	groups.Lookup = rest.Below("portgroup", 0, nil) // only checks the identifier
	return map[string]rest.Part{
		"ports":      {Controller: portResource.controllerBelow(ofPortNode)},
		"portgroups": {Controller: groups, Since: since.PortGroupsBelow},
		"volume":     {Controller: volumes(connectorResource.controllerBelow(ofNode), targetResource.controllerBelow(ofNode))},
		"allocation": {Since: since.Allocations, Controller: &rest.Controller{Actions: rest.Actions{
			rest.All: {Serve: showNodeAllocation}, "delete": {Serve: deleteNodeAllocation},
		}}},
	}
}

// controllerBelow returns the controller of the list of a resource below a parent. The
// parent's identifier is in the path.
func (x *resource) controllerBelow(of *parent) *rest.Controller {
	forbidden := rest.Action{Optional: rest.AnyNumber, Serve: x.forbid}
	c := &rest.Controller{Actions: rest.Actions{
		rest.All: {Serve: listing{resource: x, parent: of}.serve},
		rest.One: forbidden, "patch": forbidden, "delete": forbidden,
		"post": {NoArgs: true, Body: x.word, Serve: x.post},
	}}
	if x.hasDetailPath() {
		c.Actions["detail"] = rest.Action{Method: http.MethodGet, Serve: listing{resource: x, parent: of, details: true}.serve}
	}
	return c
}

// forbid answers a request for one record in the path of another record. Ironic does not permit it, but checks its
// arguments before it says so.
func (x *resource) forbid(r *rest.Request) (rest.Answer, error) {
	var names []string
	if r.Method == http.MethodGet {
		names = []string{"fields"}
	}
	if a := r.QueryArgs(names...); a.Err != nil {
		return rest.Answer{}, a.Err
	}
	name := x.identName(r.Service)
	if r.Method == http.MethodDelete {
		name = x.deletedName(r.Service)
	}
	if len(r.Params) == 1 {
		return rest.Answer{}, fault.Invalid("Missing mandatory parameter: %s", name)
	}
	ident := r.Param(1)
	if err := x.checkIdent(ident, strings.HasSuffix(name, "_ident")); err != nil {
		return rest.Answer{}, err
	}
	if r.Method == http.MethodPatch {
		if _, err := patch.Decode(r); err != nil {
			return rest.Answer{}, err
		}
	}
	if !x.is(refusedBeforeLookup) {
		if _, err := x.find(r, ident); err != nil {
			return rest.Answer{}, err
		}
	}
	return rest.Answer{}, r.NotPermitted()
}
