// SPDX-License-Identifier: Apache-2.0

package explorer_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// service is an Ironic whose API is wrapped by the explorer.
type service struct {
	*conductortest.Server
	t       *testing.T
	stop    func() // ends the explorer
	trouble atomic.Value
}

func noTrouble() string { return "" }

// fleetName is the name of the nodes of each service.
const fleetName = "Hall 2 <b>"

func start(t *testing.T, config conductortest.Config) *service {
	t.Helper()
	s := &service{Server: conductortest.New(t, config), t: t}
	s.trouble.Store("")
	e := explorer.New(s.Conductor, fleetName, func() string { return s.trouble.Load().(string) })
	s.Wrap(e.Around)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	s.stop = cancel
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// get requests a path and returns the response and its body.
func (s *service) get(path, accept string) (*http.Response, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL+path, nil)
	require.NoError(s.t, err)
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response, string(body)
}

// read requests a path and decodes the response.
func read[T any](s *service, path string) (value T) {
	s.t.Helper()
	response, body := s.get(path, "application/json")
	require.Equal(s.t, http.StatusOK, response.StatusCode, body)
	require.NoError(s.t, json.Unmarshal([]byte(body), &value))
	return value
}

// provision requests a provision state by the API.
func (s *service) provision(node, target string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPut, s.URL+"/v1/nodes/"+node+"/states/provision",
		strings.NewReader(`{"target": "`+target+`"}`))
	require.NoError(s.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	require.Equal(s.t, http.StatusAccepted, response.StatusCode)
}

const browsersAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

func TestTheRootIsThePageForBrowsersAlone(t *testing.T) {
	for accept, want := range map[string]bool{
		browsersAccept:                      true,
		"text/html":                         true,
		"text/*":                            true,
		"text/html;q=0.2":                   true,
		"text/html, application/json;q=0.9": true,
		"TEXT/HTML;charset=utf-8":           true,
		"":                                  false,
		"*/*":                               false,
		"application/json":                  false,
		"application/json, text/html":       false,
		"application/json, text/html;q=0.9": false,
		"text/html;q=0, */*":                false,
		"text/html;q=0.5, application/*":    false,
		"text/html;q=nonsense":              false,
		"text/html;q=2":                     false,
		"text/html;q=NaN":                   false,
		"image/png":                         false,
		"text/plain, ;;;, =, text/html; q=\"0\", ,": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", accept)
		require.Equal(t, want, explorer.Asked(r), accept)
		r.Method = http.MethodPost
		require.False(t, explorer.Asked(r), "only reads are for the page")
		r = httptest.NewRequest(http.MethodGet, "/v1/nodes", nil)
		r.Header.Set("Accept", accept)
		require.False(t, explorer.Asked(r), "the API has no pages")
	}
	require.True(t, explorer.Asked(httptest.NewRequest(http.MethodGet, "/explorer/events", nil)))
}

func FuzzAccept(f *testing.F) {
	f.Add("text/html;q=0.5, */*;q=0.1")
	f.Add(",;q=;;=,\"")
	f.Fuzz(func(t *testing.T, accept string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Accept"] = []string{accept}
		if explorer.Asked(r) {
			require.Contains(t, strings.ToLower(accept), "text/")
		}
	})
}

func TestIronicsClientsGetTheVersionDocument(t *testing.T) {
	s := start(t, conductortest.Config{})
	for _, accept := range []string{"*/*", "application/json"} {
		response, body := s.get("/", accept)
		require.Equal(t, "application/json", response.Header.Get("Content-Type"))
		require.Contains(t, body, "OpenStack Ironic API")
		require.Equal(t, "Accept", response.Header.Get("Vary"))
		require.Empty(t, response.Header.Get("Content-Security-Policy"))
	}
}

func TestThePageMayLoadFromItsServerAlone(t *testing.T) {
	s := start(t, conductortest.Config{})
	response, body := s.get("/", browsersAccept)
	require.Equal(t, "text/html; charset=utf-8", response.Header.Get("Content-Type"))
	require.Equal(t, "Accept", response.Header.Get("Vary"))
	meta := regexp.MustCompile(`Content-Security-Policy" content="([^"]+)"`).FindStringSubmatch(body)
	require.NotNil(t, meta)
	policy := response.Header.Get("Content-Security-Policy")
	require.Equal(t, meta[1]+"; frame-ancestors 'none'", policy)
	require.Regexp(t, `^default-src 'none'; `, policy)
	require.NotContains(t, policy, "unsafe")
	require.NotRegexp(t, `(src|href)="(https?:)?//`, body)
	for _, loaded := range regexp.MustCompile(`(?:src|href)="(explorer/[^"]+)"`).FindAllStringSubmatch(body, -1) {
		response, _ := s.get("/"+loaded[1], "*/*")
		require.Equal(t, http.StatusOK, response.StatusCode, loaded[1])
		require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
	}

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	require.NoError(t, err)
	request.Header.Set("Accept", browsersAccept)
	request.Header.Set("If-None-Match", response.Header.Get("ETag"))
	again, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer again.Body.Close()
	require.Equal(t, http.StatusNotModified, again.StatusCode, "a browser keeps the page")
}

func TestTheExplorerOnlyReads(t *testing.T) {
	s := start(t, conductortest.Config{})
	for _, path := range []string{"events", "nodes", "nodes/x", "live.js"} {
		response, err := http.Post(s.URL+"/explorer/"+path, "application/json", nil)
		require.NoError(t, err)
		response.Body.Close()
		require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode, path)
	}
	head := httptest.NewRecorder()
	explorer.New(s.Conductor, "", noTrouble).Around(http.NotFoundHandler()).ServeHTTP(head,
		httptest.NewRequest(http.MethodHead, "/explorer/events", nil))
	require.Equal(t, "text/event-stream", head.Header().Get("Content-Type"), "and the request has ended")

	response, _ := s.get("/explorer/page.html", "*/*")
	require.Equal(t, http.StatusNotFound, response.StatusCode)
}
