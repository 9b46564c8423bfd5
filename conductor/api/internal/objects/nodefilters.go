// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/like"
	"github.com/ironstate/ironstate/states"
)

// nodeFilters are the filters of GET /v1/nodes, in the order in which Ironic checks their versions.
//
// Source: ironic/api/controllers/v1/node.py and utils.py.
var nodeFilters = []filter{
	{
		name: "provision_state", since: since.ProvisionStateFilter, old: fault.NotAcceptable, kind: textKind,
		valid: func(r *rest.Request, a *rest.Args) {
			word := a.Text("provision_state")
			if s, err := states.Parse(word); err != nil || !r.Table.States().Has(s) {
				a.Fail("Provision state \"%s\" is not valid", fault.Show(word))
			}
		},
		apply: byNodes(func(_ *rest.Request, a *rest.Args) func(*node) bool {
			s, _ := states.Parse(a.Text("provision_state")) // checked
			return func(n *node) bool { return n.ProvisionState == s }
		}),
	},
	byTextSince("driver", since.DriverFilter),
	byTextSince("resource_class", since.ResourceClass),
	{
		name: "fault", since: since.Fault, kind: textKind,
		valid: func(r *rest.Request, a *rest.Args) {
			known := faults
			if r.Series < states.Bobcat {
				known = faults[:3] // these series have no servicing
			}
			if want := a.Text("fault"); !slices.Contains(known, want) {
				a.Fail("Unrecognized fault \"%s\" is specified, allowed faults are ('%s')", fault.Show(want), strings.Join(known, "', '"))
			}
		},
		apply: byText("fault").apply,
	},
	{
		name: "conductor_group", since: since.ConductorGroup, kind: textKind,
		apply: byNodes(func(_ *rest.Request, a *rest.Args) func(*node) bool {
			group := a.Text("conductor_group")
			return func(n *node) bool { return n.ConductorGroup == group }
		}),
	},
	{
		name: "conductor", since: since.Conductors, late: true, kind: textKind,
		apply: byNodes(func(r *rest.Request, a *rest.Args) func(*node) bool {
			name := a.Text("conductor")
			return func(n *node) bool { return name == "" || owner(r, n) == name }
		}),
	},
	byTextSince("owner", since.Owner),
	byTextSince("lessee", since.Lessee),
	{
		name: "shard", since: since.Shards, late: true, kind: listKind,
		apply: byNodes(func(_ *rest.Request, a *rest.Args) func(*node) bool {
			shards := a.List("shard")
			return func(n *node) bool { return rest.ListHas(shards, n.Shard) }
		}),
	},
	{
		name: "sharded", since: since.Shards, late: true, kind: booleanKind,
		apply: byBoolean("sharded", func(n *node) bool { return stored(n, "shard") != nil }),
	},
	{
		name: "instance_name", since: since.InstanceName, kind: textKind, apply: byText("instance_name").apply,
		old: &fault.Fault{Status: http.StatusNotAcceptable, Text: "instance_name is not acceptable in this API version"},
	},
	{name: "include_children", since: since.Children, unchecked: true, kind: booleanKind, apply: ignore}, // see [childrenChosen]
	{name: "parent_node", since: since.Children, unchecked: true, kind: textKind, apply: ignore},
	{name: "chassis_uuid", kind: uuidKind, apply: func(r *rest.Request, a *rest.Args, s *selection) error {
		chassis := a.UUID("chassis_uuid")
		s.where(func(o record) bool { return o.(*node).ChassisUUID == chassis })
		return CheckChassis(r, chassis)
	}},
	{name: "instance_uuid", kind: uuidKind, apply: func(_ *rest.Request, a *rest.Args, s *selection) error {
		instance := a.UUID("instance_uuid")
		s.last = true
		s.where(func(o record) bool { return o.(*node).InstanceUUID == instance })
		return nil
	}},
	{name: "associated", flag: true, kind: booleanKind, apply: byBoolean("associated", func(n *node) bool {
		return n.InstanceUUID != ""
	})},
	{name: "maintenance", flag: true, kind: booleanKind, apply: byBoolean("maintenance", func(n *node) bool { return n.Maintenance })},
	{name: "retired", flag: true, kind: booleanKind, apply: byBoolean("retired", func(n *node) bool { return n.Retired })},
	{name: "project", kind: textKind, apply: byNodes(func(_ *rest.Request, a *rest.Args) func(*node) bool {
		project := a.Text("project")
		return func(n *node) bool { return stored(n, "owner") == project || stored(n, "lessee") == project }
	})},
	{name: "description_contains", kind: textKind, apply: func(_ *rest.Request, a *rest.Args, s *selection) error {
		s.where(contains("description", a.Text("description_contains")))
		return nil
	}},
}

// contains returns a test for the records whose field has a text that contains part, as SQL's LIKE finds it.
func contains(field, part string) func(record) bool {
	pattern := like.Compile("%" + part + "%")
	return func(o record) bool {
		text, is := stored(o, field).(string)
		return is && pattern.Matches(text)
	}
}

// byNodes returns a filter's function that excludes the nodes for which the test of a request returns false.
func byNodes(test func(r *rest.Request, a *rest.Args) func(*node) bool) func(*rest.Request, *rest.Args, *selection) error {
	return func(r *rest.Request, a *rest.Args, s *selection) error {
		passes := test(r, a)
		s.where(func(o record) bool { return passes(o.(*node)) })
		return nil
	}
}

// byTextSince is byText since a version.
func byTextSince(name string, since states.APIVersion) filter {
	f := byText(name)
	f.since = since
	return f
}

// byBoolean returns a filter's function for whether a node has a property.
func byBoolean(name string, of func(*node) bool) func(*rest.Request, *rest.Args, *selection) error {
	return byNodes(func(_ *rest.Request, a *rest.Args) func(*node) bool {
		want := a.Boolean(name)
		return func(n *node) bool { return want == nil || of(n) == *want }
	})
}

// faults are the faults of a node. Source: ironic/common/faults.py.
var faults = []string{"power failure", "clean failure", "rescue abort failure", "service failure"}

// filtersInTurn checks the filters of the path /detail that are late, after the sort key, or the others.
func filtersInTurn(late bool) func(*listRequest) error {
	return func(q *listRequest) error {
		return q.checkFilters(func(f filter) bool { return f.late == late && !f.unchecked })
	}
}
