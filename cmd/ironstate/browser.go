// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// guarded wraps a handler with authentication, and with protection from the pages of other sites in a browser. Such
// pages cannot change anything. If no password is needed, they also cannot reach the service by a host name that
// their site has made resolve to the service's address (DNS rebinding).
func (o *options) guarded(next http.Handler) http.Handler {
	protect := http.NewCrossOriginProtection().Handler
	if o.users != nil {
		return protect(o.users.guard(next))
	}
	next = protect(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !o.isOwnHost(r.Host) {
			http.Error(w, "This service has no authentication, so it answers only requests whose Host is a loopback address or that of -listen. "+
				"To use another name, start it with -auth-file.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnHost reports whether a Host header names the loopback interface or the host of -listen. If -listen stands for
// all addresses, every IP address is accepted, because DNS rebinding needs a name.
func (o *options) isOwnHost(header string) bool {
	host := strings.ToLower((&url.URL{Host: header}).Hostname())
	if isLoopback(host) {
		return true
	}
	listen, _, _ := net.SplitHostPort(o.listen) // checked by checkListen
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
