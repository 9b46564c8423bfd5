package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// serve answers a request whose path and method have an action.
type serve = func(r *request) (answer, error)

// action is what a controller does for a method, or for a name at the end of the path.
type action struct {
	serve serve
	// idents are the names of the path segments that the action needs. One that the path
	// lacks is taken from the query.
	idents []string
	// optional is how many more segments the action takes as parameters.
	optional int
	// args are the arguments that further segments set, in order, and those of a DELETE.
	args []string
	// custom is the method of an action that a path names, as in /v1/nodes/detail. It is
	// empty for the other actions, which have the names below.
	custom string
	// since is the first version that has the action. The action checks it itself, after the
	// arguments of the request, see request.accept.
	since states.APIVersion
	// body is the name of the argument that the body is. A further segment is taken for it.
	body string
	// any is set for an action that answers every method.
	any bool
	// plain is set for an action that has no arguments and does not check that itself.
	plain bool
}

// The names of the actions that answer methods: all and one answer GET, of which one has a
// path segment more; both does what all and one do.
const (
	all  = "get_all"
	one  = "get_one"
	both = "get"
)

// controller is a part of the tree of paths.
type controller struct {
	actions map[string]action
	// subs are the controllers below, by path segment. Below a controller with the action
	// one or both a segment finds them wherever it stands.
	subs map[string]*controller
	// lookup returns the controller below for segments that begin with an identifier, with the
	// segments after its own. It returns nil if there is none.
	lookup func(r *request, segments []string) (*controller, []string, error)
	// fallback answers every request that nothing else does.
	fallback *action
	// admit refuses requests whose version is too old.
	admit func(r *request) error
}

// isRouting reports whether an error is a fault of the routing, as Ironic's web framework
// gives it.
func isRouting(err error) bool {
	var f *fault
	return errors.As(err, &f) && f.bare
}

func methodNotAllowed(allow string) error {
	return &fault{status: http.StatusMethodNotAllowed, bare: true, allow: &allow}
}

// find returns the action for path segments below a controller, and the segments that are its
// parameters.
//
// Source: lookup_controller and RestController in pecan/routing.py and pecan/rest.py.
func (r *request) find(c *controller, segments []string) (*action, []string, error) {
	a, rest, err := r.route(c, segments)
	if err == nil || !isRouting(err) {
		return a, rest, err
	}
	if c.lookup != nil && len(segments) > 0 {
		if sub, below, err := c.lookup(r, segments); sub != nil || err != nil {
			if err != nil {
				return nil, nil, err
			}
			return r.find(sub, below)
		}
	}
	if c.fallback != nil {
		return c.fallback, segments, nil
	}
	return nil, nil, err
}

// route finds the action of a request without the controller's fallback.
func (r *request) route(c *controller, segments []string) (*action, []string, error) {
	if c.admit != nil {
		if err := c.admit(r); err != nil {
			return nil, nil, err
		}
	}
	if c.has(one) || c.has(both) {
		for i, segment := range segments {
			if sub := c.subs[segment]; sub != nil {
				r.before = append(r.before, segments[:i]...)
				return r.find(sub, segments[i+1:])
			}
		}
	}
	a, rest, err := r.choose(c, segments)
	if given := nonEmpty(segments); len(given) > 0 && c.lookup != nil && (err == nil || isRouting(err)) {
		sub, below, lookupErr := c.lookup(r, given)
		switch {
		case lookupErr != nil:
			return nil, nil, lookupErr
		case sub != nil:
			return r.find(sub, below)
		}
	}
	var f *fault
	if errors.As(err, &f) && f.allow != nil {
		err = methodNotAllowed(c.allow())
	}
	return a, rest, err
}

// choose returns the action of the request's method.
func (r *request) choose(c *controller, segments []string) (*action, []string, error) {
	if given := nonEmpty(segments); len(given) > 0 {
		name, rest := given[len(given)-1], given[:len(given)-1]
		if r.Method == http.MethodPut || r.Method == http.MethodDelete {
			name, rest = given[0], given[1:]
		}
		if a, has := c.actions[name]; has && a.custom == r.Method {
			return &a, rest, nil
		}
	}
	names := []string{strings.ToLower(r.Method)}
	if r.Method == http.MethodGet {
		names = []string{one, both}
		if len(segments) == 0 {
			names = []string{all, both}
		}
	}
	patches := r.Method == http.MethodPatch && c.has("patch")
	if len(segments) > 0 && !patches {
		if sub := c.subs[segments[0]]; sub != nil {
			return r.find(sub, segments[1:])
		}
	}
	for _, name := range names {
		if a, has := c.actions[name]; has && a.custom == "" {
			return &a, segments, nil
		}
	}
	return nil, nil, methodNotAllowed("")
}

func (c *controller) has(name string) bool {
	_, has := c.actions[name]
	return has
}

// allow returns the methods that the controller has actions for.
func (c *controller) allow() string {
	var names []string
	if c.has(all) || c.has(one) || c.has(both) {
		names = append(names, http.MethodGet)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if c.has(strings.ToLower(method)) {
			names = append(names, method)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// bind sets the parameters and arguments that the path gives an action.
func (r *request) bind(a *action, segments []string) error {
	r.since = a.since
	if a.plain {
		if args := r.queryArgs(); args.err != nil {
			return args.err
		}
	}
	names := slices.Concat(a.idents, a.args)
	if r.Method == http.MethodDelete && !a.any {
		if args := r.bodyArgs(maxBody, names...); args.err != nil {
			return args.err
		}
	}
	if r.Method == http.MethodPatch && !a.any {
		if args := r.queryArgs(names...); args.err != nil {
			return args.err
		}
	}
	segments = append(slices.Clone(r.before), nonEmpty(segments)...)
	for _, name := range a.idents {
		switch {
		case len(segments) > 0:
			r.params, segments = append(r.params, segments[0]), segments[1:]
		case r.query.Has(name):
			r.params = append(r.params, r.query.Get(name))
			r.query.Del(name)
		default:
			return invalid("Missing mandatory parameter: %s", name)
		}
		if ident := r.params[len(r.params)-1]; name == nodeIdent[0] && !isUUID(ident) && !isName(ident) {
			return invalid("Expected UUID or name for node_ident: %s", show(ident))
		}
	}
	n := min(a.optional, len(segments))
	r.params, segments = append(r.params, segments[:n]...), segments[n:]
	if extra := len(a.args); len(segments) > extra && a.body != "" {
		want := "object"
		if r.Method == http.MethodPatch {
			want = "array"
		}
		return schemaError(a.body, "%s is not of type '%s'", repr(segments[extra]), want)
	} else if len(segments) > extra {
		return errUnknown
	}
	for i, segment := range segments {
		if r.query.Has(a.args[i]) {
			return invalid("The path and the query both have the argument %s", a.args[i])
		}
		if r.query == nil {
			r.query = map[string][]string{}
		}
		r.query.Set(a.args[i], segment)
	}
	return nil
}

func nonEmpty(segments []string) []string {
	return slices.DeleteFunc(slices.Clone(segments), func(s string) bool { return s == "" })
}

// part is a controller below an identifier.
type part struct {
	*controller
	since states.APIVersion
	// ignored makes requests with an older version those of the controller above.
	ignored bool
}

// below returns the lookup of a controller whose parts follow an identifier in the path. The
// kind names the object in faults.
//
// Source: _lookup of NodesController and PortgroupsController.
func below(kind string, since states.APIVersion, parts map[string]part) func(*request, []string) (*controller, []string, error) {
	return func(r *request, segments []string) (*controller, []string, error) {
		ident := segments[0]
		if _, is := parts[ident]; r.version < since || is && kind == "node" {
			return nil, nil, errUnknown
		}
		if !isUUID(ident) && !isName(ident) {
			return nil, nil, &fault{status: http.StatusBadRequest, bare: true, text: "Expected UUID or name for " + kind + ": " + show(ident)}
		}
		if len(segments) == 1 {
			return nil, nil, nil
		}
		p, has := parts[segments[1]]
		switch {
		case !has, p.ignored && r.version < p.since:
			return nil, nil, nil
		case r.version < p.since:
			return nil, nil, errUnknown
		}
		r.params = append(r.params, ident)
		return p.controller, segments[2:], nil
	}
}

// refuseBefore returns a function that refuses requests with a version before since. The
// subject is what the version does not allow.
func refuseBefore(since states.APIVersion, subject string) func(*request) error {
	return func(r *request) error {
		if r.version >= since {
			return nil
		}
		f := &fault{status: http.StatusNotFound, bare: true, text: "The API version does not allow " + subject}
		if r.Method != http.MethodGet {
			f.status = http.StatusMethodNotAllowed
		}
		return f
	}
}

// actions are the actions of a controller by name.
type actions = map[string]action

// nodeIdent is the name of the segment that identifies a node.
var nodeIdent = []string{"node_ident"}

// forbidden is an action that a controller does not permit below another one.
var forbidden = action{optional: 9, serve: func(*request) (answer, error) {
	return answer{}, &fault{status: http.StatusForbidden, text: "Operation not permitted."}
}}
