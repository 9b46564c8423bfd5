// SPDX-License-Identifier: Apache-2.0

package api

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/internal/boundedcall"
)

// Config configures the handler. The zero value is Ironic's default.
type Config struct {
	// PublicURL is the base of the links in responses, such as
	// "https://metal.example.org". Empty stands for the host of the request
	// (public_endpoint).
	PublicURL string
	// MaxLimit bounds the items on one page of a list; 0 stands for 1000 (max_limit).
	MaxLimit int
	// Audience selects the requests that the handler answers; the zero value stands for all.
	Audience Audience
	// AgentNetworks are the networks from which requests of agents are answered: lookups, heartbeats and inspection data.
	// Those from elsewhere get 403. Empty stands for every network. The address is [http.Request.RemoteAddr]; behind a
	// proxy it is the proxy's, and X-Forwarded-For is not read. Ironic has no such option.
	AgentNetworks conductor.AgentNetworks
	// BIOSBootloaders permits agents to install the boot loaders of partition images in machines that boot by BIOS: since
	// CVE-2026-43003 they refuse it unless their configuration has it, which they get at their lookup
	// ([agent]enable_bios_bootloader_install). The image may run code in the agent then.
	BIOSBootloaders bool
	// AgentsWithoutMD5 tells agents at their lookup, since 2023.2, to refuse an image whose checksum is by MD5
	// ([agent]allow_md5_checksum = False).
	AgentsWithoutMD5 bool
	// Log receives a record for each response with status 500 and each panic; nil discards
	// them.
	Log *slog.Logger
}

// Audience is who sends the requests that a handler answers. With one handler of [New] for [Clients] and another for
// [Agents], each with a listener of its own, the network of the machines cannot reach the API.
type Audience int

// The audiences.
const (
	Everyone Audience = iota
	// Clients are all but agents: requests of agents get 403 ([api]enable_ramdisk_endpoints = False).
	Clients
	// Agents send lookups, heartbeats and inspection data, and read the version documents at / and /v1. Every other path
	// is unknown.
	Agents
)

// New returns the API of a conductor. The conductor must run: requests for lists wait until it
// has read its store. The handler is safe for concurrent use. It authenticates nobody: a server that browsers
// can reach wraps it in [http.CrossOriginProtection] and, without authentication, checks the Host of requests.
func New(c *conductor.Conductor, config Config) http.Handler {
	if config.MaxLimit <= 0 {
		config.MaxLimit = 1000
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	s := rest.NewService(c, strings.TrimRight(config.PublicURL, "/"), config.MaxLimit)
	s.BIOSBootloaders, s.AgentsWithoutMD5 = config.BIOSBootloaders, config.AgentsWithoutMD5
	return &handler{service: s, log: config.Log, tree: newTree(s, config)}
}

type handler struct {
	service *rest.Service
	log     *slog.Logger
	tree    *rest.Tree
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions && r.URL.Path != "/" { // answered with 200 by oslo.middleware's CORS filter
		return
	}
	req := rest.NewRequest(h.service, r)
	defer req.Free()
	a, err := h.serve(w, req)
	if err != nil {
		a = h.refuse(w, req, err)
	}
	req.SetHeaders(w.Header(), err)
	if a.Location != "" {
		w.Header().Set("Location", req.Base()+"/v1/"+a.Location)
	}
	if a.Write != nil {
		if wire.Send(w, a.Status, a.Write, func(p any) { h.logPanic(req, p) }) {
			return
		}
		a = h.refuse(w, req, fault.Internal)
	}
	wire.Reply(w, a.Status, a.Body)
}

// serve returns the answer to a request, or the error of a refused one. For a panic it returns
// an error without the panic's text, which might contain a secret.
func (h *handler) serve(w http.ResponseWriter, r *rest.Request) (a rest.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			h.logPanic(r, p)
			a, err = rest.Answer{}, fault.Internal
		}
	}()
	return h.tree.Serve(r, w.Header())
}

// logPanic logs a recovered panic without its text, unless it is Go's own. It must be called by the deferred function,
// so that it logs the stack of the panic.
func (h *handler) logPanic(r *rest.Request, p any) {
	h.log.Error("a request panicked", "method", r.Method, "path", r.URL.Path,
		"panic", (&boundedcall.PanicError{Value: p}).Error(), "stack", string(debug.Stack()))
}

// refuse returns the response for an error and logs it if its status is 500.
func (h *handler) refuse(w http.ResponseWriter, r *rest.Request, err error) rest.Answer {
	f := fault.OfRequest(r.Method, err)
	if f.Status == http.StatusInternalServerError {
		h.log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if f.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if f.Allow != nil {
		w.Header().Set("Allow", *f.Allow)
	}
	return rest.Answer{Status: f.Status, Body: f.Body()}
}
