// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// filter is a query parameter that filters a list.
type filter struct {
	name  string
	since states.APIVersion
	// group names the property that the filter tests, such as the node. Of the filters with a
	// group only the first that is given applies; those without one apply in addition.
	group string
	// old is the fault before the version since, in place of one that names the version.
	old error
	// anyVersion accepts the filter in all versions of a series that has the version since.
	anyVersion bool
	// late is the turn of the filter in the path /detail of nodes, see [filtersInTurn].
	late bool
	// unchecked accepts any value in the path /detail of nodes, in all versions.
	unchecked bool
	// flag shows the value true as NAME=True in the link to the next page, before all other filters.
	flag bool
	// kind is the type of the parameter.
	kind kind
	// valid refuses a wrong value, before any filter is applied.
	valid func(r *rest.Request, a *rest.Args)
	// apply excludes the records that do not pass the filter.
	apply func(r *rest.Request, a *rest.Args, s *selection) error
}

// byNode filters records by node.
func byNode(name string) filter {
	f := filter{name: name, group: "node", kind: identKind, apply: func(r *rest.Request, a *rest.Args, s *selection) error {
		ident := a.Ident(name)
		if !rest.IsUUID(ident) && r.Version < since.Names {
			return fault.NotAcceptable
		}
		n, err := r.FindNode(ident)
		if err != nil {
			return err
		}
		s.ofNode(n.UUID)
		return nil
	}}
	if name == "node_uuid" {
		f.kind = uuidKind
	}
	return f
}

// byNodeShard filters records by the shards of their nodes.
func byNodeShard(since states.APIVersion) filter {
	return filter{name: "shard", since: since, group: "shard", kind: listKind,
		apply: func(r *rest.Request, a *rest.Args, s *selection) error {
			shards := a.List("shard")
			return s.whereNode(r, func(n *conductor.Node) bool { return rest.ListHas(shards, n.Shard) })
		}}
}

// byConductorGroups filters records by the conductor groups of their nodes.
var byConductorGroups = filter{
	name: "conductor_groups", since: since.ConductorGroupFilter, anyVersion: true, kind: listKind,
	apply: func(r *rest.Request, a *rest.Args, s *selection) error {
		groups := a.List("conductor_groups")
		if len(groups) == 0 {
			return nil
		}
		return s.whereNode(r, func(n *conductor.Node) bool { return rest.ListHas(groups, n.ConductorGroup) })
	},
}

// byText filters records by the value of a string field.
func byText(name string) filter {
	return filter{name: name, kind: textKind, apply: func(_ *rest.Request, a *rest.Args, s *selection) error {
		want := a.Text(name)
		s.where(func(o record) bool { return stored(o, name) == want })
		return nil
	}}
}

// byAddress filters records by MAC address.
var byAddress = filter{
	name: "address", group: "address", kind: macKind,
	apply: func(_ *rest.Request, a *rest.Args, s *selection) error {
		address := a.MAC("address")
		s.where(func(o record) bool { return stored(o, "address") == address })
		s.one = true
		return nil
	},
}

// ignoredProject is a parameter that Ironic accepts and ignores.
var ignoredProject = filter{name: "project", kind: unknownKind, apply: ignore}

// publicOnly excludes all runbooks but the public ones if it is true, as in Ironic, which takes the boolean for a
// project.
//
// Source: get_all in ironic/api/controllers/v1/runbook.py.
var publicOnly = filter{
	name: "project", kind: booleanKind,
	apply: func(_ *rest.Request, a *rest.Args, s *selection) error {
		if project := a.Boolean("project"); project != nil && *project {
			s.where(func(o record) bool { return o.(*conductor.Runbook).Public })
		}
		return nil
	},
}

// complete fills in the defaults of a list: its marker, the order of the checks, and the types of its parameters.
func (l *listRules) complete() {
	if l.marker.decode == nil {
		l.marker = uuidKind
	}
	l.unchecked = map[string]bool{}
	l.kinds = map[string]kind{
		"marker": l.marker, "limit": integerKind, "sort_key": textKind, "sort_dir": directionKind, "fields": listKind, "detail": booleanKind,
	}
	var first, last []string
	for _, f := range l.filters {
		l.kinds[f.name], l.unchecked[f.name] = f.kind, f.unchecked
		if l.first == nil || slices.Contains(l.first, f.name) {
			first = append(first, f.name)
		} else {
			last = append(last, f.name)
		}
	}
	if l.types == nil {
		l.types = slices.Concat(first, []string{"marker", "limit", "sort_key", "sort_dir", "fields"}, last, []string{"detail"})
	}
}

func ignore(*rest.Request, *rest.Args, *selection) error { return nil }
