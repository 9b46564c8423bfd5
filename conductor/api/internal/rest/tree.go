// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// Tree has the paths of the API. net/http's ServeMux cannot route them: Ironic's web framework
// finds a child resource wherever its name stands in the path, so that nodes/NODE/states and
// nodes/states/NODE are the same, and ServeMux refuses two such patterns as a conflict. ServeMux also redirects
// paths with empty segments, answers HEAD, and has neither child resources that exist only since a version nor the
// Allow header of a whole controller.
type Tree struct {
	Root, V1  Serve                  // the documents at / and /v1
	Resources map[string]*Controller // by the first segment below /v1
}

// Serve answers a request, and sets the version headers of the response.
func (t *Tree) Serve(r *Request, header http.Header) (Answer, error) {
	if !utf8.ValidString(r.URL.Path) {
		return Answer{}, &fault.Fault{Status: http.StatusBadRequest, Bare: true}
	}
	path, isRoot := r.split()
	if isRoot && r.Series < states.Dalmatian {
		return t.Root(r)
	}
	if err := r.negotiate(header); err != nil {
		// Ironic negotiates the version of these after the routing.
		if f := fault.Of(err); isRoot || path[0] == "" && r.Series < states.Dalmatian {
			err = &fault.Fault{Status: f.Status, Text: f.Text}
		}
		return Answer{}, err
	}
	if isRoot {
		return t.Root(r)
	}
	run := &Action{Serve: t.V1}
	query, badQuery := parseQuery(r.URL.RawQuery)
	if path[0] != "" {
		c := t.Resources[path[0]]
		if c == nil {
			return Answer{}, fault.UnknownPath
		}
		if isRouting(badQuery) && (c.Admit == nil || c.Admit(r) == nil) { // Ironic reads the query while it routes the path
			return Answer{}, badQuery
		}
		var err error
		if run, path, err = r.find(c, path[1:]); err != nil {
			return Answer{}, err
		}
	}
	if accept := strings.Join(r.Header.Values("Accept"), ","); !acceptsJSON(accept) {
		return Answer{}, fault.Unacceptable(accept)
	}
	if badQuery != nil {
		return Answer{}, badQuery
	}
	r.Query = query
	if err := r.bind(run, path); err != nil {
		return Answer{}, err
	}
	return run.Serve(r)
}

// escapedSlashes escapes the slashes once more that Ironic's HTTP server leaves escaped since 2025.2.
//
// Source: read_request_line in cheroot/server.py.
var escapedSlashes = strings.NewReplacer("%2F", "%252F", "%2f", "%252F")

// split returns the segments of the path below /v1, and whether the path is /. A path need not begin with /v1.
// For /v1 itself split returns one empty segment.
//
// Source: RootController in ironic/api/controllers/root.py, and middleware/json_ext.py.
func (r *Request) split() (segments []string, isRoot bool) {
	path := r.URL.Path
	if r.Series >= states.Flamingo {
		path, _ = url.PathUnescape(escapedSlashes.Replace(r.URL.EscapedPath())) // a valid encoding of the path
	}
	r.Path = path
	if trimmed, ok := strings.CutSuffix(strings.TrimRight(path, "/"), ".json"); ok {
		// The version is not yet negotiated. Since the series with DotJSON, a request without one is no old one.
		asked := r.Header.Get(versionHeader) != "" || r.Highest < since.DotJSON
		if version, err := r.parseVersion(r.Header.Values(versionHeader)); asked && (err != nil || version < since.DotJSON) {
			path, r.Suffix = trimmed, true
		}
	}
	if strings.Trim(path, "/") == "" {
		return nil, true
	}
	segments = strings.Split(strings.TrimPrefix(path, "/"), "/") // the path of "GET *" has no slash
	if len(segments) > 1 && segments[0] == "" && segments[1] == "v1" {
		segments = segments[1:]
	}
	if segments[0] == "v1" {
		segments = segments[1:]
	}
	if last := len(segments) - 1; last >= 0 && segments[last] == "" {
		segments = segments[:last]
	}
	if len(segments) == 0 {
		segments = []string{""}
	}
	return segments, false
}
