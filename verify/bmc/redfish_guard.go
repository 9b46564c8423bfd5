// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"sync"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/redfish"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/guard"
)

// These are the paths that the guard answers itself.
const (
	guardHost     = "guard"
	guardPort     = "443"
	guardSessions = serviceRoot + "SessionService/Sessions"
	guardSession  = guardSessions + "/1"
	guardSystems  = serviceRoot + "Systems"
	guardManagers = serviceRoot + "Managers"
	guardManager  = guardManagers + "/1"
	guardMedia    = guardManager + "/VirtualMedia"
)

// redfishGuard stands between bmclib's driver and the BMC. It is the
// [http.RoundTripper] of the driver, which reads the BMC's answers as package guard
// leaves them. The guard logs in in the driver's place, shows it one system and at most one
// slot of virtual media, and passes on only changes to these. It sends one request at a
// time, and none after one that has no answer.
type redfishGuard struct {
	service *service
	mu      sync.Mutex // gofish has goroutines
	root    bool       // the driver may read the service root
	slot    *slot      // the slot of virtual media that the driver uses; otherwise nil

	// The fields below belong to the call in flight.
	ctx        context.Context // nil outside of calls
	failed     error           // why the last failed request has failed
	bootFailed error           // why the boot override was not set; nil if it was
	system     *system         // the system, once it was read; otherwise nil
}

var (
	errNoCall = errors.New("the driver sends a request outside of a call")
	// errNotRead: a link to the system leads to a resource that the guard makes.
	errNotRead error = failure.Protocolf("the driver has not read the system")
)

// call calls f, which uses the driver. The driver's requests have a context that never
// ends; the guard's requests to the BMC use ctx. The error is that of the failed
// request to the BMC, if one failed.
func (g *redfishGuard) call(ctx context.Context, f func() error) error {
	g.mu.Lock()
	g.ctx, g.failed, g.bootFailed, g.system = ctx, nil, nil, nil
	g.mu.Unlock()
	err := guarded(f)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ctx = nil
	if err != nil && g.failed != nil {
		return g.failed
	}
	return err
}

// RoundTrip implements [http.RoundTripper]. An answer that the driver must not see is a
// 502.
func (g *redfishGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ctx == nil:
		return nil, errNoCall
	case g.service.lost != nil:
		return nil, g.service.lost
	}
	resp, err := g.serve(req)
	if err == nil {
		return resp, nil
	}
	g.failed = err
	if g.service.lost == nil && req.Method == http.MethodGet {
		return respond(req, http.StatusBadGateway, map[string]any{})
	}
	return nil, err
}

func (g *redfishGuard) serve(req *http.Request) (*http.Response, error) {
	path := req.URL.RequestURI()
	asked := req.Method + " " + path
	switch {
	case req.URL.Host != guardHost+":"+guardPort || req.URL.User != nil:
		return nil, failure.Protocolf("the driver asks another host")
	case asked == "GET "+serviceRoot && g.root:
		return g.serveRoot(req)
	case asked == "POST "+guardSessions:
		return g.serveLogin(req)
	case asked == "GET "+guardSystems:
		if err := g.service.findSystem(g.ctx); err != nil {
			return nil, err
		}
		return respond(req, http.StatusOK, map[string]any{"Members": []odataLink{{g.service.system}}})
	case asked == "GET "+g.service.system:
		return g.serveSystem(req)
	case g.slot != nil && req.Method == http.MethodGet:
		return g.serveSlot(req, path)
	case g.slot != nil && req.Method == http.MethodPost && path != "" && (path == g.slot.insert || path == g.slot.eject):
		return g.pass(req, path)
	case g.system != nil && asked == "PATCH "+g.system.answer.path:
		return g.serveBoot(req)
	case g.system != nil && req.Method == http.MethodPost:
		return g.serveReset(req, path)
	}
	return nil, failure.Protocolf("the driver asks for %s", asked)
}

// serveRoot shows the service root, with the guard's own collections. gofish asks for
// it again where a link is empty, and is refused.
func (g *redfishGuard) serveRoot(req *http.Request) (*http.Response, error) {
	a, err := g.service.readRoot(g.ctx)
	if err != nil {
		return nil, err
	}
	g.root = false
	root, err := g.service.filter(a, new(gofish.Service))
	if err != nil {
		return nil, err
	}
	g.service.root = maps.Clone(root)
	guard.Set(root, "Systems", odataLink{guardSystems})
	guard.Set(root, "Managers", odataLink{guardManagers})
	guard.Set(root, "Links", map[string]any{"Sessions": odataLink{guardSessions}})
	return respond(req, http.StatusOK, root)
}

// serveLogin logs in. The driver's user is "none", and its token too.
func (g *redfishGuard) serveLogin(req *http.Request) (*http.Response, error) {
	if err := g.service.login(g.ctx); err != nil {
		return nil, err
	}
	resp, err := respond(req, http.StatusCreated, map[string]any{})
	if err != nil {
		return nil, err
	}
	resp.Header.Set("X-Auth-Token", "none")
	resp.Header.Set("Location", guardSession)
	return resp, nil
}

func (g *redfishGuard) serveSystem(req *http.Request) (*http.Response, error) {
	system, err := g.service.readSystem(g.ctx)
	if err != nil {
		return nil, err
	}
	resource, err := g.service.filter(system.answer, new(redfish.ComputerSystem))
	if err != nil {
		return nil, err
	}
	g.system = system
	resp, err := respond(req, http.StatusOK, resource)
	if err == nil {
		resp.Header["Etag"] = system.answer.header["Etag"]
	}
	return resp, err
}

// filter returns what gofish may read of an answer, which it decodes into a value.
func (s *service) filter(a *answer, into json.Unmarshaler) (map[string]any, error) {
	resource, err := guard.Resource(a.body, guard.Rules{
		Path: a.path,
		Follow: func(link string) (string, bool) {
			path, err := s.follow(a.path, link)
			return path, err == nil
		},
		Decode: into.UnmarshalJSON,
	})
	if err != nil {
		return nil, failure.Protocolf("%v: %v", a.request, err)
	}
	return resource, nil
}

// serveSlot shows the slot of virtual media as that of the only manager.
func (g *redfishGuard) serveSlot(req *http.Request, path string) (*http.Response, error) {
	one := func(link string) any { return map[string]any{"Members": []odataLink{{link}}} }
	shown, ok := map[string]any{
		guardManagers: one(guardManager),
		guardManager:  map[string]any{"@odata.id": guardManager, "VirtualMedia": odataLink{guardMedia}},
		guardMedia:    one(g.slot.path),
		g.slot.path:   g.slot.found,
	}[path]
	if !ok {
		return nil, failure.Protocolf("the driver asks for GET %s", path)
	}
	return respond(req, http.StatusOK, shown)
}

// serveReset passes on a reset, to no other target than the system's.
func (g *redfishGuard) serveReset(req *http.Request, path string) (*http.Response, error) {
	action, err := g.system.resetAction()
	if err != nil {
		return nil, err
	}
	target, err := g.service.follow(g.system.answer.path, action.Target)
	if err != nil || path != target {
		return nil, failure.Protocolf("the driver asks for POST %s", path)
	}
	return g.pass(req, path)
}

// pass passes on an action.
func (g *redfishGuard) pass(req *http.Request, path string) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r := request{method: http.MethodPost, path: path, header: http.Header{"If-Match": req.Header["If-Match"]}, body: body}
	if _, err := g.service.ask(g.ctx, r); err != nil {
		return nil, err
	}
	return respond(req, http.StatusOK, map[string]any{})
}

func respond(req *http.Request, status int, resource any) (*http.Response, error) {
	body, err := json.Marshal(resource)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status:        http.StatusText(status),
		StatusCode:    status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       req,
	}, nil
}
