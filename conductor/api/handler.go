package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// Config configures the handler. The zero value is Ironic's default.
type Config struct {
	// PublicURL is the base of the links in responses, such as
	// "https://metal.example.org". Empty stands for the host of the request
	// (public_endpoint).
	PublicURL string
	// MaxLimit bounds the items on one page of a list; 0 stands for 1000 (max_limit).
	MaxLimit int
	// Log receives a record for each response with status 500 and each panic; nil discards
	// them.
	Log *slog.Logger
}

// New returns the API of a conductor. The conductor must run: requests for lists wait until it
// has read its store. The handler is safe for concurrent use. With a nil or zero Conductor it
// has no versions and no resources, and responds with 404, 406 or 500 to requests for them.
func New(c *conductor.Conductor, config Config) http.Handler {
	if config.MaxLimit <= 0 {
		config.MaxLimit = 1000
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	s := newService(c, strings.TrimRight(config.PublicURL, "/"), config.MaxLimit)
	return &handler{service: s, log: config.Log, tree: s.newRoot()}
}

type handler struct {
	service *service
	log     *slog.Logger
	tree    map[string]*controller // by the first segment of their path
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions { // answered by oslo.middleware's CORS filter
		w.WriteHeader(http.StatusOK)
		return
	}
	req := newRequest(h.service, r)
	defer req.free()
	a, err := h.serve(w, req)
	if err != nil {
		a = h.refuse(w, req, err)
	}
	header := w.Header()
	if isRouting(err) {
		delete(header, versionHeader)
		if !errors.Is(err, errOutOfRange) {
			delete(header, minimumHeader)
			delete(header, maximumHeader)
		}
	} else {
		requestID := []string{"req-" + uuid.NewString()}
		header["Openstack-Request-Id"] = requestID
		if req.version >= since.RequestID {
			header["X-Openstack-Request-Id"] = requestID
		}
	}
	if a.location != "" {
		header.Set("Location", req.base()+"/v1/"+a.location)
	}
	if a.write != nil {
		if send(w, a.status, a.write, func(p any) { h.logPanic(req, p) }) {
			return
		}
		a = h.refuse(w, req, errInternal)
	}
	reply(w, a.status, a.body)
}

// serve returns the answer to a request, or the error of a refused one. For a panic it returns
// an error without the panic's text, which might contain a secret.
func (h *handler) serve(w http.ResponseWriter, r *request) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			h.logPanic(r, p)
			a, err = answer{}, errInternal
		}
	}()
	if !utf8.ValidString(r.URL.Path) {
		return answer{}, &fault{status: http.StatusBadRequest, bare: true}
	}
	path, isRoot := r.split()
	if isRoot {
		return root(r)
	}
	if err := r.negotiate(w.Header()); err != nil {
		if f := asFault(err); path[0] == "" { // Ironic negotiates the version of /v1 after the routing
			err = &fault{status: f.status, text: f.text}
		}
		return answer{}, err
	}
	run := &action{serve: v1}
	query, badQuery := parseQuery(r.URL.RawQuery)
	if path[0] != "" {
		c := h.tree[path[0]]
		if c == nil {
			return answer{}, errUnknown
		}
		if isRouting(badQuery) && (c.admit == nil || c.admit(r) == nil) { // Ironic's router reads the query
			return answer{}, badQuery
		}
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

// logPanic logs a recovered panic. It must be called by the deferred function, so that the
// stack is that of the panic.
func (h *handler) logPanic(r *request, p any) {
	h.log.Error("a request panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
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

// refuse returns the response for an error and logs it if its status is 500.
func (h *handler) refuse(w http.ResponseWriter, r *request, err error) answer {
	f := asFault(err)
	if f.status == http.StatusInternalServerError {
		h.log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if f.allow != nil {
		w.Header().Set("Allow", *f.allow)
	}
	return answer{status: f.status, body: f.body()}
}
