// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
)

func TestALinkLeadsToThisHostOnly(t *testing.T) {
	const malformed, elsewhere = "the BMC's link is malformed", "the BMC sends us to another host"
	for _, test := range []struct {
		address, base, link string
		want                string
		err                 string // empty for none
	}{
		{"bmc:443", "", "/redfish/v1/Systems/1", "/redfish/v1/Systems/1", ""},
		{"bmc:443", "", "Systems/1", "/redfish/v1/Systems/1", ""},
		{"bmc:443", "", "?page=2", "/redfish/v1/?page=2", ""},
		{"bmc:443", "", "/a%2Fb?x=%20", "/a%2Fb?x=%20", ""},
		{"bmc:443", "", "https://bmc/a", "/a", ""},
		{"bmc:443", "", "https://BMC:443/a", "/a", ""},
		{"bmc:443", "", "//bmc/a", "/a", ""},
		{"bmc:443", "", "https://bmc", "/", ""},
		{"bmc:8443", "", "https://bmc:8443/a", "/a", ""},
		{"[2001:db8::1]:443", "", "https://[2001:DB8::1]/a", "/a", ""},
		{"bmc:443", "/proxy", "/redfish/v1/Systems/1", "/redfish/v1/Systems/1", ""},
		{"bmc:443", "/proxy", "/proxy/redfish/v1/Systems/1", "/redfish/v1/Systems/1", ""},
		{"bmc:443", "/proxy", "Systems/1", "/redfish/v1/Systems/1", ""},
		{"bmc:443", "/proxy", "/proxies/1", "/proxies/1", ""},

		{"bmc:443", "", "", "", malformed},
		{"bmc:443", "", "%zz", "", malformed},
		{"bmc:443", "", "https:bmc", "", malformed},
		{"bmc:443", "", "/a/%2e%2e/b", "", malformed},
		{"bmc:443", "", "https://other/a", "", elsewhere},
		{"bmc:443", "", "//other/a", "", elsewhere},
		{"bmc:443", "", "http://bmc:443/a", "", elsewhere},
		{"bmc:443", "", "https://bmc:8443/a", "", elsewhere},
		{"bmc:8443", "", "https://bmc/a", "", elsewhere},
		{"bmc:443", "", "https://admin@bmc/a", "", elsewhere},
	} {
		c := New(Config{Address: test.address, BasePath: test.base})
		got, err := c.Follow(Root, test.link)
		require.Equal(t, test.want, got, "%v", test)
		if test.err == "" {
			require.NoError(t, err, "%v", test)
			continue
		}
		require.EqualError(t, err, test.err, "%v", test)
		require.Equal(t, verify.Protocol, kindOf(t, err))
	}
	_, err := New(Config{Address: "bmc:443"}).Follow("/%zz", "/a")
	require.EqualError(t, err, "the path is malformed")
}

func TestAPathThatIsNoneIsNotSent(t *testing.T) {
	s := start(t, resources(nil))
	_, _, err := s.client().Get(t.Context(), "/%zz")
	require.EqualError(t, err, "GET /%zz: the path is malformed")
	require.Empty(t, s.seen())
}

func TestAGetIsRedirectedThreeTimes(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		next := map[string]string{"/4": "/3", "/3": "/2", "/2": "/1", "/1": "0", "/elsewhere": "https://other/", "/nowhere": ""}
		to, ok := next[r.URL.Path]
		if !ok {
			object(w, "{}")
			return
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	})
	c := s.client(func(c *Config) { c.MaxRequests = 100 })
	_, a, err := c.Get(t.Context(), "/3")
	require.NoError(t, err)
	require.Equal(t, "/0", a.Request.Path)
	require.Equal(t, []string{"GET /3", "GET /2", "GET /1", "GET /0"}, s.seen())
	_, a, err = c.Get(t.Context(), "/4")
	require.EqualError(t, err, "GET /0: too many redirects")
	require.NotNil(t, a)
	_, a, err = c.Get(t.Context(), "/elsewhere")
	require.ErrorContains(t, err, "the BMC sends us to another host")
	require.Equal(t, http.StatusFound, a.Status)
	_, _, err = c.Get(t.Context(), "/nowhere")
	require.ErrorContains(t, err, "malformed")
	s.seen()

	a, err = c.Do(t.Context(), Request{Method: http.MethodPost, Path: "/1"})
	require.EqualError(t, err, "POST /1: the BMC redirects a request that is no GET")
	require.Nil(t, a)
	require.Equal(t, []string{"POST /1"}, s.seen())
}

func TestARedirectThatKeepsTheMethodIsFollowedWithTheBody(t *testing.T) {
	for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect, http.StatusFound, http.StatusSeeOther} {
		for _, method := range []string{http.MethodPost, http.MethodPatch, http.MethodGet} {
			bodies := make(chan string, 10)
			s := start(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies <- string(body)
				if r.URL.Path == "/1/" {
					object(w, "{}")
					return
				}
				w.Header().Set("Location", map[string]string{"/1": "/1/", "/2": "/2"}[r.URL.Path])
				w.WriteHeader(status)
			})
			c := s.client(func(c *Config) { c.MaxRequests = 100 })
			about := fmt.Sprint(status, " ", method)
			a, err := c.Do(t.Context(), Request{Method: method, Path: "/1", Body: []byte(`{"a": 1}`)})
			if method != http.MethodGet && status < http.StatusTemporaryRedirect {
				require.ErrorContains(t, err, "redirects a request that is no GET", about)
				require.Equal(t, []string{method + " /1"}, s.seen(), about)
				continue
			}
			require.NoError(t, err, about)
			require.Equal(t, "/1/", a.Request.Path, about)
			require.Equal(t, []string{method + " /1", method + " /1/"}, s.seen(), about)
			require.Equal(t, `{"a": 1}`, <-bodies, about)
			require.Equal(t, `{"a": 1}`, <-bodies, about)
			_, err = c.Do(t.Context(), Request{Method: method, Path: "/2"})
			if method == http.MethodGet {
				require.ErrorContains(t, err, "too many redirects", about)
				require.Len(t, s.seen(), 4, about)
			} else {
				require.ErrorContains(t, err, "redirects the request to its own path", about)
				require.Len(t, s.seen(), 1, about)
			}
		}
	}
}

func TestAConnectionThatTheBMCClosesIsReplaced(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	for name, end := range map[string]http.HandlerFunc{
		"silently":         func(w http.ResponseWriter, _ *http.Request) { raw(w, answer) },
		"after more bytes": func(w http.ResponseWriter, _ *http.Request) { raw(w, answer+"HTTP/1.1 401 Unauthorized\r\n\r\n") },
		"as it says": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			object(w, "{}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, end)
			c := s.client()
			for _, method := range []string{http.MethodGet, http.MethodGet, http.MethodDelete, http.MethodPost, http.MethodPatch} {
				_, err := c.Do(t.Context(), Request{Method: method, Path: "/a"})
				require.NoError(t, err)
			}
			require.Equal(t, []string{"GET /a", "GET /a", "DELETE /a", "POST /a", "PATCH /a"}, s.seen())
		})
	}
}

// The BMC has read the request of which the answer is lacking.
func TestAChangeThatTheBMCMayHaveSeenIsNotRepeated(t *testing.T) {
	var ends atomic.Bool
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		if ends.Load() {
			raw(w, "")
			return
		}
		object(w, "{}")
	})
	for method, times := range map[string]int{http.MethodGet: 10, http.MethodDelete: 2, http.MethodPost: 1, http.MethodPatch: 1} {
		c := s.client()
		ends.Store(false)
		_, _, err := c.Get(t.Context(), "/a")
		require.NoError(t, err)
		ends.Store(true)
		s.seen()
		a, err := c.Do(t.Context(), Request{Method: method, Path: "/a"})
		require.ErrorIs(t, c.Ended(), err)
		require.EqualError(t, err, method+" /a: unexpected EOF")
		require.Nil(t, a)
		require.Len(t, s.seen(), times, method)
	}
}

func TestARequestEndsWithItsContext(t *testing.T) {
	for name, part := range map[string]string{
		"before the answer": "", "within the header": "HTTP/1.1 200 OK\r\n", "within the body": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			s := start(t, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, part)
				cancel()
				<-ended
				_ = conn.Close()
			})
			c := s.client()
			_, err := c.Do(ctx, Request{Method: http.MethodGet, Path: "/a"})
			close(ended)
			require.ErrorIs(t, err, context.Canceled)
			require.EqualError(t, err, "GET /a: context canceled")
			require.Len(t, s.seen(), 1)
		})
	}
}

func TestAnAnswerThatFailsOrAnEndRepeatsNothing(t *testing.T) {
	for path, want := range map[string]error{"/long": errAnswer, "/end": context.Canceled} {
		ctx, cancel := context.WithCancel(t.Context())
		s := start(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/end":
				cancel()
				raw(w, "")
			case "/long":
				object(w, `"`+strings.Repeat("a", 1000)+`"`)
			default:
				object(w, "{}")
			}
		})
		c := s.client(func(c *Config) { c.MaxAnswerBytes = 100 })
		_, err := c.Do(ctx, Request{Method: http.MethodGet, Path: "/a"})
		require.NoError(t, err)
		_, err = c.Do(ctx, Request{Method: http.MethodGet, Path: path})
		require.ErrorIs(t, err, want)
		require.Equal(t, []string{"GET /a", "GET " + path}, s.seen())
		c.Close(t.Context())
		cancel()
	}
}

func TestAHeaderThatIsCutOffByTheLimitIsNotMalformed(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		raw(w, "HTTP/1.1 200 OK\r\n"+strings.Repeat("A", 60_000)+": a\r\n\r\n")
	})
	c := s.client(func(c *Config) { c.MaxBytes = 20_000 })
	_, err := c.Do(t.Context(), Request{Method: http.MethodGet, Path: "/a"})
	require.ErrorIs(t, err, errBytes)
}

func TestARefusedChangeLeavesNoConnection(t *testing.T) {
	s := start(t, resources(map[string]string{"/a": "{}"}))
	c := s.client()
	_, _, err := c.Get(t.Context(), "/a")
	require.NoError(t, err)
	require.Error(t, c.Delete(refusing(t), "/a"))
	c.Close(t.Context())
	var changes []http.ConnState
	for range 4 {
		changes = append(changes, <-s.connections)
	}
	slices.Sort(changes)
	require.Equal(t, []http.ConnState{http.StateNew, http.StateNew, http.StateClosed, http.StateClosed}, changes)
}

func TestAnUnreachableBMCHasNoAnswer(t *testing.T) {
	s := start(t, resources(nil))
	c := s.client(nowhere)
	c.budget = budget{0, 1} // a dial reads nothing
	a, err := c.Do(t.Context(), Request{Method: http.MethodGet, Path: "/a"})
	require.Equal(t, verify.Unreachable, kindOf(t, err))
	require.Nil(t, a)
	require.Equal(t, err, c.Ended())
	c.Close(t.Context())
}

func TestACertificateThatIsNotTrustedEndsTheConnection(t *testing.T) {
	s := start(t, resources(nil))
	c := s.client(func(c *Config) { c.TLS.ServerName = "another.example" })
	_, err := c.Do(t.Context(), Request{Method: http.MethodGet, Path: "/a"})
	require.Equal(t, verify.TLS, kindOf(t, err))
	require.Empty(t, s.seen())
	require.Equal(t, http.StateNew, <-s.connections)
	require.Equal(t, http.StateClosed, <-s.connections)
}

func TestAnAnswerIsBounded(t *testing.T) {
	text := func(n int) string { return `"` + strings.Repeat("a", n-2) + `"` }
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		n, status := 0, 0
		_, _ = fmt.Sscanf(r.URL.Path, "/%d/%d", &status, &n)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if r.URL.RawQuery == "chunked" {
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, text(n))
	})
	for _, test := range []struct {
		status, size int
		limit        int64
		want         int // bytes of the body
		err          error
	}{
		{200, 1000, 0, 1000, nil},
		{200, 1001, 0, 0, errAnswer},
		{200, 1001, 1001, 1001, nil},
		{200, 1002, 1001, 0, errAnswer},
		{200, 1000, 1, 1000, nil}, // Limit does not lower the limit of the Config
		{500, 1001, 0, 1000, nil},
		{500, errorBytes + 1, errorBytes * 2, errorBytes, nil},
		{400, errorBytes + 1, errorBytes * 2, errorBytes, nil},
		{399, 1001, 0, 0, errAnswer},
		{400, 1001, 0, 1000, nil},
	} {
		for _, path := range []string{"/%d/%d", "/%d/%d?chunked"} {
			c := s.client(func(c *Config) { c.MaxAnswerBytes = 1000 })
			a, err := c.send(t.Context(), Request{Method: http.MethodGet, Path: fmt.Sprintf(path, test.status, test.size), Limit: test.limit})
			require.Len(t, a.Body, test.want, "%v", test)
			require.Equal(t, test.status, a.Status)
			require.NotEmpty(t, a.Header)
			if test.err != nil {
				require.ErrorIs(t, err, test.err)
			} else {
				require.NoError(t, err, "%v", test)
			}
			c.Close(t.Context())
		}
	}
}
