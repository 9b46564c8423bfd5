// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/secret"
)

// service is a BMC that answers as a test says.
type service struct {
	*httptest.Server
	connections chan http.ConnState // StateNew and StateClosed of each connection

	mu       sync.Mutex
	requests []string // method and path, with the credentials in parentheses
}

// start starts a BMC.
func start(t *testing.T, handler http.HandlerFunc) *service {
	t.Helper()
	s := &service{connections: make(chan http.ConnState, 1000)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := r.Method + " " + r.URL.RequestURI()
		if token := r.Header.Get("X-Auth-Token"); token != "" {
			request += " (" + token + ")"
		}
		if user, _, ok := r.BasicAuth(); ok {
			request += " (" + user + ")"
		}
		s.mu.Lock()
		s.requests = append(s.requests, request)
		s.mu.Unlock()
		handler(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew || state == http.StateClosed {
			s.connections <- state
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// seen returns the requests since the last call.
func (s *service) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// client returns a client of the BMC that has begun an operation.
func (s *service) client(set ...func(*Config)) *Client {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	config := Config{
		Address: s.Listener.Addr().String(), TLS: &tls.Config{RootCAs: pool, ServerName: "example.com", MinVersion: tls.VersionTLS12},
		User: "admin", Password: secret.New("a password"), Auth: AutoAuth,
		MaxBytes: 1 << 20, MaxAnswerBytes: 1 << 16, MaxRequests: 10, MaxMembers: 10,
		Scrubber: failure.NewScrubber("admin"),
	}
	for _, set := range set {
		set(&config)
	}
	c := New(config)
	c.Begin()
	return c
}

// nowhere is a setting of an address at which nobody listens. A port that was closed may be given to another program.
func nowhere(c *Config) { c.Address = "127.0.0.1:1" }

// object answers with a JSON text.
func object(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// resources answers each GET of a path with a JSON text, and all else with 404.
func resources(of map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, ok := of[r.URL.RequestURI()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		object(w, text)
	}
}

// raw answers with a text and closes the connection, of which a header says nothing.
func raw(w http.ResponseWriter, text string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_, _ = io.WriteString(conn, text)
		_ = conn.Close()
	}
}

// kindOf returns the kind of an error of this package.
func kindOf(t *testing.T, err error) verify.Kind {
	t.Helper()
	require.Error(t, err)
	return failure.KindOf(err)
}

func TestRequestsShareAConnectionUntilTheEnd(t *testing.T) {
	s := start(t, resources(map[string]string{"/a": `{"Name": "first"}`, "/b": "{}"}))
	c := s.client()
	a, answer, err := c.Get(t.Context(), "/a")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status)
	var name string
	require.NoError(t, a.Get("Name", &name))
	require.Equal(t, "first", name)
	require.NoError(t, a.Get("Other", &name))
	require.Equal(t, "first", name, "an absent property changes nothing")
	require.EqualError(t, a.Get("Name", new(int)), "the property Name: json: cannot unmarshal string into Go value of type int")
	_, _, err = c.Get(t.Context(), "/b")
	require.NoError(t, err)
	require.Equal(t, http.StateNew, <-s.connections)
	require.Empty(t, s.connections)
	c.Close(t.Context())
	require.Equal(t, http.StateClosed, <-s.connections)
}

func TestAResourceIsAnObject(t *testing.T) {
	s := start(t, resources(map[string]string{"/null": "null", "/list": "[]", "/half": "{"}))
	c := s.client()
	for path, want := range map[string]string{
		"/null": "GET /null: the answer is null, and should be a JSON object",
		"/list": "GET /list: json: cannot unmarshal array into Go value of type redfish.Object",
		"/half": "GET /half: unexpected end of JSON input",
	} {
		o, answer, err := c.Get(t.Context(), path)
		require.EqualError(t, err, want)
		require.Equal(t, verify.Protocol, kindOf(t, err))
		require.Nil(t, o)
		require.NotNil(t, answer)
	}
}

func TestAChangeHasTheConditionThatTheResourceIsAsItWasRead(t *testing.T) {
	var match, body, kind, accept string
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		require.NotContains(t, r.Header.Get("Accept-Encoding"), "identity", "some BMCs refuse it")
		match, body, kind, accept = r.Header.Get("If-Match"), string(text), r.Header.Get("Content-Type"), r.Header.Get("Accept")
		if r.URL.Path == "/tagged" {
			w.Header().Set("ETag", `"7"`)
		}
		if r.Method == http.MethodGet {
			object(w, "{}")
		}
	})
	c := s.client()
	for path, want := range map[string]string{"/tagged": `"7"`, "/untagged": ""} {
		_, answer, err := c.Get(t.Context(), path)
		require.NoError(t, err)
		require.Empty(t, kind)
		require.Equal(t, "application/json", accept)
		require.NoError(t, c.Change(t.Context(), answer, map[string]int{"a": 1}))
		require.Equal(t, want, match)
		require.Equal(t, `{"a":1}`, body)
		require.Equal(t, "application/json", kind)
		require.Contains(t, s.seen(), "PATCH "+path)
		require.Error(t, c.Change(t.Context(), answer, func() {}), "no JSON")
	}
	require.Empty(t, s.seen())
	require.NoError(t, c.Delete(t.Context(), "/tagged"))
	require.Equal(t, []string{"DELETE /tagged"}, s.seen())
}

// Some BMCs refuse the default port in the header Host, and some want the version of OData.
func TestARequestNamesTheHostAndTheVersionOfOData(t *testing.T) {
	var host, version string
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		host, version = r.Host, r.Header.Get("OData-Version")
		object(w, "{}")
	})
	c := s.client()
	for address, want := range map[string]string{
		"bmc:443": "bmc", "[2001:db8::1]:443": "[2001:db8::1]", "bmc:8443": "bmc:8443", "bmc:1443": "bmc:1443",
	} {
		c.origin = "https://" + address
		_, _, err := c.Get(t.Context(), "/a")
		require.NoError(t, err)
		require.Equal(t, want, host)
		require.Equal(t, "4.0", version)
	}
}

func TestAChangeNeedsThePermissionOfItsContext(t *testing.T) {
	s := start(t, resources(map[string]string{"/a": "{}"}))
	c := s.client()
	lost := failure.Reason("the reservation is lost")
	ctx := fence.With(t.Context(), func(context.Context) error { return lost })
	for range 2 { // over a new connection and an open one
		require.ErrorIs(t, c.Delete(ctx, "/a"), lost)
		_, _, err := c.Get(ctx, "/a")
		require.NoError(t, err)
		require.Equal(t, []string{"GET /a"}, s.seen())
	}
}

func TestAnOperationHasItsLimits(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, _ *http.Request) { object(w, `{"Name": "`+strings.Repeat("a", 1000)+`"}`) })
	c := s.client(func(c *Config) { c.MaxRequests = 2 })
	get := func() error { _, _, err := c.Get(t.Context(), "/a"); return err }
	require.NoError(t, get())
	require.NoError(t, get())
	require.NoError(t, c.Ended())
	require.ErrorIs(t, get(), errRequests)
	require.ErrorIs(t, c.Ended(), errRequests)
	require.Len(t, s.seen(), 2)
	c.Begin()
	require.NoError(t, c.Ended())
	require.NoError(t, get())
	for allowed, want := range map[int]int{3: 3, 1: 2} {
		c.AllowRequests(allowed)
		for range want {
			require.NoError(t, get())
		}
		require.ErrorIs(t, get(), errRequests)
	}

	c = s.client(func(c *Config) { c.MaxBytes = 10_000 }) // TLS takes some
	var err error
	for range 9 {
		if err = get(); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, errBytes)
	require.ErrorIs(t, get(), errBytes)
}

func TestABudgetIsSpentToItsEnd(t *testing.T) {
	b := budget{10, 2}
	for i, want := range []bool{true, true, false, false} {
		require.Equal(t, want, b.spend(5), i)
		require.Equal(t, want, b.request(), i)
	}
	require.False(t, (&budget{0, 1}).spent())
	require.True(t, (&budget{-1, 1}).spent())
	require.True(t, (&budget{1, 0}).spent())
}

func TestRedfishIsAbsentBeforeCredentialsAreSent(t *testing.T) {
	s := start(t, resources(map[string]string{"/a": "{}"}))
	c := s.client()
	_, err := c.ReadRoot(t.Context())
	require.ErrorIs(t, err, errNoRoot)
	require.True(t, c.Absent(err))
	require.True(t, c.Absent(fmt.Errorf("dial: %w", syscall.ECONNREFUSED)))
	require.False(t, c.Absent(errMembers))
	require.False(t, c.refused)
	c.basic = true
	_, _, getErr := c.Get(t.Context(), "/a")
	require.NoError(t, getErr)
	require.False(t, c.Absent(err), "credentials were sent")
}

func TestAServerWithoutARootHasNoRedfish(t *testing.T) {
	to := func(location string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
		}
	}
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<p>")
	}
	const noRoot = "there is no Redfish service root: "
	for name, test := range map[string]struct {
		root, elsewhere http.HandlerFunc // elsewhere answers at /login.html
		kind            verify.Kind
		absent          bool
		text            string
	}{
		"a page":            {to("/login.html"), page, verify.Protocol, true, noRoot + `GET /login.html: "text/html" is not JSON`},
		"nothing":           {to("/login.html"), http.NotFound, verify.Unsupported, true, noRoot + "GET /login.html: 404 Not Found"},
		"an empty answer":   {to("/login.html"), status(204), verify.Protocol, true, noRoot + "GET /login.html: unexpected end of JSON input"},
		"a log-in":          {to("/login.html"), status(401), verify.Credentials, true, noRoot + "GET /login.html: 401 Unauthorized"},
		"busy elsewhere":    {to("/login.html"), status(503), verify.Unreachable, false, "GET /login.html: 503 Service Unavailable"},
		"another host":      {to("https://other/"), nil, verify.Protocol, true, noRoot + "GET /redfish/v1/: the BMC sends us to another host"},
		"a loop":            {to(Root), nil, verify.Protocol, true, noRoot + "GET /redfish/v1/: too many redirects"},
		"no location":       {to(""), nil, verify.Protocol, true, noRoot + "GET /redfish/v1/: the BMC's link is malformed"},
		"credentials":       {status(401), nil, verify.Credentials, true, noRoot + "GET /redfish/v1/: 401 Unauthorized"},
		"other credentials": {status(403), nil, verify.Credentials, true, noRoot + "GET /redfish/v1/: 403 Forbidden"},
		"locked": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "the account is locked")
		}, nil, verify.Locked, false, "GET /redfish/v1/: 403 Forbidden"},
		"broken": {status(500), nil, verify.Protocol, false, "GET /redfish/v1/: 500 Internal Server Error"},
		"busy":   {status(503), nil, verify.Unreachable, false, "GET /redfish/v1/: 503 Service Unavailable"},
	} {
		s := start(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/login.html" {
				test.elsewhere(w, r)
				return
			}
			test.root(w, r)
		})
		for _, alternative := range []bool{false, true} {
			c := s.client(func(c *Config) { c.MaxRequests, c.Alternative = 4, alternative }) // of a repeated request, too
			_, err := c.ReadRoot(t.Context())
			kind := test.kind
			if alternative && kind == verify.Credentials {
				kind = verify.Unsupported
			}
			require.Equal(t, kind, kindOf(t, err), name)
			require.EqualError(t, err, test.text, name)
			require.Equal(t, test.absent, c.Absent(err), name)
		}
	}
}

func TestRefusedCredentialsAreNotSentAgain(t *testing.T) {
	for status, refused := range map[int]bool{401: true, 403: false, 500: false} {
		s := start(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		c := s.client()
		c.basic = true
		for range 2 {
			_, _, err := c.Get(t.Context(), "/a")
			require.Error(t, err)
		}
		require.Equal(t, refused, c.refused)
		want := []string{"GET /a (admin)", "GET /a (admin)"}
		if refused {
			want = want[:1]
		}
		require.Equal(t, want, s.seen())
	}
}

func TestAResourceThatTheCallerCanDoWithoutMayBeUnreadable(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		ok     bool
	}{
		"it is there":     {resources(map[string]string{"/a": "{}"}), true},
		"it is not":       {status(404), true},
		"it fails":        {status(500), true},
		"it is no JSON":   {resources(map[string]string{"/a": "null"}), true},
		"it is refused":   {status(401), false},
		"nothing answers": {func(w http.ResponseWriter, _ *http.Request) { raw(w, "") }, false},
	} {
		c := start(t, test.answer).client()
		c.basic, c.system = true, "/a"
		o, a, err := c.Optional(t.Context(), "/a")
		require.Equal(t, test.ok, err == nil, "%s: %v", name, err)
		require.Equal(t, name == "nothing answers", a == nil, name)
		require.Equal(t, name == "it is there", o != nil, name)
	}
}

func TestCredentialsMayBeRefusedAtOneResource(t *testing.T) {
	for _, test := range []struct {
		status int
		basic  bool
		kind   verify.Kind
	}{
		{http.StatusUnauthorized, false, verify.Credentials}, {http.StatusUnauthorized, true, verify.Credentials},
		{http.StatusForbidden, false, verify.Forbidden},
	} {
		everywhere, unauthorized := false, test.status == http.StatusUnauthorized
		s := start(t, func(w http.ResponseWriter, r *http.Request) {
			if everywhere || r.URL.Path == "/a" {
				w.WriteHeader(test.status)
				return
			}
			object(w, "{}")
		})
		c := s.client()
		c.system = "/system"
		if c.basic = test.basic; !c.basic {
			c.session = &session{token: secret.New("token")}
		}
		_, _, err := c.Get(t.Context(), c.system)
		require.NoError(t, err)
		_, _, err = c.Get(t.Context(), "/a")
		require.Error(t, err)
		require.Equal(t, unauthorized, c.refused)
		require.NoError(t, c.Recheck(t.Context()))
		require.NoError(t, c.Recheck(t.Context()))
		require.Len(t, s.seen(), 3)

		_, _, err = c.Optional(t.Context(), "/a")
		require.NoError(t, err)
		require.False(t, c.refused)
		everywhere = true
		_, _, err = c.Optional(t.Context(), "/a")
		require.ErrorContains(t, err, "/system")
		require.Equal(t, test.kind, kindOf(t, err))
		require.Equal(t, unauthorized, c.refused)
	}
}

// refusing returns a context that permits no change.
func refusing(t *testing.T) context.Context {
	return fence.With(t.Context(), func(context.Context) error { return failure.Reason("the reservation is lost") })
}
