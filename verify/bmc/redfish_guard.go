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

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/guard"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// These are the paths that the guard answers itself.
const (
	guardHost     = "guard"
	guardPort     = "443"
	guardSessions = redfish.Root + "SessionService/Sessions"
	guardSession  = guardSessions + "/1"
	guardSystems  = redfish.Root + "Systems"
)

// redfishGuard stands between bmclib's driver and the BMC. It is the [http.RoundTripper] of the driver, which reads the
// BMC's answers as package guard leaves them. The guard logs in in the driver's place, shows it one system, and passes
// on no changes. It sends one request at a time, and none after one that has no answer.
type redfishGuard struct {
	client   *redfish.Client
	mu       sync.Mutex // gofish has goroutines
	rootRead bool       // the service root was read, and the driver may not read it again
	root     resource   // the service root, once it was read
	path     string     // the path of the system, once the driver has seen it

	// The fields below belong to the call in flight.
	ctx    context.Context // nil outside of calls
	failed error           // why the last failed request has failed
	system *system         // the system, once it was read; otherwise nil
}

var (
	errNoCall = errors.New("the driver sends a request outside of a call")
	// errNotRead: a link to the system leads to a resource that the guard makes.
	errNotRead error = failure.Protocolf("the driver has not read the system")
)

// call calls f, which uses the driver. The driver's requests have a context that never
// ends; the guard's requests to the BMC use ctx. If a request to the
// BMC failed, call returns that request's error.
func (g *redfishGuard) call(ctx context.Context, f func() error) error {
	g.mu.Lock()
	g.ctx, g.failed, g.system = ctx, nil, nil
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

// RoundTrip implements [http.RoundTripper]. An answer to a GET that the driver must not see, or that did not come, is a
// 502.
func (g *redfishGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ctx == nil:
		return nil, errNoCall
	case g.client.Lost() != nil:
		return nil, g.client.Lost()
	}
	resp, err := g.serve(req)
	if err == nil {
		return resp, nil
	}
	g.failed = err
	if req.Method == http.MethodGet {
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
	case asked == "GET "+redfish.Root && !g.rootRead:
		return g.serveRoot(req)
	case asked == "POST "+guardSessions:
		return g.serveLogin(req)
	case asked == "GET "+guardSystems:
		path, err := g.client.System(g.ctx)
		if err != nil {
			return nil, err
		}
		g.path = path
		return respond(req, http.StatusOK, map[string]any{"Members": []redfish.Link{{ID: path}}})
	case asked == "GET "+g.path:
		return g.serveSystem(req)
	}
	return nil, failure.Protocolf("the driver asks for %s", asked)
}

// serveRoot shows the service root, with the guard's own collections. gofish asks for
// it again where a link is empty, and is refused.
func (g *redfishGuard) serveRoot(req *http.Request) (*http.Response, error) {
	a, err := g.client.ReadRoot(g.ctx)
	if err != nil {
		return nil, err
	}
	g.rootRead = true
	root, err := filter(g.client, a, new(schemas.Service))
	if err != nil {
		return nil, err
	}
	g.root = maps.Clone(root)
	guard.Set(root, "Systems", redfish.Link{ID: guardSystems})
	guard.Set(root, "Links", map[string]any{"Sessions": redfish.Link{ID: guardSessions}})
	return respond(req, http.StatusOK, root)
}

// serveLogin logs in. The driver's user is "none", and it gets no token.
func (g *redfishGuard) serveLogin(req *http.Request) (*http.Response, error) {
	if err := g.client.Login(g.ctx); err != nil {
		return nil, err
	}
	resp, err := respond(req, http.StatusCreated, map[string]any{})
	if err != nil {
		return nil, err
	}
	resp.Header.Set("Location", guardSession)
	return resp, nil
}

func (g *redfishGuard) serveSystem(req *http.Request) (*http.Response, error) {
	system, err := readSystem(g.ctx, g.client)
	if err != nil {
		return nil, err
	}
	resource, err := filter(g.client, system.answer, new(schemas.ComputerSystem))
	if err != nil {
		return nil, err
	}
	g.system = system
	return respond(req, http.StatusOK, resource)
}

// filter returns what gofish may read of an answer, which it decodes into a value.
func filter(client *redfish.Client, a *redfish.Answer, into json.Unmarshaler) (map[string]any, error) {
	resource, err := guard.Resource(a.Body, guard.Rules{
		Path: a.Request.Path,
		Follow: func(link string) (string, bool) {
			path, err := client.Follow(a.Request.Path, link)
			return path, err == nil
		},
		Decode: into.UnmarshalJSON,
	})
	if err != nil {
		return nil, failure.Protocolf("%v: %v", a.Request, err)
	}
	return resource, nil
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
