// SPDX-License-Identifier: Apache-2.0

package front

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// ForHosts answers only requests whose Host header names the loopback interface, the host of listen, which is the
// host:port that the server listens on, or one of the other hosts. If the server listens on all addresses, ForHosts
// accepts every IP address, because DNS rebinding needs a name. Other requests get 403 with the text refusal.
func ForHosts(next http.Handler, refusal, listen string, others ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostname(r.Host)
		isOther := func(name string) bool { return host != "" && strings.EqualFold(name, host) }
		if !isHostOf(listen, r.Host) && !slices.ContainsFunc(others, isOther) {
			http.Error(w, refusal, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostname returns the name or the address in a Host header.
func hostname(header string) string { return strings.ToLower((&url.URL{Host: header}).Hostname()) }

// isHostOf reports whether a Host header names the loopback interface or the host of an address to listen on. If that
// stands for all addresses, every IP address is accepted.
func isHostOf(address, header string) bool {
	host := hostname(header)
	if IsLoopback(host) {
		return true
	}
	listen, _, _ := net.SplitHostPort(address) // an address that a server listens on
	ip, bound := net.ParseIP(host), net.ParseIP(listen)
	switch {
	case listen == "" || bound != nil && bound.IsUnspecified():
		return ip != nil
	case bound != nil:
		return bound.Equal(ip)
	default:
		return strings.EqualFold(host, listen)
	}
}

// IsLoopback reports whether a host is localhost or an address of the loopback interface.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
