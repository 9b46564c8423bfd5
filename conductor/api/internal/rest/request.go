// SPDX-License-Identifier: Apache-2.0

// Package rest is the common part of the handlers of all resources. It routes a path to an action, parses a
// request's version, arguments and body, and writes the answer; long lists are divided into pages.
package rest

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/states"
)

// Request is a request in flight.
type Request struct {
	*http.Request
	*Service
	Version  states.APIVersion
	Query    url.Values
	before   []string          // the path segments before the controller's
	Params   []string          // the path segments that are parameters of the action
	since    states.APIVersion // the first version that has the action
	Suffix   bool              // ".json" was removed from the path
	badIdent error             // the fault of the node's identifier, which comes after that of unknown arguments
	badBody  error             // the fault of a path segment in place of the body, which comes after those of the arguments
	from     *budget           // the budget of the body
	held     int64             // bytes taken from it
	baseURL  string
}

// NewRequest returns a request to a service. The caller calls Free when it has been answered.
func NewRequest(s *Service, r *http.Request) *Request { return &Request{Request: r, Service: s} }

// Accept returns the fault of the arguments, which are nil if the caller has not read any, or the fault of a version
// that does not have the action. The handler of an action with a first version calls it before anything else.
func (r *Request) Accept(a *Args) error {
	switch {
	case a != nil && a.Err != nil:
		return a.Err
	case r.Version < r.since:
		return fault.NoSuchResource
	default:
		return nil
	}
}

// Param returns the i-th parameter in the path.
func (r *Request) Param(i int) string { return r.Params[i] }

// Base returns the base URL of links.
//
// Source: ironic/api/hooks.py.
func (r *Request) Base() string {
	if r.baseURL == "" {
		switch {
		case r.publicURL != "":
			r.baseURL = r.publicURL
		case r.TLS != nil:
			r.baseURL = "https://" + r.Host
		default:
			r.baseURL = "http://" + r.Host
		}
	}
	return r.baseURL
}

// parseQuery returns the parameters of a query. Text that is not UTF-8 is a fault of the routing.
func parseQuery(raw string) (url.Values, error) {
	if raw == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fault.Invalid("The query is malformed: names and values must be URL-encoded, with & in between.")
	}
	for key, values := range query {
		for _, text := range append(values, key) {
			if !utf8.ValidString(text) {
				return nil, &fault.Fault{Status: http.StatusBadRequest, Bare: true}
			}
		}
	}
	return query, nil
}

// acceptsJSON reports whether an Accept header permits JSON. A header that breaks the syntax
// permits everything.
//
// Source: find_controller in pecan/core.py, and webob/acceptparse.py.
func acceptsJSON(accept string) bool {
	accept = strings.TrimSpace(accept)
	if accept == "" || strings.HasPrefix(accept, "application/json") {
		return true
	}
	best, quality := -1, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		kind, parameters, err := mime.ParseMediaType(part)
		if err != nil || !strings.Contains(kind, "/") {
			return true
		}
		q := 1.0
		if text, has := parameters["q"]; has {
			if q, err = strconv.ParseFloat(text, 64); err != nil || q < 0 || q > 1 {
				return true
			}
		}
		specific := slices.Index([]string{"*/*", "application/*", "application/json"}, kind)
		if specific > best {
			best, quality = specific, q
		}
	}
	return quality > 0
}
