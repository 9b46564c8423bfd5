// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
)

// find returns the action that answers a request for the path segments below a controller, and the segments that are
// its parameters. It applies these rules in turn, and the first one that finds an action decides:
//
//	Subs        GET nodes/NODE/states        the path names a child resource
//	Lookup      GET nodes/NODE/ports         a child resource follows an identifier
//	Actions     GET nodes/detail             the path names an action
//	methods     GET nodes, GET nodes/NODE    the method has an action
//	Fallback    PUT nodes/vendor_passthru    the controller answers everything else
//
// Lookup and Actions do not see empty segments. If no rule finds an action, Lookup sees them.
//
// Source: lookup_controller in pecan/routing.py, and _route in pecan/rest.py.
func (r *Request) find(c *Controller, segments []string) (action *Action, parameters []string, err error) {
	if c.Admit != nil {
		if err := c.Admit(r); err != nil {
			return nil, nil, err
		}
	}
	action, parameters, err = r.findBelow(c, segments)
	if f := fault.Of(err); err == nil || c.Lookup == nil || len(segments) == 0 || !f.Bare || f.Status == http.StatusBadRequest {
		return action, parameters, err
	}
	child, below, lookupErr := c.Lookup(r, segments)
	switch {
	case lookupErr != nil:
		return nil, nil, lookupErr
	case child != nil:
		return r.find(child, below)
	default:
		return nil, nil, err
	}
}

// findBelow applies the rules of find once.
func (r *Request) findBelow(c *Controller, segments []string) (action *Action, parameters []string, err error) {
	child, at := c.child(segments)
	if child != nil {
		r.before = append(r.before, segments[:at]...)
		action, parameters, err = r.find(child, segments[at+1:])
		if !isRouting(err) {
			return action, parameters, err
		}
	} else {
		action, parameters = c.action(r.Method, segments)
	}
	if idents := nonEmpty(segments); c.Lookup != nil && len(idents) > 0 {
		child, below, err := c.Lookup(r, idents)
		switch {
		case err != nil:
			return nil, nil, err
		case child != nil:
			return r.find(child, below)
		}
	}
	var f *fault.Fault
	switch {
	case action != nil:
		return action, parameters, nil
	case c.Fallback != nil:
		return c.Fallback, segments, nil
	case child == nil, !c.hasIdents() && errors.As(err, &f) && f.Allow != nil: // pecan lists the methods of the parent, not of the child
		return nil, nil, &fault.Fault{Status: http.StatusMethodNotAllowed, Bare: true, Allow: c.allow()}
	default:
		return nil, nil, err
	}
}

// child returns the controller of the child resource that a path names, and the index of its segment. The segment may
// stand anywhere if the controller's own paths have identifiers: nodes/NODE/states is also nodes/states/NODE.
//
// Source: _find_sub_controllers in pecan/rest.py.
func (c *Controller) child(segments []string) (child *Controller, at int) {
	for i, segment := range segments {
		if child := c.Subs[segment]; child != nil && (i == 0 || c.hasIdents()) {
			return child, i
		}
	}
	return nil, 0
}

// methods are the rules by which a method chooses among the actions of a controller. A path may name an action in its
// first or its last segment. Otherwise the first action that the controller has answers: of list if the path ends at
// the controller, of record if segments follow.
//
// Source: the methods _handle_* in pecan/rest.py.
var methods = map[string]struct {
	name         position
	list, record []string
}{
	http.MethodGet:    {last, []string{All, Both}, []string{One, Both}},
	http.MethodPost:   {last, []string{"post"}, []string{"post"}},
	http.MethodPut:    {first, []string{"put"}, []string{"put"}},
	http.MethodPatch:  {last, []string{"patch"}, []string{"patch"}},
	http.MethodDelete: {first, []string{"delete"}, []string{"delete"}},
}

// position is the place of a segment in a path.
type position int

const (
	first position = iota
	last
)

// action returns the controller's own action for a method and the segments that are its parameters, or nil.
func (c *Controller) action(method string, segments []string) (*Action, []string) {
	rule := methods[method]
	if given := nonEmpty(segments); len(given) > 0 {
		name, parameters := given[0], given[1:]
		if rule.name == last {
			name, parameters = given[len(given)-1], given[:len(given)-1]
		}
		if a, has := c.Actions[name]; has && a.Method == method {
			return &a, parameters
		}
	}
	names := rule.list
	if len(segments) > 0 {
		names = rule.record
	}
	for _, name := range names {
		if a, has := c.Actions[name]; has && a.Method == "" {
			return &a, segments
		}
	}
	return nil, nil
}

// hasIdents reports whether identifiers of records may follow the path of the controller.
func (c *Controller) hasIdents() bool { return c.has(One) || c.has(Both) }

// has reports whether the controller has an action of the name.
func (c *Controller) has(name string) bool {
	_, has := c.Actions[name]
	return has
}

// allow returns the value of the Allow header: the methods that the controller has unnamed actions for. Those that a
// path names do not count, as in Ironic's web framework.
func (c *Controller) allow() *string {
	var allowed []string
	for method, rule := range methods {
		if slices.ContainsFunc(rule.list, c.has) || slices.ContainsFunc(rule.record, c.has) {
			allowed = append(allowed, method)
		}
	}
	slices.Sort(allowed)
	list := strings.Join(allowed, ", ")
	return &list
}

// isRouting reports whether an error is a fault of the routing. Ironic's web framework responds with such a fault, and
// not its API.
func isRouting(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f) && f.Bare
}

// nonEmpty returns the segments without the empty ones.
func nonEmpty(segments []string) []string {
	return slices.DeleteFunc(slices.Clone(segments), func(s string) bool { return s == "" })
}
