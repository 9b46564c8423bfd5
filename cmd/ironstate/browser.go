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
	return forHost(func(host string) bool { return isHostOf(o.listen, host) }, protect(next),
		"This service has no authentication, so it answers only requests whose Host is a loopback address or the host of -listen. "+
			"To use another name, start it with -auth-file.")
}

// guardedAgents is guarded for the listener of the agents, which have no password. They may use the name in -api-url,
// too.
func (o *options) guardedAgents(next http.Handler) http.Handler {
	api, _ := url.Parse(o.images.apiURL) // checked by imageFlags.check
	return forHost(func(host string) bool {
		return isHostOf(o.agents.listen, host) || api.Hostname() != "" && strings.EqualFold(hostname(host), api.Hostname())
	}, http.NewCrossOriginProtection().Handler(next),
		"Agents are answered only if the Host of their requests is a loopback address or the host of -agent-listen or -api-url.")
}

// forHost answers only requests whose Host header is accepted, the others with 403 and a text.
func forHost(accepted func(host string) bool, next http.Handler, refusal string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !accepted(r.Host) {
			http.Error(w, refusal, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostname returns the name or the address in a Host header.
func hostname(header string) string { return strings.ToLower((&url.URL{Host: header}).Hostname()) }

// isHostOf reports whether a Host header names the loopback interface or the host of an address to listen on. If that
// stands for all addresses, every IP address is accepted, because DNS rebinding needs a name.
func isHostOf(address, header string) bool {
	host := hostname(header)
	if isLoopback(host) {
		return true
	}
	listen, _, _ := net.SplitHostPort(address) // checked by checkListen
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
