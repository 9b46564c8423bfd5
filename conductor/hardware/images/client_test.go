// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// site is a server that redirects from /to?URL to a URL, and answers /secret.
func site(t *testing.T, start func(http.Handler) *httptest.Server) *httptest.Server {
	t.Helper()
	s := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/to" {
			to, err := url.QueryUnescape(r.URL.RawQuery)
			require.NoError(t, err)
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "a secret")
	}))
	t.Cleanup(s.Close)
	return s
}

// SECURITY.md: A redirect is followed to the host and port that answers with it, or to hosts of `-image-host`, and none
// from https to http.
func TestARedirectLeadsToTheSameHostOrAnAllowedOne(t *testing.T) {
	here, other := site(t, httptest.NewServer), site(t, httptest.NewServer)
	secure := site(t, httptest.NewTLSServer)
	at := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	for name, c := range map[string]struct {
		from    *httptest.Server
		to      string
		allowed []string // beside the host and port of from
		want    string   // part of the error, empty for none
	}{
		"the same": {from: here, to: "/secret"},
		"another port": {from: here, to: other.URL,
			want: "it redirects to " + at(other) + ", which is neither the same host and port nor allowed"},
		"another name": {from: here, to: strings.Replace(here.URL, "127.0.0.1", "localhost", 1),
			want: "neither the same host and port nor allowed"},
		"an allowed port": {from: here, to: other.URL, allowed: []string{at(other)}},
		"an allowed host": {from: here, to: other.URL, allowed: []string{"127.0.0.1"}},
		"through an allowed one": {from: here, to: other.URL + "/to?http%3A%2F%2F127.0.0.2", allowed: []string{at(other)},
			want: "it redirects to 127.0.0.2:80"},
		"metadata of a cloud": {from: here, to: "http://169.254.169.254/", want: "it redirects to 169.254.169.254:80"},
		"to https":            {from: here, to: secure.URL, allowed: []string{"127.0.0.1"}},
		"from https":          {from: secure, to: here.URL, allowed: []string{"127.0.0.1"}, want: "it redirects from https to http"},
		"a file":              {from: here, to: "file:///etc/passwd", want: "neither the same host and port nor allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := NewClient(append(c.allowed, at(c.from))...)
			require.NoError(t, err)
			roots := secure.Client().Transport.(*http.Transport).TLSClientConfig
			client.Transport.(*route).direct.(*http.Transport).TLSClientConfig = roots
			answer, err := client.Get(c.from.URL + "/to?" + url.QueryEscape(c.to))
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, http.StatusOK, answer.StatusCode)
		})
	}
}

func TestRedirectsAreBounded(t *testing.T) {
	count := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count++
		http.Redirect(w, r, "/", http.StatusFound)
	}))
	defer s.Close()
	client, err := NewClient("127.0.0.1")
	require.NoError(t, err)
	_, err = client.Get(s.URL)
	require.ErrorContains(t, err, "it redirects more than 5 times")
	require.Equal(t, 6, count)
}

func TestTheHeaderOfAnAnswerIsBounded(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X", strings.Repeat("x", 2*maxHeaderBytes))
	}))
	defer s.Close()
	client, err := NewClient("127.0.0.1")
	require.NoError(t, err)
	_, err = client.Get(s.URL)
	require.ErrorContains(t, err, "server response headers exceeded")
}

// SECURITY.md: Nothing is downloaded from a loopback, link-local, multicast or unspecified address, whatever a name
// resolves to, unless `-image-host` or another flag names its host.
func TestNothingIsDownloadedFromSpecialAddresses(t *testing.T) {
	s := site(t, httptest.NewServer)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	for _, c := range []struct {
		host    string
		allowed []string
		refused bool
	}{
		{"127.0.0.1", nil, true},
		{"localhost", nil, true},
		{"0.0.0.0", nil, true},
		{"[::ffff:127.0.0.1]", nil, true},
		{"[::1]", nil, true},
		{"169.254.169.254", nil, true},
		{"[fe80::1]", nil, true},
		{"127.0.0.1", []string{"localhost", "127.0.0.2", "127.0.0.1:1"}, true},
		{"127.0.0.1", []string{"images.example", "127.0.0.1"}, false},
		{"127.0.0.1", []string{"127.0.0.1:" + port}, false},
		{"localhost", []string{"LocalHost"}, false},
	} {
		client, err := NewClient(c.allowed...)
		require.NoError(t, err)
		answer, err := client.Get("http://" + net.JoinHostPort(strings.Trim(c.host, "[]"), port) + "/secret")
		if c.refused {
			require.ErrorContains(t, err, "from which nothing is downloaded unless the host is allowed", c.host)
			continue
		}
		require.NoError(t, err, c.host)
		require.NoError(t, answer.Body.Close())
	}
}

func TestAProxyOfTheEnvironmentIsReachedAndSpecialAddressesAreNotThroughIt(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.String()) }))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	client := newClient(allowedHosts{}, func(*http.Request) (*url.URL, error) { return at, nil })
	answer, err := client.Get("http://images.example/kernel")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	_, err = client.Get("http://169.254.169.254/latest")
	require.ErrorContains(t, err, "from which nothing is downloaded")
	require.Equal(t, []string{"http://images.example/kernel"}, asked)
	client = newClient(allowedHosts{}, func(*http.Request) (*url.URL, error) { return nil, &url.Error{URL: "http://u:secret@p"} })
	_, err = client.Get("http://images.example/kernel")
	require.ErrorContains(t, err, "the proxy of the environment cannot be used")
	require.NotContains(t, err.Error(), "secret")
}

// resolveToLoopback makes every name resolve to 127.0.0.1 for the time of a test, and counts the lookups.
func resolveToLoopback(t *testing.T) (lookups *atomic.Int64) {
	lookups = &atomic.Int64{}
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe() // a stream: each message has its length before it
		go func() {
			defer server.Close()
			var length [2]byte
			if _, err := io.ReadFull(server, length[:]); err != nil {
				return
			}
			packed := make([]byte, binary.BigEndian.Uint16(length[:]))
			var m dnsmessage.Message
			if _, err := io.ReadFull(server, packed); err != nil || m.Unpack(packed) != nil {
				return
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				lookups.Add(1)
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
				}}
			}
			packed, _ = m.AppendPack([]byte{0, 0})
			binary.BigEndian.PutUint16(packed, uint16(len(packed)-2))
			_, _ = server.Write(packed)
		}()
		return client, nil
	}}
	return lookups
}

// SECURITY.md: Nothing is downloaded from a loopback, link-local, multicast or unspecified address, whatever a name
// resolves to, unless `-image-host` or another flag names its host.
func TestANameThatResolvesAnewIsCheckedAtTheDial(t *testing.T) {
	lookups := resolveToLoopback(t)
	client, err := NewClient()
	require.NoError(t, err)
	for visit := range 2 {
		_, err = client.Get("http://images.example/")
		require.ErrorContains(t, err, "127.0.0.1 is in 127.0.0.0/8, from which nothing is downloaded")
		require.EqualValues(t, visit+1, lookups.Load(), "no other lookup decides than the one whose address is dialled")
	}
}

func TestAllowedHostsAreHosts(t *testing.T) {
	for _, host := range []string{
		"", "http://images.example", "images.example/x", "user@images.example", "images.example:", "images.example:http", "a b", "[::1", ":80",
	} {
		_, err := NewClient(host)
		require.ErrorContains(t, err, "want a host with or without a port", host)
	}
	for host, want := range map[string]string{
		"Images.Example": "images.example", "images.example:8080": "images.example:8080", "192.0.2.1": "192.0.2.1", "2001:DB8::1": "2001:db8::1",
		"[2001:db8::1]": "2001:db8::1", "[2001:db8:0::1]:80": "[2001:db8::1]:80",
	} {
		key, err := hostKey(host)
		require.NoError(t, err, host)
		require.Equal(t, want, key)
	}
}

// The rule of redirects over all combinations of schemes, hosts and ports.
func TestTheRuleOfRedirects(t *testing.T) {
	schemes, hosts, ports := []string{"http", "https"}, []string{"a", "b"}, []string{"", ":80", ":443", ":8080"}
	var all []*url.URL
	for _, scheme := range schemes {
		for _, host := range hosts {
			for _, p := range ports {
				all = append(all, &url.URL{Scheme: scheme, Host: host + p})
			}
		}
	}
	for _, from := range all {
		for _, to := range all {
			upgrade := port(from) == "80" && port(to) == "443" && to.Scheme == "https"
			same := from.Hostname() == to.Hostname() && (port(from) == port(to) || upgrade)
			secure := from.Scheme == "http" || to.Scheme == "https"
			require.Equal(t, same && secure, allowedHosts{}.redirect(from, to) == nil, "%v %v", from, to)
			require.Equal(t, (same || to.Hostname() == "b") && secure, allowedHosts{"b": true}.redirect(from, to) == nil, "%v %v", from, to)
		}
	}
	require.NoError(t, allowedHosts{}.check("a", "80", netip.MustParseAddr("192.0.2.1")))
}

func TestAnImageIsDownloadedWithTLS1_2AtLeast(t *testing.T) {
	for version, ok := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }))
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		client, err := NewClient("127.0.0.1")
		require.NoError(t, err)
		pool := x509.NewCertPool()
		pool.AddCert(s.Certificate())
		client.Transport.(*route).direct.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
		answer, err := client.Get(s.URL)
		require.Equal(t, ok, err == nil, "%x: %v", version, err)
		if err == nil {
			require.NoError(t, answer.Body.Close())
		}
		client.CloseIdleConnections()
		s.Close()
	}
}
