// SPDX-License-Identifier: Apache-2.0

package objects

import (
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
	// old is the fault before the version since; nil stands for one that names the version.
	old error
	// decode checks the type of the parameter.
	decode func(a *rest.Args, name string)
	// apply excludes the records that do not pass the filter.
	apply func(r *rest.Request, a *rest.Args, s *selection) error
}

// byNode filters records by node.
func byNode(name string) filter {
	f := filter{name: name, group: "node", decode: decodeIdent, apply: func(r *rest.Request, a *rest.Args, s *selection) error {
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
		f.decode = func(a *rest.Args, name string) { a.UUID(name) }
	}
	return f
}

// byNodeShard filters records by the shards of their nodes.
func byNodeShard(since states.APIVersion) filter {
	return filter{name: "shard", since: since, group: "shard", decode: decodeList, apply: func(r *rest.Request, a *rest.Args, s *selection) error {
		shards := a.List("shard")
		return s.whereNode(r, func(n *conductor.Node) bool { return rest.ListHas(shards, n.Shard) })
	}}
}

// byConductorGroups filters records by the conductor groups of their nodes.
var byConductorGroups = filter{
	name: "conductor_groups", since: since.ConductorGroupFilter, decode: decodeList,
	apply: func(r *rest.Request, a *rest.Args, s *selection) error {
		groups := a.List("conductor_groups")
		return s.whereNode(r, func(n *conductor.Node) bool { return rest.ListHas(groups, n.ConductorGroup) })
	},
}

// byText filters records by the value of a string field.
func byText(name string) filter {
	return filter{name: name, decode: decodeText, apply: func(_ *rest.Request, a *rest.Args, s *selection) error {
		want := a.Text(name)
		s.where(func(o conductor.Object) bool { return stored(o, name) == want })
		return nil
	}}
}

// byAddress filters records by MAC address.
var byAddress = filter{
	name: "address", group: "address", decode: func(a *rest.Args, name string) { a.MAC(name) },
	apply: func(_ *rest.Request, a *rest.Args, s *selection) error {
		address := a.MAC("address")
		s.where(func(o conductor.Object) bool { return stored(o, "address") == address })
		s.one = true
		return nil
	},
}

// ignoredProject is a parameter that Ironic accepts and ignores.
var ignoredProject = filter{name: "project", decode: func(*rest.Args, string) {}, apply: func(*rest.Request, *rest.Args, *selection) error { return nil }}

func decodeIdent(a *rest.Args, name string) { a.Ident(name) }
func decodeText(a *rest.Args, name string)  { a.Text(name) }
func decodeList(a *rest.Args, name string)  { a.List(name) }
