// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// ofAgents are the requests of agents that name no node which exists.
var ofAgents = []struct{ method, path, body string }{
	{http.MethodGet, "/v1/lookup?addresses=52:54:00:00:00:01", ""},
	{http.MethodPost, "/v1/heartbeat/n", `{"callback_url": "http://127.0.0.1"}`},
	{http.MethodPost, "/v1/continue_inspection", `{"inventory": {"interfaces": [{"mac_address": "52:54:00:00:00:01"}]}}`},
}

// TestAgentsHaveAListenerOfTheirOwn asks both listeners for the paths of agents and for others, with and without TLS
// and users.
//
// SECURITY.md: With `-agent-listen` a listener of their own answers agents and nothing else, and the API's answers
// agents with 403.
func TestAgentsHaveAListenerOfTheirOwn(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
	require.NoError(t, err)
	users := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(users, append([]byte("admin:"), hash...), 0o600))
	certificate, key, pool := newCertificate(t)
	for scheme, more := range map[string][]string{
		"http://": nil, "https://": {"-auth-file", users, "-tls-cert", certificate, "-tls-key", key},
	} {
		s := serveHere(t, append(more, "-demo", "0", "-agent-listen", "127.0.0.1:0")...)
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "example.com"}}
		s.client.Transport = transport
		t.Cleanup(transport.CloseIdleConnections)
		user := []string{"admin", "correct horse"}
		ofAPI, url := s.url, s.agents
		require.True(t, strings.HasPrefix(ofAPI, scheme) && strings.HasPrefix(url, scheme) && ofAPI != url, "%s %s", ofAPI, url)
		for _, r := range ofAgents {
			for _, with := range [][]string{nil, user} {
				s.url = ofAPI
				status, answer := s.do(r.method, r.path, r.body, with...)
				require.Equal(t, http.StatusForbidden, status, "%s: %v", r.path, answer)
				s.url = url
				status, answer = s.do(r.method, r.path, r.body, with...)
				require.Equal(t, http.StatusNotFound, status, "%s, since there is no node: %v", r.path, answer)
				require.Contains(t, answer["error_message"], "could not be found")
			}
		}
		for _, path := range []string{"/", "/v1", "/v1/"} {
			status, document := s.do(http.MethodGet, path, "")
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, document, map[bool]string{true: "default_version", false: "media_types"}[path == "/"])
		}
		response, page := s.browse("/")
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.NotContains(t, page, "<html", "the live page is no agent's")
		for _, word := range routedWords(t) {
			for _, path := range []string{"/" + word, "/v1/" + word, "/v1/nodes/n/" + word, "/explorer/" + word} {
				for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
					if word == "lookup" || word == "heartbeat" || word == "continue_inspection" || path == "/v1" {
						continue
					}
					status, answer := s.do(method, path, "{}", user...)
					require.Equal(t, http.StatusNotFound, status, "%s %s: %v", method, path, answer)
				}
			}
		}
		s.url = ofAPI
		status, _ := s.do(http.MethodGet, "/v1/nodes", "", user...)
		require.Equal(t, http.StatusOK, status)
		s.stop()
	}
}

// TestAPageThatRebindsItsNameReachesNoAgentsListener sends requests with Host headers. Agents use the name in -api-url.
func TestAPageThatRebindsItsNameReachesNoAgentsListener(t *testing.T) {
	s := serveHere(t, "-demo", "0", "-agent-listen", "127.0.0.1:0", "-api-url", "http://metal.example:6385")
	for host, want := range map[string]int{
		"127.0.0.1":                  http.StatusNotFound,
		"localhost:1":                http.StatusNotFound,
		"metal.example:6385":         http.StatusNotFound,
		"METAL.example":              http.StatusNotFound,
		"evil.example":               http.StatusForbidden,
		"metal.example.evil.example": http.StatusForbidden,
		"10.0.0.1":                   http.StatusForbidden,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.agents+ofAgents[0].path, nil)
		require.NoError(t, err)
		r.Host = host
		r.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
		answer, err := s.client.Do(r)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, answer.Body)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode, host)
	}
}
