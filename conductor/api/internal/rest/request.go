// SPDX-License-Identifier: Apache-2.0

// Package rest is the common part of the handlers of all resources. [Tree.Serve] takes a request through these steps:
//
//	tree.go        splits the path and checks the query and the Accept header
//	version.go     negotiates the API version
//	router.go      finds the action for the path and the method (controller.go has the types)
//	bind.go        distributes the rest of the path to the identifiers and arguments of the action
//
// The action then calls its handler, a function of another package, which uses these parts:
//
//	args.go        reads the arguments in the query and the body, with the types that Ironic accepts (identifiers.go)
//	body.go        reads and decodes a body within limits of memory (measure.go, decode.go)
//	nodelookup.go  finds the node that the request names
//	paging.go      divides lists into pages; fields.go chooses the fields in a response
//	answer.go      is the response, which package api writes
package rest

import (
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// Request is a request in flight.
type Request struct {
	*http.Request
	*Service
	Version states.APIVersion
	Query   url.Values
	Params  []string // the path segments that are parameters of the action
	Path    string   // of the URL, in which slashes may be escaped, see [Request.split]
	Suffix  bool     // ".json" was removed from the path

	before  []string // the path segments before the name of the controller, set by find
	bound   bound    // set by bind
	budget  *budget  // the memory for the sent body, set when it is read
	held    int64    // the bytes reserved from that memory
	baseURL string   // set by Base
}

// NewRequest returns a request to a service. The caller calls Free when it has been answered.
func NewRequest(s *Service, r *http.Request) *Request { return &Request{Request: r, Service: s} }

// CheckArgs returns the fault of the arguments, which are nil if the caller has not read any, or the fault of a version
// that does not have the action. The handler of an action with a first version must call it before it reads the store:
// the router does not.
func (r *Request) CheckArgs(a *Args) error {
	if a != nil && a.Err != nil {
		return a.Err
	}
	return r.checkVersion(r.bound.action)
}

// checkVersion refuses a version that does not have the action.
func (r *Request) checkVersion(a *Action) error {
	switch {
	case r.Version >= a.Since:
		return nil
	case a.Subject != "":
		return RefuseBefore(a.Since, a.Subject, false)(r)
	case r.Series >= states.Hibiscus && a.Since > since.Lookup && !slices.Equal(a.Idents, NodeIdent):
		return fault.NotFound("The API is not supported for this version")
	default:
		return fault.NoSuchResource
	}
}

// Param returns the i-th parameter in the path.
func (r *Request) Param(i int) string { return r.Params[i] }

// InPath reports whether a segment of the path has set an argument.
func (r *Request) InPath(name string) bool { return slices.Contains(r.bound.inPath, name) }

// Source returns the address of the client's end of the connection, the zero value if the server has not set it.
// Headers such as X-Forwarded-For, which every client can send, do not count.
func (r *Request) Source() netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr().Unmap()
}

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

var percent = regexp.MustCompile("%([0-9A-Fa-f]{2})?")

// parseQuery returns the parameters of a query. A semicolon separates parameters, too, and a percent sign that begins
// no escape stands for itself. Text that is not UTF-8 is a fault of the routing.
//
// Source: parse_qsl_text in webob/compat.py.
func parseQuery(raw string) (url.Values, error) {
	if raw == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(percent.ReplaceAllStringFunc(strings.ReplaceAll(raw, ";", "&"), func(escape string) string {
		if escape == "%" {
			return "%25"
		}
		return escape
	}))
	if err != nil {
		return nil, fault.Invalid("The query has too many parameters.")
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
