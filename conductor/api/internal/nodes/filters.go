// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// filter is a query parameter that filters a list of nodes.
type filter struct {
	name  string
	since states.APIVersion
	// silent omits since from the error for an older version.
	silent bool
	// check refuses a wrong value, before the values of other filters are used; nil if none is wrong.
	check func(a *rest.Args, r *rest.Request)
	// test returns the predicate for the nodes that pass the filter, nil if all do. It is
	// called only if the parameter is present; nil if the filter has no predicate.
	test func(a *rest.Args, r *rest.Request) func(n *node) bool
}

// filters are the filters of GET /v1/nodes, in the order in which Ironic checks their versions.
//
// Source: ironic/api/controllers/v1/node.py and utils.py.
var filters = []filter{
	{name: "provision_state", since: since.ProvisionStateFilter, silent: true, check: func(a *rest.Args, r *rest.Request) {
		word := a.Text("provision_state")
		if s, err := states.Parse(word); err != nil || !r.Table.States().Has(s) {
			a.Fail("Provision state \"%s\" is not valid", fault.Show(word))
		}
	}, test: func(a *rest.Args, _ *rest.Request) func(*node) bool {
		s, _ := states.Parse(a.Text("provision_state")) // checked
		return func(n *node) bool { return n.ProvisionState == s }
	}},
	textFilter("driver", since.DriverFilter, func(n *node) string { return n.Driver }),
	textFilter("resource_class", since.ResourceClass, func(n *node) string { return n.ResourceClass }),
	{name: "fault", since: since.Fault, check: func(a *rest.Args, r *rest.Request) {
		known := faults
		if r.Series < states.Bobcat {
			known = faults[:3] // these series have no servicing
		}
		if want := a.Text("fault"); !slices.Contains(known, want) {
			a.Fail("Unrecognized fault \"%s\" is specified, allowed faults are ('%s')", fault.Show(want), strings.Join(known, "', '"))
		}
	}, test: func(a *rest.Args, _ *rest.Request) func(*node) bool {
		want := a.Text("fault")
		return func(n *node) bool { return n.Fault == want }
	}},
	textFilter("conductor_group", since.ConductorGroup, func(n *node) string { return n.ConductorGroup }),
	{name: "conductor", since: since.Conductors, test: func(a *rest.Args, r *rest.Request) func(*node) bool {
		name := a.Text("conductor")
		return func(n *node) bool { return name == "" || owner(r.Service, n) == name }
	}},
	textFilter("owner", since.Owner, func(n *node) string { return n.Owner }),
	textFilter("lessee", since.Lessee, func(n *node) string { return n.Lessee }),
	{name: "shard", since: since.Shards, test: func(a *rest.Args, _ *rest.Request) func(*node) bool {
		shards := a.List("shard")
		return func(n *node) bool { return rest.ListHas(shards, n.Shard) }
	}},
	booleanFilter("sharded", since.Shards, func(n *node) bool { return fieldsByName["shard"].get(n) != nil }),
	textFilter("instance_name", since.InstanceName, func(n *node) string { return n.InstanceName }),
	{name: "include_children", since: since.Children}, // [markerExists] uses this one and the next to choose the nodes
	{name: "parent_node", since: since.Children},
	{name: "chassis_uuid", test: func(a *rest.Args, r *rest.Request) func(*node) bool {
		chassis := a.UUID("chassis_uuid")
		if a.Err == nil {
			a.Err = objects.CheckChassis(r, chassis)
		}
		return func(n *node) bool { return n.ChassisUUID == chassis }
	}},
	{name: "instance_uuid", test: func(a *rest.Args, _ *rest.Request) func(*node) bool {
		instance := a.UUID("instance_uuid")
		return func(n *node) bool { return n.InstanceUUID == instance }
	}},
	booleanFilter("associated", since.First, func(n *node) bool { return n.InstanceUUID != "" }),
	booleanFilter("maintenance", since.First, func(n *node) bool { return n.Maintenance }),
	booleanFilter("retired", since.First, func(n *node) bool { return n.Retired }),
	{name: "project", test: func(a *rest.Args, _ *rest.Request) func(*node) bool {
		project := a.Text("project")
		owner, lessee := fieldsByName["owner"], fieldsByName["lessee"]
		return func(n *node) bool { return owner.get(n) == project || lessee.get(n) == project }
	}},
	{name: "description_contains", test: func(a *rest.Args, _ *rest.Request) func(*node) bool {
		part := a.Text("description_contains")
		if !a.Has("description_contains") {
			return nil
		}
		// As SQL's LIKE compares: % stands for any characters, _ for one, and letters are equal in both cases.
		like := regexp.MustCompile("(?is)" + strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(part)))
		description := fieldsByName["description"]
		return func(n *node) bool {
			text, ok := description.get(n).(string)
			return ok && like.MatchString(text)
		}
	}},
}

// textFilter returns a filter by the value of a field with a text.
func textFilter(name string, since states.APIVersion, of func(*node) string) filter {
	return filter{name: name, since: since, test: func(a *rest.Args, _ *rest.Request) func(*node) bool {
		want := a.Text(name)
		if want == "" { // "" is not null
			return func(n *node) bool { return fieldsByName[name].get(n) == want }
		}
		return func(n *node) bool { return of(n) == want }
	}}
}

// booleanFilter returns a filter by whether a node has a property.
func booleanFilter(name string, since states.APIVersion, of func(*node) bool) filter {
	return filter{name: name, since: since, test: func(a *rest.Args, _ *rest.Request) func(*node) bool {
		want := a.Boolean(name)
		return func(n *node) bool { return want == nil || of(n) == *want }
	}}
}

// faults are the faults of a node. Source: ironic/common/faults.py.
var faults = []string{"power failure", "clean failure", "rescue abort failure", "service failure"}

// lateFilters are the filters that GET /v1/nodes/detail checks after the sort key.
var lateFilters = []string{"conductor", "shard", "sharded"}

// filtersValid refuses filters that are newer than the version of the request, and wrong values. It checks the filters for
// whose names checked returns true.
func filtersValid(checked func(name string) bool) func(*listRequest) error {
	return func(q *listRequest) error {
		for _, f := range filters {
			switch {
			case !q.args.Has(f.name) || !checked(f.name):
			case f.since > q.r.Version && f.silent:
				return fault.NotAcceptable
			case f.since > q.r.Version:
				return fault.TooOld(f.since)
			case f.check != nil:
				f.check(q.args, q.r)
			}
			if q.args.Err != nil {
				return q.args.Err
			}
		}
		return nil
	}
}

// filtersApply makes the tests of the filters. It refuses those that name an unknown chassis, and values of a wrong type.
func filtersApply(q *listRequest) error {
	for _, f := range filters {
		if f.test == nil || !q.args.Has(f.name) {
			continue
		}
		if test := f.test(q.args, q.r); test != nil {
			q.tests = append(q.tests, test)
		}
	}
	return q.args.Err
}
