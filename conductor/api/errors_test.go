// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// unbootable is hardware whose boot device cannot be read.
type unbootable struct {
	*conductor.Fake
	read func() error
}

func (h unbootable) BootDevice(context.Context, *conductor.Node) (string, bool, error) {
	return "", false, h.read()
}

func TestTheStatusOfAnErrorOfTheHardware(t *testing.T) {
	for name, test := range map[string]struct {
		read   func() error
		status int
		code   string
		text   string
		logged string
	}{
		"another error": {
			func() error { return errors.New("no answer") }, 500, "Server", "no answer",
			`msg="a request failed" method=GET path=/v1/nodes/n/management/boot_device error=`,
		},
		"an operation that the hardware has not": {
			func() error { return fmt.Errorf("boot device: %w", errors.ErrUnsupported) }, 400, "Client", "boot device: unsupported operation", "",
		},
		"a BMC that is too slow": {
			func() error { return context.DeadlineExceeded }, 503, "Server", "The request took too long.", "",
		},
		"a request that was cancelled": {
			func() error { return context.Canceled }, 503, "Server", "The request took too long.", "",
		},
		"a node that is locked": {
			func() error { return &conductor.Error{Reason: conductor.Locked, Text: "locked"} }, 409, "Client", "locked", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := startWith(t, states.Latest(), api.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, map[string]conductor.Hardware{
				"unbootable": unbootable{&conductor.Fake{}, test.read},
			})
			s.create(`{"driver": "unbootable", "name": "n"}`)
			a := s.do("GET", "/v1/nodes/n/management/boot_device", "latest", "")
			require.Equal(t, test.status, a.status)
			require.Equal(t, test.text, a.fault())
			require.Contains(t, a.body, `\"faultcode\":\"`+test.code+`\"`)
			require.Equal(t, test.status == http.StatusServiceUnavailable, a.header.Get("Retry-After") == "1")
			if test.logged == "" {
				require.Empty(t, log.String())
				return
			}
			require.Contains(t, log.String(), test.logged)
		})
	}
}

// readOnly is a store that refuses updates while the test says so.
type readOnly struct {
	conductor.Memory
	on atomic.Bool
}

func (s *readOnly) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if s.on.Load() {
		return 0, errors.New("etcd at 192.0.2.1 is read-only")
	}
	return s.Memory.Update(ctx, r)
}

func TestAnErrorOfTheStoreIsNotShownAsOneOfTheHardware(t *testing.T) {
	store := &readOnly{}
	c, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": &slotted{}}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	require.NoError(t, c.Ready(ctx))
	s := &server{t: t, conductor: c, Handler: api.New(c, api.Config{})}
	n := s.create(`{"driver": "fake-hardware"}`)
	store.on.Store(true)
	for _, r := range []struct{ method, path, body string }{
		{"PUT", "/management/boot_device", `{"boot_device": "pxe"}`},
		{"GET", "/management/boot_device", ""},
		{"PUT", "/management/inject_nmi", `{}`},
		{"PUT", "/states/boot_mode", `{"target": "bios"}`},
	} {
		a := s.do(r.method, "/v1/nodes/"+n+r.path, "latest", r.body)
		require.Equal(t, http.StatusInternalServerError, a.status, "%s %s: %s", r.method, r.path, a.body)
		require.Equal(t, "Internal server error.", a.fault())
	}
}

// tooSlow is hardware whose answer comes too late: it may have carried the request out.
type tooSlow struct{ slotted }

func (*tooSlow) InjectNMI(context.Context, *conductor.Node) error { return context.DeadlineExceeded }

func (*tooSlow) BootDevice(context.Context, *conductor.Node) (string, bool, error) {
	return "", false, context.DeadlineExceeded
}

func (*tooSlow) VendorMethods(*conductor.Node) map[string]conductor.VendorMethod {
	return map[string]conductor.VendorMethod{"subscribe": {HTTPMethods: []string{"POST"}}, "eject": {HTTPMethods: []string{"DELETE"}}}
}

func (*tooSlow) CallVendor(context.Context, *conductor.Node, string, map[string]any) (any, error) {
	return nil, context.DeadlineExceeded
}

// unanswering is a store that does each write, and does not answer in time.
type unanswering struct {
	conductor.Memory
	on atomic.Bool
}

func (s *unanswering) Create(ctx context.Context, r conductor.Record) (int64, error) {
	revision, err := s.Memory.Create(ctx, r)
	if s.on.Load() {
		return 0, fmt.Errorf("etcd has not answered within 15s: %w", context.DeadlineExceeded)
	}
	return revision, err
}

func TestAChangeThatMayHaveBeenDoneIsNotRepeatedByIronicsClients(t *testing.T) {
	t.Parallel()
	store := &unanswering{}
	s := startWith(t, states.Latest(), api.Config{}, map[string]conductor.Hardware{"slow": &tooSlow{}},
		func(c *conductor.Config) { c.Store = store })
	n := "/v1/nodes/" + s.create(`{"driver": "slow"}`)
	store.on.Store(true)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"PUT", n + "/management/inject_nmi", `{}`, http.StatusGatewayTimeout},
		{"POST", n + "/vendor_passthru?method=subscribe", `{}`, http.StatusGatewayTimeout},
		{"DELETE", n + "/vendor_passthru?method=eject", "", http.StatusGatewayTimeout},
		{"POST", "/v1/nodes", `{"driver": "slow"}`, http.StatusGatewayTimeout},
		{"GET", n + "/management/boot_device", "", http.StatusServiceUnavailable},
	} {
		a := s.do(c.method, c.path, "latest", c.body)
		require.Equal(t, c.status, a.status, "%s %s: %s", c.method, c.path, a.body)
		require.Equal(t, c.status == http.StatusServiceUnavailable, a.header.Get("Retry-After") != "", "%s %s", c.method, c.path)
		if c.status == http.StatusGatewayTimeout {
			require.Equal(t, "The request took too long, and may have been done or not: read before you repeat it.", a.fault())
		}
	}
	for method, want := range map[string]int{"HEAD": 503, "GET": 503, "POST": 504, "PUT": 504, "PATCH": 504, "DELETE": 504} {
		require.Equal(t, want, fault.OfRequest(method, context.Canceled).Status, method)
		require.Equal(t, 409, fault.OfRequest(method, &conductor.Error{Reason: conductor.Locked}).Status, method)
	}
}

func TestLinksHaveThePublicURLAndTheLogIsOptional(t *testing.T) {
	s := start(t, states.Latest(), api.Config{PublicURL: "https://metal.example.org/"})
	require.Equal(t, http.StatusInternalServerError, s.send(request("POST", "/v1/nodes", "latest", exploding{})).status)
	a := s.do("POST", "/v1/nodes", "latest", `{"driver": "fake-hardware"}`)
	links := a.must(http.StatusCreated)["links"].([]any)
	require.True(t, strings.HasPrefix(links[0].(map[string]any)["href"].(string), "https://metal.example.org/v1/nodes/"))
	require.True(t, strings.HasPrefix(a.header.Get("Location"), "https://metal.example.org/v1/nodes/"))
}

func TestOPTIONSIsAnsweredWithoutABodyExceptForTheRoot(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	a := s.do("OPTIONS", "/v1/nodes", "", "")
	require.Equal(t, http.StatusOK, a.status)
	require.Empty(t, a.body)
	require.Equal(t, "OpenStack Ironic API", s.do("OPTIONS", "/", "", "").must(http.StatusOK)["name"])
}

func TestAPageHasAtMostTheLimitOfTheConfiguration(t *testing.T) {
	for limit, want := range map[int]int{0: 4, -1: 4, 3: 3} {
		s := start(t, states.Latest(), api.Config{MaxLimit: limit})
		for range 4 {
			s.create(`{"driver": "fake-hardware"}`)
		}
		require.Len(t, s.do("GET", "/v1/nodes?limit=100", "latest", "").must(http.StatusOK)["nodes"], want)
	}
}

func TestTheTextOfAnErrorIsShownIfItIsForTheClient(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
		text   string
	}{
		{errors.New("a secret"), 500, "Internal server error."},
		{&admission.Refusal{Request: "rescue", Reason: admission.Reason(200)}, 0, "rescue"},
		{&conductor.Error{Reason: conductor.Locked, Text: "locked"}, 409, "locked"},
		{&conductor.Error{Reason: conductor.NoRunbook, Text: "no runbook"}, 500, "no runbook"},
		{&conductor.Error{Text: "a secret"}, 500, "Internal server error."},
		{fmt.Errorf("boot mode: %w", errors.ErrUnsupported), 400, "boot mode: unsupported operation"},
		{context.Canceled, 503, "The request took too long."},
		{fmt.Errorf("read: %w", context.DeadlineExceeded), 503, "The request took too long."},
		{fmt.Errorf("more: %w", fault.NotFound("no %s", "node")), 404, "no node"},
	} {
		f := fault.Of(test.err)
		if test.status == 0 {
			test.status, test.text = conductor.HTTPStatus(test.err), test.err.Error()
			require.Equal(t, http.StatusInternalServerError, test.status)
		}
		require.Equal(t, test.status, f.Status, "%v", test.err)
		require.Equal(t, test.text, f.Text)
	}
}

func TestAFaultRepeatsAtMost4096BytesOfARequest(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	for length, suffix := range map[int]string{4096: "", 4097: "..."} {
		name := strings.Repeat("a", length-1)
		require.Equal(t, "Expected UUID or name for event: "+(" " + name)[:4096]+suffix,
			s.do("GET", "/v1/nodes/n/history/%20"+name, "latest", "").fault())
	}
}
