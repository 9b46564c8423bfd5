// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"math"
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/states"
)

// Serve answers a request whose path and method have an action.
type Serve = func(r *Request) (Answer, error)

// Checks are called in Ironic's order before a request is served, and the first fault is the answer. Q is the type of a
// request in the package of the checks. A check stores the values that it reads in the request, for later checks and
// for the handler.
type Checks[Q any] []func(q Q) error

// Or returns the checks, or the usual ones if they are nil.
func (c Checks[Q]) Or(usual Checks[Q]) Checks[Q] {
	if c == nil {
		return usual
	}
	return c
}

// Fault returns the first fault of a request.
func (c Checks[Q]) Fault(q Q) error {
	for _, check := range c {
		if err := check(q); err != nil {
			return err
		}
	}
	return nil
}

// Then returns a handler of requests. The handler calls begin, gives the result to the checks, and calls serve with it
// if the request passes all of them.
func (c Checks[Q]) Then(begin func(*Request) Q, serve func(Q) (Answer, error)) Serve {
	return func(r *Request) (Answer, error) {
		q := begin(r)
		if err := c.Fault(q); err != nil {
			return Answer{}, err
		}
		return serve(q)
	}
}

// Action answers the requests of one method, or those whose path names it.
type Action struct {
	Serve Serve
	// Idents are the names of the path segments that the action needs. A query parameter of the same name
	// replaces a segment that the path lacks. The identifier of a node, see [NodeIdent], comes first.
	Idents []string
	// Optional is the number of further segments that the action accepts as parameters, [AnyNumber] for all of them.
	Optional int
	// Args are the names of the arguments that further segments set, in order, and of those that a DELETE or a PATCH
	// accepts.
	Args []string
	// Method is the method of an action that the path names, as in /v1/nodes/detail. It is empty for an action with
	// one of the names below.
	Method string
	// Since is the first version that has the action. The router checks it before the arguments from the series
	// VersionFirst on. Before that series, or if it is NoSeries, Serve checks it after them, see [Request.CheckArgs].
	Since        states.APIVersion
	VersionFirst states.Series
	// Subject is what the fault of an older version names, see [RefuseBefore]; empty for the usual fault.
	Subject string
	// Body is the name of the argument that contains the body. A further segment of the path sets it, too.
	Body string
	// AnyMethod makes the action answer requests with every method.
	AnyMethod bool
	// NoArgs makes the router refuse query parameters that are not Idents, Args or Body.
	NoArgs bool
}

// These are names of actions that answer GET: All answers it without an identifier in the path, One with an identifier,
// and Both in either case. The actions that answer other methods are named post, put, patch and delete.
const (
	All  = "get_all"
	One  = "get_one"
	Both = "get"
)

// AnyNumber is the value of [Action.Optional] that accepts all further segments.
const AnyNumber = math.MaxInt

// Actions are the actions of a controller by name.
type Actions = map[string]Action

// Controller has the actions of a path and the controllers of the paths below it. [Request.find] chooses among them.
type Controller struct {
	Actions Actions
	// Subs are the controllers of child resources by path segment.
	Subs map[string]*Controller
	// Lookup returns the controller of a child resource for segments that begin with an identifier, and the
	// remaining segments. It returns nil if there is no such resource.
	Lookup func(r *Request, segments []string) (*Controller, []string, error)
	// Fallback answers the requests that no other action answers.
	Fallback *Action
	// Admit refuses requests that nothing of the controller answers, such as those whose version is too old.
	Admit func(r *Request) error
}

// Part is the controller of a child resource whose name follows an identifier in the path.
type Part struct {
	*Controller
	Since states.APIVersion
	// Ignored leaves requests with a version before Since to the actions of the parent. Otherwise their path is unknown.
	Ignored bool
}

// Below returns a function for [Controller.Lookup] that finds the parts of a resource since a version. The kind of the
// resource is the word for it in faults: "node" or "portgroup".
//
// Source: _lookup of NodesController and PortgroupsController.
func Below(kind string, since states.APIVersion, parts map[string]Part) func(*Request, []string) (*Controller, []string, error) {
	return func(r *Request, segments []string) (*Controller, []string, error) {
		ident := segments[0]
		if _, isPart := parts[ident]; r.Version < since || isPart && kind == "node" { // a port group may have such a name
			return nil, nil, fault.UnknownPath
		}
		if !IsUUID(ident) && !IsName(ident) {
			return nil, nil, &fault.Fault{Status: http.StatusBadRequest, Bare: true,
				Text: "Expected UUID or name for " + kind + ": " + fault.Show(ident)}
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

// RefuseBefore returns a function for [Controller.Admit] that refuses requests with a version before since. The fault
// says that the version does not allow the subject, such as "runbooks". It is a fault of the routing if bare is set,
// see [fault.Fault]: later series check the version in the handler.
//
// Source: the methods _route, and api_version in ironic/api/validation.
func RefuseBefore(since states.APIVersion, subject string, bare bool) func(*Request) error {
	return func(r *Request) error {
		if r.Version >= since {
			return nil
		}
		f := &fault.Fault{Status: http.StatusNotFound, Bare: bare, Text: "The API version does not allow " + subject}
		if r.Method != http.MethodGet {
			f.Status = http.StatusMethodNotAllowed
		}
		return f
	}
}

// NodeIdent is the value of [Action.Idents] for an action whose path has the identifier of a node.
var NodeIdent = []string{"node_ident"}
