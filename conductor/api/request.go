package api

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// request is a request in flight.
type request struct {
	*http.Request
	*service
	version states.APIVersion
	query   url.Values
	before  []string          // the path segments before the controller's
	params  []string          // the path segments that are parameters of the action
	since   states.APIVersion // the first version that has the action
	suffix  bool              // ".json" was removed from the path
	held    int64             // bytes taken from the budget for bodies
	baseURL string
}

// newRequest returns a request to a service. The caller calls free when it has been answered.
func newRequest(s *service, r *http.Request) *request { return &request{Request: r, service: s} }

// free returns the bytes of the request's body to the budget.
func (r *request) free() { r.budget.free(r) }

// accept returns the fault of the arguments of a request, a if there are any, and of a version that
// does not have the action. Handlers of late actions call it before they do anything else.
func (r *request) accept(a *args) error {
	switch {
	case a != nil && a.err != nil:
		return a.err
	case r.version < r.since:
		return errNotFound
	default:
		return nil
	}
}

// param returns the i-th parameter in the path.
func (r *request) param(i int) string { return r.params[i] }

// base returns the base URL of links.
//
// Source: ironic/api/hooks.py.
func (r *request) base() string {
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

// mayTrim reports whether a ".json" at the end of the path is removed. The version is not
// yet negotiated.
func (r *request) mayTrim() bool {
	version, err := r.parseVersion(r.Header.Values(versionHeader))
	return err != nil || version < since.DotJSON
}

func parseQuery(raw string) (url.Values, error) {
	if raw == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalid("The query is malformed: names and values must be URL-encoded, with & in between.")
	}
	for key, values := range query {
		for _, text := range append(values, key) {
			if !utf8.ValidString(text) {
				return nil, &fault{status: http.StatusBadRequest, bare: true}
			}
		}
	}
	return query, nil
}

// acceptsJSON reports whether an Accept header permits JSON. A header that breaks the syntax
// permits everything.
//
// Source: find_controller in pecan/core.py, and webob/acceptparse.py.
func acceptsJSON(header []string) bool {
	accept := strings.TrimSpace(strings.Join(header, ","))
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
