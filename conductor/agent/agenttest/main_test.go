// SPDX-License-Identifier: Apache-2.0

package agenttest_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const (
	mac   = "52:54:00:00:00:01"
	uuid  = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"
	token = "0123456789012345678901234567890123456789012"
)

// request is a request of an agent to Ironic.
type request struct {
	line, version string
	body          map[string]any
}

// ironic answers an agent as the recorded Ironic 21.4.4 does, and keeps its requests.
func ironic(t *testing.T, answer func(line string) (int, any)) (url string, requests chan request) {
	t.Helper()
	requests = make(chan request, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		line := r.Method + " " + r.URL.RequestURI()
		status, value := answer(line) // first: who has the request may cause the next one
		select {
		case requests <- request{line, r.Header.Get("X-OpenStack-Ironic-API-Version"), body}:
		case <-r.Context().Done(): // the machine is closed
		}
		w.WriteHeader(status)
		if value != nil {
			_ = json.NewEncoder(w).Encode(value)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// answers gives the answers of an Ironic with an API version to an agent whose node waits.
func answers(version string) func(line string) (int, any) {
	return func(line string) (int, any) {
		switch {
		case line == "GET /":
			return http.StatusOK, map[string]any{"default_version": map[string]any{"version": version}}
		case strings.HasPrefix(line, "GET /v1/lookup"):
			return http.StatusOK, map[string]any{"node": map[string]any{"uuid": uuid},
				"config": map[string]any{"heartbeat_timeout": 300, "agent_token": token}}
		default:
			return http.StatusAccepted, nil
		}
	}
}

// agent is a client of the agent of a machine that has booted.
type agent struct {
	*testing.T
	machine  *agenttest.Machine
	requests chan request
	client   *http.Client
	callback string
	ca       string // of the agent's API; each agent makes its own
}

// boot makes a machine, powers it on and waits for the first heartbeat.
func boot(t *testing.T, config agenttest.Config) *agent {
	t.Helper()
	a := &agent{T: t}
	if config.API == "" {
		config.API, a.requests = ironic(t, answers("1.82"))
	}
	m, err := agenttest.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	a.machine = m
	m.Power(true, "Pxe", "")
	a.connect()
	return a
}

// connect waits for a heartbeat and takes the callback URL and the certificate from it.
func (a *agent) connect() {
	a.Helper()
	beat := a.await("POST /v1/heartbeat/" + uuid)
	for beat.body["callback_url"] == nil { // the agent has ended while it sent the heartbeat
		beat = a.await("POST /v1/heartbeat/" + uuid)
	}
	a.callback = beat.body["callback_url"].(string)
	pool := x509.NewCertPool()
	if a.ca, _ = beat.body["agent_verify_ca"].(string); a.ca != "" {
		require.True(a, pool.AppendCertsFromPEM([]byte(a.ca)))
	}
	a.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

// await returns the next request of a line.
func (a *agent) await(line string) request {
	a.Helper()
	for {
		if r := <-a.requests; r.line == line {
			return r
		}
	}
}

// awaitEnd sends requests until the agent's API answers no longer.
func (a *agent) awaitEnd() {
	for {
		if _, _, err := a.do("GET", "/v1/commands/", ""); err != nil {
			return
		}
	}
}

// do sends a request to the agent's API.
func (a *agent) do(method, path, body string) (status int, answer map[string]any, err error) {
	r, err := http.NewRequestWithContext(a.Context(), method, a.callback+path, strings.NewReader(body))
	require.NoError(a, err)
	response, err := a.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	return response.StatusCode, answer, err
}

// command sends a command with the right token and returns its answer.
func (a *agent) command(name string, params any, wait string) (status int, answer map[string]any, err error) {
	body, err := json.Marshal(map[string]any{"name": name, "params": params})
	require.NoError(a, err)
	return a.do(http.MethodPost, "/v1/commands/?wait="+wait+"&agent_token="+token, string(body))
}

// step executes a step to its end and returns the command.
func (a *agent) step(work, name string, args map[string]any) map[string]any {
	a.Helper()
	params := map[string]any{"node": map[string]any{}, "ports": []any{},
		"step": map[string]any{"interface": "deploy", "step": name, "priority": 1, "args": args}}
	status, answer, err := a.command(work+".execute_"+work+"_step", params, "true")
	require.NoError(a, err)
	require.Equal(a, http.StatusOK, status, answer)
	return answer
}

// serveFiles serves files at their names.
func serveFiles(t *testing.T, files map[string][]byte) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := files[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(server.Close)
	return server.URL
}
