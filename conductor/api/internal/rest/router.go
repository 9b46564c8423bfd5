// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/states"
)

// Serve answers a request whose path and method have an action.
type Serve = func(r *Request) (Answer, error)

// Action answers the requests with a method, or with a name at the end of the path.
type Action struct {
	Serve Serve
	// Idents are the names of the path segments that the action needs. The query may have a segment that the
	// path lacks.
	Idents []string
	// Optional is the number of further segments that the action accepts as parameters.
	Optional int
	// Args are the names of the arguments that further segments set, in order, and of those that a DELETE has.
	Args []string
	// Method is the method of an action that the path names, as in /v1/nodes/detail. It is empty for an action with
	// one of the names below.
	Method string
	// Since is the first version that has the action. Serve checks it after the arguments, see [Request.Accept].
	Since states.APIVersion
	// Body is the name of the argument that contains the body. A further segment of the path sets it, too.
	Body string
	// AnyMethod makes the action answer requests with every method.
	AnyMethod bool
	// NoArgs makes the router refuse query parameters.
	NoArgs bool
}

// These are names of actions that answer GET: All answers it without an identifier in the path, One with an identifier,
// and Both in either case. The actions that answer other methods are named post, put, patch and delete.
const (
	All  = "get_all"
	One  = "get_one"
	Both = "get"
)

// Controller is a node of the tree of paths.
type Controller struct {
	Actions map[string]Action
	// Subs are the controllers of child resources by path segment. If the controller has the action One or Both,
	// the segment may be anywhere in the rest of the path.
	Subs map[string]*Controller
	// Lookup returns the controller of a child resource for segments that begin with an identifier, and the
	// remaining segments. It returns nil if there is no such resource.
	Lookup func(r *Request, segments []string) (*Controller, []string, error)
	// Fallback answers the requests that no other action answers.
	Fallback *Action
	// Admit refuses requests whose version is too old.
	Admit func(r *Request) error
}

// isRouting reports whether an error is a fault of the routing. Ironic's web framework responds with such a fault, and
// not its API.
func isRouting(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f) && f.Bare
}

func methodNotAllowed(allow string) error {
	return &fault.Fault{Status: http.StatusMethodNotAllowed, Bare: true, Allow: &allow}
}

// find returns the action for path segments below a controller, and the segments that are its
// parameters.
//
// Source: lookup_controller and RestController in pecan/routing.py and pecan/rest.py.
func (r *Request) find(c *Controller, segments []string) (*Action, []string, error) {
	a, rest, err := r.route(c, segments)
	if err == nil || !isRouting(err) {
		return a, rest, err
	}
	if c.Lookup != nil && len(segments) > 0 {
		given := nonEmpty(segments)
		if len(given) == 0 {
			given = segments
		}
		if sub, below, err := c.Lookup(r, given); sub != nil || err != nil {
			if err != nil {
				return nil, nil, err
			}
			return r.find(sub, below)
		}
	}
	if c.Fallback != nil {
		return c.Fallback, segments, nil
	}
	return nil, nil, err
}

// route finds the action of a request without the controller's fallback.
func (r *Request) route(c *Controller, segments []string) (*Action, []string, error) {
	if c.Admit != nil {
		if err := c.Admit(r); err != nil {
			return nil, nil, err
		}
	}
	if c.has(One) || c.has(Both) {
		for i, segment := range segments {
			if sub := c.Subs[segment]; sub != nil {
				r.before = append(r.before, segments[:i]...)
				return r.find(sub, segments[i+1:])
			}
		}
	}
	a, rest, err := r.choose(c, segments)
	if given := nonEmpty(segments); len(given) > 0 && c.Lookup != nil && (err == nil || isRouting(err)) {
		sub, below, lookupErr := c.Lookup(r, given)
		switch {
		case lookupErr != nil:
			return nil, nil, lookupErr
		case sub != nil:
			return r.find(sub, below)
		}
	}
	var f *fault.Fault
	if errors.As(err, &f) && f.Allow != nil {
		err = methodNotAllowed(c.allow())
	}
	return a, rest, err
}

// choose returns the action of the request's method.
func (r *Request) choose(c *Controller, segments []string) (*Action, []string, error) {
	if given := nonEmpty(segments); len(given) > 0 {
		name, rest := given[len(given)-1], given[:len(given)-1]
		if r.Method == http.MethodPut || r.Method == http.MethodDelete {
			name, rest = given[0], given[1:]
		}
		if a, has := c.Actions[name]; has && a.Method == r.Method {
			return &a, rest, nil
		}
	}
	names := []string{strings.ToLower(r.Method)}
	if r.Method == http.MethodGet {
		names = []string{One, Both}
		if len(segments) == 0 {
			names = []string{All, Both}
		}
	}
	patches := r.Method == http.MethodPatch && c.has("patch")
	if len(segments) > 0 && !patches {
		if sub := c.Subs[segments[0]]; sub != nil {
			return r.find(sub, segments[1:])
		}
	}
	for _, name := range names {
		if a, has := c.Actions[name]; has && a.Method == "" {
			return &a, segments, nil
		}
	}
	return nil, nil, methodNotAllowed("")
}

func (c *Controller) has(name string) bool {
	_, has := c.Actions[name]
	return has
}

// allow returns the methods that the controller has actions for.
func (c *Controller) allow() string {
	var names []string
	if c.has(All) || c.has(One) || c.has(Both) {
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
func (r *Request) bind(a *Action, segments []string) error {
	r.since = a.Since
	names := slices.Concat(a.Idents, a.Args)
	if a.NoArgs {
		var known []string
		if a.Body != "" && len(nonEmpty(segments)) > 0 { // the segment is the body, and is checked below
			known = []string{a.Body}
		}
		if args := r.QueryArgs(known...); args.Err != nil {
			return args.Err
		}
	}
	if r.Method == http.MethodDelete && !a.AnyMethod {
		if args := r.BodyArgs(MaxBody, names...); args.Err != nil {
			return args.Err
		}
	}
	if r.Method == http.MethodPatch && !a.AnyMethod {
		if args := r.QueryArgs(names...); args.Err != nil {
			return args.Err
		}
	}
	segments = append(slices.Clone(r.before), nonEmpty(segments)...)
	for _, name := range a.Idents {
		switch {
		case len(segments) > 0:
			r.Params, segments = append(r.Params, segments[0]), segments[1:]
		case r.Query.Has(name):
			r.Params = append(r.Params, r.Query.Get(name))
			r.Query.Del(name)
		default:
			return fault.Invalid("Missing mandatory parameter: %s", name)
		}
		if ident := r.Params[len(r.Params)-1]; name == NodeIdent[0] && !IsUUID(ident) && !IsName(ident) {
			wrong := fault.Invalid("Expected UUID or name for node_ident: %s", fault.Show(ident))
			if a.NoArgs || r.Method == http.MethodDelete || r.Method == http.MethodPatch { // their arguments have been checked above
				return wrong
			}
			r.badIdent = wrong
		}
	}
	n := min(a.Optional, len(segments))
	r.Params, segments = append(r.Params, segments[:n]...), segments[n:]
	if extra := len(a.Args); len(segments) > extra && a.Body != "" {
		want := "object"
		if r.Method == http.MethodPatch {
			want = "array"
		}
		r.badBody = fault.Schema(a.Body, "%s is not of type '%s'", fault.Repr(segments[extra]), want)
		segments = segments[:extra]
	} else if len(segments) > extra {
		return fault.UnknownPath
	}
	for i, segment := range segments {
		if r.Query.Has(a.Args[i]) {
			if args := r.QueryArgs(names...); args.Err != nil {
				return args.Err
			}
			return fault.Invalid("The path and the query both have the argument %s", a.Args[i])
		}
		if r.Query == nil {
			r.Query = map[string][]string{}
		}
		r.Query.Set(a.Args[i], segment)
	}
	return nil
}

func nonEmpty(segments []string) []string {
	return slices.DeleteFunc(slices.Clone(segments), func(s string) bool { return s == "" })
}

// Part is a controller below an identifier.
type Part struct {
	*Controller
	Since states.APIVersion
	// Ignored makes requests with an older version those of the controller above.
	Ignored bool
}

// Below returns the lookup of a controller whose parts follow an identifier in the path. The
// kind names the object in faults.
//
// Source: _lookup of NodesController and PortgroupsController.
func Below(kind string, since states.APIVersion, parts map[string]Part) func(*Request, []string) (*Controller, []string, error) {
	return func(r *Request, segments []string) (*Controller, []string, error) {
		ident := segments[0]
		if _, is := parts[ident]; r.Version < since || is && kind == "node" {
			return nil, nil, fault.UnknownPath
		}
		if !IsUUID(ident) && !IsName(ident) {
			return nil, nil, &fault.Fault{Status: http.StatusBadRequest, Bare: true, Text: "Expected UUID or name for " + kind + ": " + fault.Show(ident)}
		}
		if len(segments) == 1 {
			return nil, nil, nil
		}
		p, has := parts[segments[1]]
		switch {
		case !has, p.Ignored && r.Version < p.Since:
			return nil, nil, nil
		case r.Version < p.Since:
			return nil, nil, fault.UnknownPath
		}
		r.Params = append(r.Params, ident)
		return p.Controller, segments[2:], nil
	}
}

// RefuseBefore returns a function that refuses requests with a version before since. The
// subject is what the version does not allow.
func RefuseBefore(since states.APIVersion, subject string) func(*Request) error {
	return func(r *Request) error {
		if r.Version >= since {
			return nil
		}
		f := &fault.Fault{Status: http.StatusNotFound, Bare: true, Text: "The API version does not allow " + subject}
		if r.Method != http.MethodGet {
			f.Status = http.StatusMethodNotAllowed
		}
		return f
	}
}

// Actions are the actions of a controller by name.
type Actions = map[string]Action

// NodeIdent is the name of the segment that identifies a node.
var NodeIdent = []string{"node_ident"}
