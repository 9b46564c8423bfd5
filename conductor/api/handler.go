package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/ironstate/ironstate/conductor"
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
// has read its store. The handler is safe for concurrent use.
func New(c *conductor.Conductor, config Config) http.Handler {
	if config.MaxLimit <= 0 {
		config.MaxLimit = 1000
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	s := newService(c, strings.TrimRight(config.PublicURL, "/"), config.MaxLimit)
	return &handler{service: s, log: config.Log, tree: newTree(s)}
}

type handler struct {
	service *service
	log     *slog.Logger
	tree    *tree
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
	req.setHeaders(w.Header(), err)
	if a.location != "" {
		w.Header().Set("Location", req.base()+"/v1/"+a.location)
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
	return h.tree.serve(r, w.Header())
}

// logPanic logs a recovered panic. It must be called by the deferred function, so that the
// stack is that of the panic.
func (h *handler) logPanic(r *request, p any) {
	h.log.Error("a request panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
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
