// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// from sends a request with headers as a browser sends them. The header Host sets the request's host.
func (s *server) from(method, path, body string, headers map[string]string) (status int, text string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	request.Host = headers["Host"]
	response, err := s.client.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, string(answer)
}

// SECURITY.md: Without `-auth-file`, the API, the metrics and the live page answer only requests whose `Host` is a
// loopback address or the host of `-listen`, which defends against DNS rebinding.
func TestAPageThatRebindsItsNameReachesNothingWithoutAuthentication(t *testing.T) {
	s := serveHere(t, "-demo", "0")
	status, _ := s.do(http.MethodPost, "/v1/nodes", `{"driver": "fake-hardware", "name": "n"}`)
	require.Equal(t, http.StatusCreated, status)
	for _, host := range []string{
		"evil.example", "evil.example:6385", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "0.0.0.0",
	} {
		page := map[string]string{"Host": host, "Origin": "http://" + host, "Sec-Fetch-Site": "same-origin"}
		for _, c := range []struct{ method, path, body string }{
			{http.MethodGet, "/", ""}, {http.MethodGet, "/v1/nodes", ""}, {http.MethodGet, "/metrics", ""}, {http.MethodGet, "/explorer/nodes", ""},
			{http.MethodPut, "/v1/nodes/n/states/power", `{"target": "power on"}`}, {http.MethodDelete, "/v1/nodes/n", ""},
			{http.MethodOptions, "/v1/nodes", ""},
		} {
			status, text := s.from(c.method, c.path, c.body, page)
			require.Equal(t, http.StatusForbidden, status, "%s %s of %s", c.method, c.path, host)
			require.Contains(t, text, "-auth-file")
		}
	}
	port := s.url[strings.LastIndexByte(s.url, ':'):]
	for _, host := range []string{"127.0.0.1" + port, "localhost" + port, "LOCALHOST", "[::1]" + port, "[::1]", "127.1.2.3"} {
		status, _ := s.from(http.MethodGet, "/v1/nodes/n", "", map[string]string{"Host": host})
		require.Equal(t, http.StatusOK, status, host)
	}
	_, node := s.do(http.MethodGet, "/v1/nodes/n", "")
	require.Nil(t, node["target_power_state"])
	require.Nil(t, node["power_state"])
}

// SECURITY.md: A page of another origin changes nothing, with or without a password.
func TestAPageOfAnotherSiteChangesNothing(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(file, []byte("admin:"+string(hash)+"\n"), 0o600))
	for _, args := range [][]string{{"-demo", "0"}, {"-demo", "0", "-auth-file", file}} {
		s := serveHere(t, args...)
		user := []string{"admin", "correct horse"}
		basic := &http.Request{Header: http.Header{}}
		basic.SetBasicAuth(user[0], user[1])
		for _, page := range []map[string]string{
			{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}, {"Origin": "null"},
			{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://127.0.0.1:1"},
		} {
			page["Authorization"] = basic.Header.Get("Authorization") // the browser adds it
			for _, kind := range []string{"text/plain", "application/json", "application/x-www-form-urlencoded"} {
				page["Content-Type"] = kind
				status, text := s.from(http.MethodPost, "/v1/nodes", `{"driver": "fake-hardware"}`, page)
				require.Equal(t, http.StatusForbidden, status, "%v: %s", page, text)
			}
			status, _ := s.from(http.MethodPost, "/v1/heartbeat/n", `{}`, page)
			require.Equal(t, http.StatusForbidden, status, "a path without a password")
		}
		_, list := s.do(http.MethodGet, "/v1/nodes", "", user...)
		require.Empty(t, list["nodes"])

		own := map[string]string{"Origin": s.url, "Sec-Fetch-Site": "same-origin", "Authorization": basic.Header.Get("Authorization")}
		for _, path := range []string{"/explorer/live.js", "/explorer/nodes"} {
			status, text := s.from(http.MethodGet, path, "", own)
			require.Equal(t, http.StatusOK, status, "the live page reads %s: %s", path, text)
		}
		status, text := s.from(http.MethodPost, "/v1/nodes", `{"driver": "fake-hardware"}`, own)
		require.Equal(t, http.StatusCreated, status, "a page of the service itself: %s", text)
	}
}
