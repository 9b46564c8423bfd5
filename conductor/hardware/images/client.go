// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/special"
	"github.com/ironstate/ironstate/machine"
)

// The limits of a request for a download.
const (
	dialTimeout    = 30 * time.Second
	headerTimeout  = time.Minute // for the header of the answer
	maxHeaderBytes = 64 << 10
	maxRedirects   = 5
)

// NewClient returns a client for downloads whose URLs API clients name, such as image_source in instance_info. It
// follows a redirect to the host that answers with it, or to one of these hosts, and none from https to http. It sends
// nothing to loopback, link-local, multicast and unspecified addresses, whatever a name resolves to, unless one of
// these hosts has the address. A host is a name or an address, with a port, which is then the only one, or without.
//
// The proxies of the environment apply, see [http.ProxyFromEnvironment]; a proxy resolves names itself. The client
// keeps no connection open. An error names the host that is none.
func NewClient(hosts ...string) (*http.Client, error) {
	allowed := allowedHosts{}
	for _, host := range hosts {
		key, err := hostKey(host)
		if err != nil {
			return nil, &machine.ConfigError{
				Package: "images", Field: "hosts", Value: host, Want: "a host with or without a port, such as images.example or 192.0.2.1:8080",
			}
		}
		allowed[key] = true
	}
	return newClient(allowed, http.ProxyFromEnvironment), nil
}

func newClient(allowed allowedHosts, proxy func(*http.Request) (*url.URL, error)) *http.Client {
	limited := func(t *http.Transport) *http.Transport {
		t.DisableKeepAlives, t.DisableCompression = true, true
		t.TLSHandshakeTimeout, t.ResponseHeaderTimeout, t.MaxResponseHeaderBytes = dialTimeout, headerTimeout, maxHeaderBytes
		return t
	}
	return &http.Client{
		Transport: &route{allowed, proxy, limited(&http.Transport{DialContext: allowed.dial}), limited(&http.Transport{Proxy: proxy})},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("it redirects more than %d times", maxRedirects)
			}
			return allowed.redirect(via[len(via)-1].URL, r.URL)
		},
	}
}

// route sends requests to their hosts, or to a proxy, which is not one of the hosts that are checked.
type route struct {
	allowed         allowedHosts
	proxy           func(*http.Request) (*url.URL, error)
	direct, proxied http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *route) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := t.proxy(r)
	switch {
	case err != nil:
		return nil, errors.New("the proxy of the environment cannot be used") // the error may repeat a password
	case proxy == nil:
		return t.direct.RoundTrip(r)
	}
	if address, err := netip.ParseAddr(r.URL.Hostname()); err == nil {
		if err := t.allowed.check(r.URL.Hostname(), port(r.URL), address); err != nil {
			return nil, err
		}
	}
	return t.proxied.RoundTrip(r)
}

// allowedHosts are the hosts that the operator has allowed, as hostKey returns them.
type allowedHosts map[string]bool

// hostKey returns the form of a host in allowedHosts: in small letters, without the brackets of an address, and with
// the port if it has one.
func hostKey(host string) (string, error) {
	if _, err := netip.ParseAddr(host); err == nil {
		return plainHost(host), nil
	}
	at, err := url.Parse("//" + host)
	switch {
	case err != nil || at.Host != host || at.Hostname() == "" || strings.HasSuffix(host, ":"):
		return "", errors.New("it is not a host")
	case at.Port() == "":
		return plainHost(at.Hostname()), nil
	}
	return net.JoinHostPort(plainHost(at.Hostname()), at.Port()), nil
}

// plainHost returns the usual form of a name or an address.
func plainHost(host string) string {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.String()
	}
	return strings.ToLower(host)
}

func (a allowedHosts) has(host, port string) bool {
	host = plainHost(host)
	return a[host] || a[net.JoinHostPort(host, port)]
}

// check refuses the special addresses of a host that is not allowed.
func (a allowedHosts) check(host, port string, address netip.Addr) error {
	if network := special.Network(address); network.IsValid() && !a.has(host, port) {
		return fmt.Errorf("%v is in %v, from which nothing is downloaded unless the host is allowed", address, network)
	}
	return nil
}

// dial connects to a host. It checks the address of each connection, since a name may resolve to another one each time.
func (a allowedHosts) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialTimeout, Control: func(_, to string, _ syscall.RawConn) error {
		address, err := netip.ParseAddrPort(to)
		if err != nil {
			return err
		}
		return a.check(host, port, address.Addr())
	}}
	return dialer.DialContext(ctx, network, hostPort)
}

// redirect refuses a redirect to a host that is neither the same nor allowed, and one from https to http. The same
// host has the same name and port, or port 443 of https in place of port 80 of http.
func (a allowedHosts) redirect(from, to *url.URL) error {
	sameName := strings.EqualFold(from.Hostname(), to.Hostname())
	samePort := port(from) == port(to) || port(from) == "80" && port(to) == "443" && to.Scheme == "https"
	switch {
	case from.Scheme == "https" && to.Scheme != "https":
		return fmt.Errorf("it redirects from https to %s", to.Scheme)
	case sameName && samePort || a.has(to.Hostname(), port(to)):
		return nil
	}
	return fmt.Errorf("it redirects to %s, which is neither the same host and port nor allowed",
		net.JoinHostPort(to.Hostname(), port(to)))
}

// port returns the port of a URL, or the default port of its scheme.
func port(at *url.URL) string {
	switch {
	case at.Port() != "":
		return at.Port()
	case at.Scheme == "https":
		return "443"
	}
	return "80"
}
