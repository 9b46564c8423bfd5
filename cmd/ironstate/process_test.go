// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program/programtest"
)

// server is the program in this process or in another one.
type server struct {
	t      *testing.T
	errOut bytes.Buffer // complete after stop or kill
	url    string
	agents string // the URL for agents, empty without -agent-listen
	client *http.Client
	stdout io.Reader

	process *exec.Cmd          // nil in this process
	cancel  context.CancelFunc // in this process
	ended   chan struct{}      // in this process: closed when serve has returned err
	err     error
}

// serveHere runs the program in this process and waits until it is ready.
func serveHere(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{}
	return s.here(t, &s.errOut, args...)
}

// here is serveHere with another standard error.
func (s *server) here(t *testing.T, errOut io.Writer, args ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stdout, out := io.Pipe()
	s.t, s.client, s.stdout, s.cancel, s.ended = t, &http.Client{}, stdout, cancel, make(chan struct{})
	go func() {
		defer close(s.ended)
		s.err = serve(ctx, args, out, errOut)
		_ = out.Close()
	}()
	t.Cleanup(s.kill)
	return s.ready()
}

// serveProcess starts the program in a process of its own and waits until it is ready.
func serveProcess(t *testing.T, args ...string) *server {
	t.Helper()
	needs.Time(t)
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
	s := &server{t: t, process: process, client: &http.Client{}}
	stdout, err := s.process.StdoutPipe()
	require.NoError(t, err)
	s.process.Stderr = &s.errOut
	require.NoError(t, s.process.Start())
	s.stdout = stdout
	t.Cleanup(s.kill)
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
	err := s.wait()
	s.t.Fatalf("the program has ended before it was ready: %v %s", err, &s.errOut)
	return nil
}

// wait waits for the end of the program.
func (s *server) wait() error {
	if s.process != nil {
		return s.process.Wait()
	}
	<-s.ended
	return s.err
}

// stop ends the program as SIGTERM does.
func (s *server) stop() {
	s.t.Helper()
	if s.process != nil {
		require.NoError(s.t, s.process.Process.Signal(syscall.SIGTERM))
	} else {
		s.cancel()
	}
	require.NoError(s.t, s.wait(), "%s", &s.errOut)
}

// kill kills the process without warning (SIGKILL). In this process it ends the program.
func (s *server) kill() {
	s.client.CloseIdleConnections()
	switch {
	case s.process == nil:
		s.cancel()
		<-s.ended
	case s.process.ProcessState == nil:
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

// series returns the value of a series without labels in /metrics.
func (s *server) series(name string) float64 {
	s.t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` (.+)$`).FindStringSubmatch(s.metrics())
	require.NotNil(s.t, found, name)
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(s.t, err)
	return value
}

// waitFor waits until a node is in a provision state and not reserved.
func (s *server) waitFor(node, state string) map[string]any {
	s.t.Helper()
	for {
		_, shown := s.do(http.MethodGet, "/v1/nodes/"+node, "")
		if shown["provision_state"] == state && shown["reservation"] == nil {
			return shown
		}
		time.Sleep(5 * time.Millisecond)
	}
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
