// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/url"
	"regexp"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
	"github.com/ironstate/ironstate/cmd/ironstate/internal/front"
)

// guarded wraps a handler with authentication, and with protection from the pages of other sites in a browser. Such
// pages cannot change anything. If no password is needed, they also cannot reach the service by a host name that
// their site has made resolve to the service's address (DNS rebinding).
func (o *options) guarded(next http.Handler) http.Handler {
	protect := http.NewCrossOriginProtection().Handler
	if o.users != nil {
		return protect(o.users.Guard(isPublic, next))
	}
	return front.ForHosts(protect(next),
		"This service has no authentication, so it answers only requests whose Host is a loopback address or the host of -listen. "+
			"To use another name, start it with -auth-file.", o.listen)
}

// guardedAgents is guarded for the listener of the agents, which have no password. They may use the name in -api-url,
// too.
func (o *options) guardedAgents(next http.Handler) http.Handler {
	api, _ := url.Parse(o.images.apiURL) // checked by imageFlags.check
	return front.ForHosts(http.NewCrossOriginProtection().Handler(next),
		"Agents are answered only if the Host of their requests is a loopback address or the host of -agent-listen or -api-url.",
		o.agents.listen, api.Hostname())
}

// publicPath matches the paths that need no authentication: the version documents, and those that agents use. A
// heartbeat needs a token; a lookup and inspection data are accepted only for a node that waits for them.
//
// Source: acl_public_routes in ironic/api/config.py.
var publicPath = regexp.MustCompile(`^(/|/v1|/v1/lookup|/v1/heartbeat/[a-z0-9-]+|/v1/continue_inspection)(\.json)?/*$`)

// isPublic reports whether a request needs no password. The live page does.
func isPublic(r *http.Request) bool { return !explorer.Asked(r) && publicPath.MatchString(r.URL.Path) }
