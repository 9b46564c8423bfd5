// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
)

// bind distributes the segments that [Request.find] left over to an action: to its identifiers, then to its optional
// parameters, then to its arguments, and the next one to its body. The query may have what the path lacks.
//
// Source: find_controller and get_args in pecan/core.py, and ironic/common/args.py.
func (r *Request) bind(a *Action, segments []string) error {
	r.since = a.Since
	if err := r.checkNames(a, segments); err != nil {
		return err
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
			r.badIdent = fault.Invalid("Expected UUID or name for node_ident: %s", fault.Show(ident))
			if a.NoArgs || r.Method == http.MethodDelete || r.Method == http.MethodPatch { // checkNames has accepted the arguments
				return r.badIdent
			}
		}
	}
	n := min(a.Optional, len(segments))
	r.Params, segments = append(r.Params, segments[:n]...), segments[n:]
	if n := len(a.Args); len(segments) > n {
		if a.Body == "" {
			return fault.UnknownPath
		}
		want := "object"
		if r.Method == http.MethodPatch {
			want = "array"
		}
		r.badBody = fault.Schema(a.Body, "%s is not of type '%s'", fault.Repr(segments[n]), want)
		segments = segments[:n]
	}
	for i, segment := range segments {
		name := a.Args[i]
		if r.Query.Has(name) {
			if args := r.QueryArgs(slices.Concat(a.Idents, a.Args)...); args.Err != nil {
				return args.Err
			}
			return fault.Invalid("The path and the query both have the argument %s", name)
		}
		if r.Query == nil {
			r.Query = map[string][]string{}
		}
		r.Query.Set(name, segment)
	}
	return nil
}

// checkNames refuses arguments that the action does not have. Only the requests named here are refused before their
// identifiers are checked; the other actions check their arguments themselves.
func (r *Request) checkNames(a *Action, segments []string) error {
	names := slices.Concat(a.Idents, a.Args)
	switch {
	case a.NoArgs && a.Body != "" && len(nonEmpty(segments)) > 0: // bind refuses the segment as a body
		return r.QueryArgs(a.Body).Err
	case a.NoArgs:
		return r.QueryArgs().Err
	case r.Method == http.MethodDelete && !a.AnyMethod:
		return r.BodyArgs(MaxBody, names...).Err
	case r.Method == http.MethodPatch && !a.AnyMethod:
		return r.QueryArgs(names...).Err
	default:
		return nil
	}
}
