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
	forbidden := rest.Action{Optional: rest.AnyNumber, Serve: forbidden.Then(x.request, (*request).notPermitted)}
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

// forbidden are the checks of a request for one record in the path of another record. Ironic does not permit it, but
// checks its arguments before it says so.
var forbidden = checks{queryNamed, identBelowValid, patchBelowDecodes, recordBelowExists}

// queryNamed refuses parameters other than the fields of a GET.
func queryNamed(q *request) error {
	if q.r.Method == http.MethodGet {
		return q.r.QueryArgs("fields").Err
	}
	return q.r.QueryArgs().Err
}

// identBelowValid refuses a path without the identifier of a record, and one that no record can have.
func identBelowValid(q *request) error {
	name := q.identName(q.r.Service)
	if q.r.Method == http.MethodDelete {
		name = q.deletedName(q.r.Service)
	}
	if len(q.r.Params) == 1 {
		return fault.Invalid("Missing mandatory parameter: %s", name)
	}
	return q.checkIdent(q.r.Param(1), strings.HasSuffix(name, "_ident"))
}

// patchBelowDecodes refuses a PATCH whose body is no patch.
func patchBelowDecodes(q *request) (err error) {
	if q.r.Method == http.MethodPatch {
		_, err = patch.Decode(q.r)
	}
	return err
}

// recordBelowExists refuses an unknown record, unless the resource is refusedBeforeLookup.
func recordBelowExists(q *request) (err error) {
	if !q.is(refusedBeforeLookup) {
		_, err = q.find(q.r, q.r.Param(1))
	}
	return err
}

// notPermitted refuses a request for one record in the path of another record.
func (q *request) notPermitted() (rest.Answer, error) { return rest.Answer{}, q.r.NotPermitted() }
