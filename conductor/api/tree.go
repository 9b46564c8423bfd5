package api

import (
	"net/http"
	"strings"
	"unicode/utf8"
)

// tree has the paths of the API. net/http's ServeMux cannot route them: Ironic's web framework
// finds a part of a resource wherever its name stands in the path, so that nodes/NODE/states and
// nodes/states/NODE are the same, and ServeMux refuses two such patterns as a conflict. It also redirects
// paths with empty segments, answers HEAD, and knows neither parts that exist from a version on nor the
// Allow header of a whole controller. A path that is rewritten for ServeMux has been routed before.
type tree struct {
	root, v1  serve                  // the documents at / and /v1
	resources map[string]*controller // by the first segment below /v1
}

// serve answers a request, and writes the headers of versions.
func (t *tree) serve(r *request, header http.Header) (answer, error) {
	if !utf8.ValidString(r.URL.Path) {
		return answer{}, &fault{status: http.StatusBadRequest, bare: true}
	}
	path, isRoot := r.split()
	if isRoot {
		return t.root(r)
	}
	if err := r.negotiate(header); err != nil {
		if f := asFault(err); path[0] == "" { // Ironic negotiates the version of /v1 after the routing
			err = &fault{status: f.status, text: f.text}
		}
		return answer{}, err
	}
	run := &action{serve: t.v1}
	query, badQuery := parseQuery(r.URL.RawQuery)
	if path[0] != "" {
		c := t.resources[path[0]]
		if c == nil {
			return answer{}, errUnknown
		}
		if isRouting(badQuery) && (c.admit == nil || c.admit(r) == nil) { // Ironic's router reads the query
			return answer{}, badQuery
		}
		var err error
		if run, path, err = r.find(c, path[1:]); err != nil {
			return answer{}, err
		}
	}
	if !acceptsJSON(r.Header.Values("Accept")) {
		return answer{}, &fault{status: http.StatusNotAcceptable, bare: true}
	}
	if badQuery != nil {
		return answer{}, badQuery
	}
	r.query = query
	if err := r.bind(run, path); err != nil {
		return answer{}, err
	}
	return run.serve(r)
}

// split returns the segments of the path below /v1, and whether the path is the root. The
// leading v1 is optional. Without a segment below /v1 the only one is empty.
//
// Source: RootController in ironic/api/controllers/root.py, and middleware/json_ext.py.
func (r *request) split() (segments []string, isRoot bool) {
	path := r.URL.Path
	if trimmed, ok := strings.CutSuffix(strings.TrimRight(path, "/"), ".json"); ok && r.mayTrim() {
		path, r.suffix = trimmed, true
	}
	segments = strings.Split(path, "/")[1:]
	if segments[0] == "" {
		return nil, true
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
