package api

import (
	"errors"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// nodeFilter is a query parameter that filters a list of nodes.
type nodeFilter struct {
	name  string
	since states.APIVersion
	// silent omits since from the error for an older version.
	silent bool
	// check refuses a wrong value, before the values of other filters are used; nil if none is wrong.
	check func(a *args, r *request)
	// test returns the predicate for the nodes that pass the filter, nil if all do. It is
	// called only if the parameter is present.
	test func(a *args, r *request) func(n *node) bool
}

// nodeFilters are the filters of GET /v1/nodes, in the order in which Ironic checks their versions.
//
// Source: ironic/api/controllers/v1/node.py and utils.py.
var nodeFilters = []nodeFilter{
	{name: "provision_state", since: since.ProvisionStateFilter, silent: true, check: checkProvisionState, test: byProvisionState},
	textFilter("driver", since.DriverFilter, func(n *node) string { return n.Driver }),
	textFilter("resource_class", since.ResourceClass, func(n *node) string { return n.ResourceClass }),
	{name: "fault", since: since.Fault, check: checkFault, test: byFault},
	textFilter("conductor_group", since.ConductorGroup, func(n *node) string { return n.ConductorGroup }),
	{name: "conductor", since: since.Conductors, test: func(a *args, r *request) func(*node) bool {
		name := a.text("conductor")
		return func(n *node) bool { return name == "" || r.owner(n) == name }
	}},
	textFilter("owner", since.Owner, func(n *node) string { return n.Owner }),
	textFilter("lessee", since.Lessee, func(n *node) string { return n.Lessee }),
	{name: "shard", since: since.Shards, test: func(a *args, _ *request) func(*node) bool {
		shards := a.list("shard")
		return func(n *node) bool { return slices.Contains(shards, strings.ToLower(n.Shard)) }
	}},
	booleanFilter("sharded", since.Shards, func(n *node) bool { return nodeFieldsByName["shard"].get(n) != nil }),
	textFilter("instance_name", since.InstanceName, func(n *node) string { return n.InstanceName }),
	{name: "include_children", since: since.Children, test: func(a *args, _ *request) func(*node) bool {
		a.boolean("include_children")
		return nil
	}},
	{name: "parent_node", since: since.Children, test: func(a *args, _ *request) func(*node) bool {
		a.text("parent_node")
		return nil
	}},
	{name: "chassis_uuid", test: byChassis},
	{name: "instance_uuid", test: func(a *args, _ *request) func(*node) bool {
		instance := a.uuid("instance_uuid")
		return func(n *node) bool { return n.InstanceUUID == instance }
	}},
	booleanFilter("associated", since.First, func(n *node) bool { return n.InstanceUUID != "" }),
	booleanFilter("maintenance", since.First, func(n *node) bool { return n.Maintenance }),
	booleanFilter("retired", since.First, func(n *node) bool { return n.Retired }),
	{name: "project", test: func(a *args, _ *request) func(*node) bool {
		project := a.text("project")
		owner, lessee := nodeFieldsByName["owner"], nodeFieldsByName["lessee"]
		return func(n *node) bool { return owner.get(n) == project || lessee.get(n) == project }
	}},
	{name: "description_contains", test: func(a *args, _ *request) func(*node) bool {
		part := a.text("description_contains")
		if !a.has("description_contains") {
			return nil
		}
		like, description := likePattern(part), nodeFieldsByName["description"]
		return func(n *node) bool {
			text, ok := description.get(n).(string)
			return ok && like.MatchString(text)
		}
	}},
}

// likePattern returns the pattern for texts that contain a part as SQL's LIKE compares: % stands for
// any characters, _ for one, and letters are equal in both cases.
func likePattern(part string) *regexp.Regexp {
	pattern := strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(part))
	return regexp.MustCompile("(?is)" + pattern)
}

func textFilter(name string, since states.APIVersion, of func(*node) string) nodeFilter {
	return nodeFilter{name: name, since: since, test: func(a *args, _ *request) func(*node) bool {
		want := a.text(name)
		if want == "" && nodeFieldsByName[name].set != nil { // "" is not null
			return func(n *node) bool { return nodeFieldsByName[name].get(n) == want }
		}
		return func(n *node) bool { return of(n) == want }
	}}
}

func booleanFilter(name string, since states.APIVersion, of func(*node) bool) nodeFilter {
	return nodeFilter{name: name, since: since, test: func(a *args, _ *request) func(*node) bool {
		want := a.boolean(name)
		return func(n *node) bool { return want == nil || of(n) == *want }
	}}
}

func checkProvisionState(a *args, r *request) {
	word := a.text("provision_state")
	if s, err := states.Parse(word); err != nil || !r.table.States().Has(s) {
		a.fail("Provision state \"%s\" is not valid", show(word))
	}
}

func byProvisionState(a *args, _ *request) func(*node) bool {
	s, _ := states.Parse(a.text("provision_state")) // checked
	return func(n *node) bool { return n.ProvisionState == s }
}

// faults are the faults of a node. Source: ironic/common/faults.py.
var faults = []string{"power failure", "clean failure", "rescue abort failure", "service failure"}

func checkFault(a *args, r *request) {
	want, known := a.text("fault"), faults
	if r.series < states.Bobcat {
		known = faults[:3] // these series have no servicing
	}
	if !slices.Contains(known, want) {
		a.fail("Unrecognized fault \"%s\" is specified, allowed faults are ('%s')", show(want), strings.Join(known, "', '"))
	}
}

func byFault(a *args, _ *request) func(*node) bool {
	want := a.text("fault")
	return func(n *node) bool { return n.Fault == want }
}

func byChassis(a *args, r *request) func(*node) bool {
	chassis := a.uuid("chassis_uuid")
	if a.err == nil {
		if _, err := r.object(chassisResource, chassis); err != nil {
			a.err = err
		}
	}
	return func(n *node) bool { return n.ChassisUUID == chassis }
}

// filterNames returns the names of the filters that the series has.
func (s *service) filterNames() []string {
	var names []string
	for _, f := range nodeFilters {
		if f.since <= s.highest {
			names = append(names, f.name)
		}
	}
	return names
}

// nodeArgTypes are the arguments of GET /v1/nodes that are no texts, in the order in which Ironic checks
// them.
var nodeArgTypes = []struct {
	name  string
	check func(a *args, name string)
}{
	{"chassis_uuid", func(a *args, name string) { a.uuid(name) }},
	{"instance_uuid", func(a *args, name string) { a.uuid(name) }},
	{"associated", func(a *args, name string) { a.boolean(name) }},
	{"maintenance", func(a *args, name string) { a.boolean(name) }},
	{"retired", func(a *args, name string) { a.boolean(name) }},
	{"marker", func(a *args, name string) { a.uuid(name) }},
	{"limit", func(a *args, name string) { a.integer(name) }},
	{"detail", func(a *args, name string) { a.boolean(name) }},
	{"sharded", func(a *args, name string) { a.boolean(name) }},
}

// checkNodeFilters refuses filters that the request's version does not have.
func (r *request) checkNodeFilters(a *args) error {
	for _, f := range nodeFilters {
		switch {
		case !a.has(f.name):
		case f.since > r.version && f.silent:
			return errNotAcceptable
		case f.since > r.version:
			return tooOld(f.since)
		case f.check != nil:
			f.check(a, r)
		}
		if a.err != nil {
			return a.err
		}
	}
	return nil
}

// nodeTests returns the predicates of the filters in a request.
func (r *request) nodeTests(a *args) (tests []func(*node) bool, err error) {
	for _, f := range nodeFilters {
		if !a.has(f.name) {
			continue
		}
		if test := f.test(a, r); test != nil {
			tests = append(tests, test)
		}
	}
	return tests, a.err
}

// nodeListing is a list of nodes: GET /v1/nodes, or of the nodes of the chassis in the path.
type nodeListing struct {
	ofChassis bool
	details   bool // the path ends in /detail
}

// serve answers the request.
func (l nodeListing) serve(r *request) (answer, error) {
	path, names := "nodes", slices.Concat(pageArgs, r.filterNames())
	if l.details {
		path = "nodes/detail"
	} else {
		names = append(names, "fields", "detail")
	}
	a := r.queryArgs(names...)
	if l.ofChassis {
		a.values["chassis_uuid"] = r.param(0)
	}
	for _, t := range nodeArgTypes {
		t.check(a, t.name)
	}
	p, fields, detail := a.page((*args).uuid), fieldSet(a.list("fields")), a.boolean("detail")
	if a.err != nil {
		return answer{}, a.err
	}
	if err := r.allowNodeFields(fields); err != nil {
		return answer{}, err
	}
	if f := nodeFieldsByName[p.sortKey]; f != nil && f.since > r.version {
		return answer{}, errNotAcceptable
	}
	if err := r.checkNodeFilters(a); err != nil {
		return answer{}, err
	}
	if parents := strings.Split(r.URL.Path, "/"); l.details && parents[len(parents)-2] != "nodes" {
		return answer{}, errNotFound
	}
	chosen, err := fields, error(nil)
	if !l.details {
		if chosen, err = r.chooseFields(fields, detail, defaultNodeFields, since.Detail); err != nil {
			return answer{}, err
		}
	}
	if err := p.check(r); err != nil {
		return answer{}, err
	}
	compare, wrongKey := nodeOrder(p.sortKey)
	if f := nodeFieldsByName[p.sortKey]; wrongKey != nil && f != nil && f.compare == nil && f.types != nil {
		return answer{}, wrongKey
	}
	in := conductor.NodeRange{After: p.marker, Backwards: p.direction == "desc"}
	if all := a.boolean("include_children"); all == nil || !*all {
		parent := a.text("parent_node") // empty for the nodes without a parent
		in.Parent = &parent
	}
	all, err := r.conductor.NodesIn(r.Context(), in)
	if errors.Is(err, conductor.NotFound) {
		return answer{}, nodeNotFound(p.marker)
	}
	if err != nil {
		return answer{}, err
	}
	tests, err := r.nodeTests(a)
	if err == nil {
		err = wrongKey
	}
	if err != nil {
		return answer{}, err
	}
	passes := func(n *node) bool {
		return !slices.ContainsFunc(tests, func(test func(*node) bool) bool { return !test(n) })
	}
	var nodes []*node
	if compare == nil {
		nodes = firstOf(all, p.size, passes)
	} else if nodes, err = r.sorted(p, in.Parent, compare, passes); err != nil {
		return answer{}, err
	}
	if len(nodes) > 0 { // Ironic checks the fields of each node
		if err := r.checkNodeFields(fields); err != nil {
			return answer{}, err
		}
	}
	return r.nodesAnswer(p, nodes, path, chosen, nextParameters(p, a, detail)), nil
}

// firstOf returns the first nodes, at most limit, that pass a test.
func firstOf(all iter.Seq[*node], limit int, passes func(*node) bool) (nodes []*node) {
	for n := range all {
		if !passes(n) {
			continue
		}
		if nodes = append(nodes, n); len(nodes) == limit {
			break
		}
	}
	return nodes
}

// sorted returns a page of the nodes with a parent, nil for all nodes, that pass a test.
func (r *request) sorted(p page, parent *string, compare func(a, b *node) int, passes func(*node) bool) ([]*node, error) {
	nodes, err := r.conductor.Nodes(r.Context())
	nodes = slices.DeleteFunc(nodes, func(n *node) bool {
		return n.UUID != p.marker && (parent != nil && n.ParentNode != *parent || !passes(n))
	})
	nodes, _ = cut(p, nodes, compare, func(n *node) string { return n.UUID })
	return nodes, err
}

// nextParameters returns the parameters of the link to the next page.
func nextParameters(p page, a *args, detail *bool) []string {
	parameters := p.sortParameters()
	for _, name := range []string{"associated", "maintenance", "retired"} {
		if v := a.boolean(name); v != nil && *v {
			parameters = append(parameters, name+"=True")
		}
	}
	if detail != nil {
		parameters = append(parameters, "detail="+repr(*detail))
	}
	for _, f := range nodeFilters {
		if v, ok := a.values[f.name].(string); ok && !slices.ContainsFunc(parameters, func(p string) bool { return strings.HasPrefix(p, f.name+"=") }) {
			parameters = append(parameters, f.name+"="+url.QueryEscape(v))
		}
	}
	return parameters
}

// nodeOrder returns the comparison of a sort key, nil for the key "id", which is the order of
// creation.
func nodeOrder(key string) (func(a, b *node) int, error) {
	if key == "id" {
		return nil, nil
	}
	f := nodeFieldsByName[key]
	switch {
	case f != nil && f.compare != nil:
		return f.compare, nil
	case f != nil && (f.types != nil && f.types[0] == "object" || key == "traits"):
		return nil, invalid("The sort_key value %s is an invalid field for sorting", key)
	default:
		return nil, invalid("The sort_key value \"%s\" is an invalid field for sorting", show(key))
	}
}

func (r *request) nodesAnswer(p page, nodes []*node, path string, fields fieldSet, parameters []string) answer {
	return answer{status: http.StatusOK, write: func(w *writer) {
		w.open()
		w.key("nodes").openList()
		for _, n := range nodes {
			r.writeNode(w, n, fields)
		}
		w.closeList()
		if len(nodes) > 0 {
			p.writeNext(w, r, path, fields, parameters, len(nodes), nodes[len(nodes)-1].UUID)
		}
		w.close()
	}}
}
