package bmc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// The paths of the service that the driver sees.
const (
	modelSessions = serviceRoot + "SessionService/Sessions"
	modelSession  = modelSessions + "/1"
	modelSystems  = serviceRoot + "Systems"
	modelSystem   = modelSystems + "/1"
	modelReset    = modelSystem + "/Actions/ComputerSystem.Reset"
)

// model is the Redfish service that bmclib's driver sees: always the same few
// resources, with one system that represents the BMC's. The BMC's own answers never
// reach the driver: its library, gofish, has no bounds, and on malformed answers it
// dereferences nil and races in its own goroutines. A model is an [http.RoundTripper]
// and holds no secret.
type model struct {
	service *service
	serving atomic.Pointer[func(*http.Request) (*http.Response, error)]

	// Of the call under way:
	system     *system // the system, once it was read; otherwise nil
	bootFailed error   // why the boot override was not set; nil if it was
}

var errNoCall = errors.New("the driver sends a request outside of a call")

// call calls f, which uses the driver. The driver's requests have a context that never
// ends; the model's requests to the BMC use ctx. The error is that of the failed
// request to the BMC, if one failed.
func (m *model) call(ctx context.Context, f func() error) error {
	m.system, m.bootFailed = nil, nil
	var failed error
	serve := func(req *http.Request) (*http.Response, error) {
		resp, err := m.serve(ctx, req)
		if err != nil {
			failed = err
		}
		return resp, err
	}
	m.serving.Store(&serve)
	defer m.serving.Store(nil)
	err := guarded(f)
	if err != nil && failed != nil {
		return failed
	}
	return err
}

// RoundTrip implements [http.RoundTripper].
func (m *model) RoundTrip(req *http.Request) (*http.Response, error) {
	serve := m.serving.Load()
	if serve == nil {
		return nil, errNoCall
	}
	return (*serve)(req)
}

func (m *model) serve(ctx context.Context, req *http.Request) (*http.Response, error) {
	switch req.Method + " " + req.URL.Path {
	case "GET " + serviceRoot:
		if err := m.service.readRoot(ctx); err != nil {
			return nil, err
		}
		return respond(req, http.StatusOK, map[string]any{
			"Systems": odataLink{modelSystems},
			"Links":   map[string]any{"Sessions": odataLink{modelSessions}},
		})
	case "POST " + modelSessions:
		if err := m.service.login(ctx); err != nil {
			return nil, err
		}
		resp, err := respond(req, http.StatusCreated, map[string]any{})
		if err != nil {
			return nil, err
		}
		resp.Header.Set("X-Auth-Token", "none")
		resp.Header.Set("Location", modelSession)
		return resp, nil
	case "GET " + modelSystems:
		return respond(req, http.StatusOK, map[string]any{"Members": []odataLink{{modelSystem}}})
	case "GET " + modelSystem:
		return m.serveSystem(ctx, req)
	case "POST " + modelReset:
		return m.serveReset(ctx, req)
	case "PATCH " + modelSystem:
		return m.serveBoot(ctx, req)
	}
	return nil, garbled("the driver asks for " + req.Method + " " + req.URL.Path)
}

// serveSystem leaves malformed properties out: an operation that needs one returns an
// error.
func (m *model) serveSystem(ctx context.Context, req *http.Request) (*http.Response, error) {
	system, err := m.service.readSystem(ctx)
	if err != nil {
		return nil, err
	}
	m.system = system
	var power string
	_ = system.get("PowerState", &power)
	boot, _ := system.boot()
	action, _ := system.resetAction()
	if action.Target != "" {
		action.Target = modelReset
	}
	return respond(req, http.StatusOK, map[string]any{
		"@odata.id":  modelSystem,
		"PowerState": power,
		"Boot":       boot,
		"Actions":    map[string]any{"#ComputerSystem.Reset": action},
	})
}

func (m *model) serveReset(ctx context.Context, req *http.Request) (*http.Response, error) {
	var asked struct{ ResetType string }
	if err := json.NewDecoder(req.Body).Decode(&asked); err != nil {
		return nil, err
	}
	if err := m.service.reset(ctx, m.system, asked.ResetType); err != nil {
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
