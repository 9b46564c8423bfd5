// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/program/programtest"
)

// server is the program in a separate process.
type server struct {
	t       *testing.T
	process *exec.Cmd
	errOut  bytes.Buffer
	url     string
	agents  string // the URL for agents, empty without -agent-listen
	client  *http.Client
	stdout  io.Reader
}

// serveProcess starts the program and waits until it is ready.
func serveProcess(t *testing.T, args ...string) *server {
	t.Helper()
	return await(t, programtest.Command(args...))
}

// await starts a process of the program and waits until it is ready.
func await(t *testing.T, process *exec.Cmd) *server {
	t.Helper()
	return launch(t, process).ready()
}

// launch starts a process of the program.
func launch(t *testing.T, process *exec.Cmd) *server {
	t.Helper()
	s := &server{t: t, process: process, client: &http.Client{Timeout: time.Minute}}
	stdout, err := s.process.StdoutPipe()
	require.NoError(t, err)
	s.process.Stderr = &s.errOut
	require.NoError(t, s.process.Start())
	s.stdout = stdout
	t.Cleanup(func() { s.kill(); s.client.CloseIdleConnections() })
	return s
}

// ready waits until the process is ready.
func (s *server) ready() *server {
	s.t.Helper()
	for lines := bufio.NewScanner(s.stdout); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "listening for agents on "); ok {
			s.agents = url
		}
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			s.url = url
			go func() { _, _ = io.Copy(io.Discard, s.stdout) }()
			return s
		}
	}
	_ = s.process.Wait()
	s.t.Fatalf("the program has ended before it was ready: %s", &s.errOut)
	return nil
}

// kill kills the process without warning (SIGKILL).
func (s *server) kill() {
	if s.process.ProcessState == nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
	}
}

// do sends a request at the highest version, with a user's name and password if given, and returns
// the status and the response.
func (s *server) do(method, path, body string, user ...string) (int, map[string]any) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	request.Header.Set("Content-Type", "application/json")
	if len(user) == 2 {
		request.SetBasicAuth(user[0], user[1])
	}
	response, err := s.client.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	var answer map[string]any
	_ = json.Unmarshal(text, &answer) // not every response is an object
	return response.StatusCode, answer
}

// metrics returns the text of /metrics.
func (s *server) metrics() string {
	s.t.Helper()
	response, err := s.client.Get(s.url + "/metrics")
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return string(text)
}

// waitFor waits until a node is in a provision state and not reserved.
func (s *server) waitFor(node, state string) map[string]any {
	s.t.Helper()
	var shown map[string]any
	require.Eventually(s.t, func() bool {
		_, shown = s.do(http.MethodGet, "/v1/nodes/"+node, "")
		return shown["provision_state"] == state && shown["reservation"] == nil
	}, time.Minute, 20*time.Millisecond, "node %s: %v", node, shown)
	return shown
}

func (s *server) provision(node, target string) {
	s.t.Helper()
	status, answer := s.do(http.MethodPut, "/v1/nodes/"+node+"/states/provision", `{"target": "`+target+`"}`)
	require.Equal(s.t, http.StatusAccepted, status, "%v", answer)
}

// browse requests a path as a browser does.
func (s *server) browse(path string, user ...string) (response *http.Response, body string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	require.NoError(s.t, err)
	request.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	if len(user) == 2 {
		request.SetBasicAuth(user[0], user[1])
	}
	response, err = s.client.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response, string(text)
}
