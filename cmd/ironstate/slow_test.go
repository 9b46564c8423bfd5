// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

// slowClients are requests that occupy a connection without an end.
var slowClients = []struct{ name, sends string }{
	{"says nothing", ""},
	{"does not end its header", "GET /v1/nodes HTTP/1.1\r\nHost: localhost\r\nX-Slow: "},
	{"does not end its body", "POST /v1/nodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
		"Content-Length: 1000000\r\n\r\n{\"driver\": \"" + strings.Repeat("x", 2000)},
	{"does not read its answer", "GET /v1/nodes/detail HTTP/1.1\r\nHost: localhost\r\nX-OpenStack-Ironic-API-Version: latest\r\n\r\n"},
}

// unbounded builds the program without the race detector, which limits the number of connections and
// needs memory itself.
func unbounded(t *testing.T) *exec.Cmd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "conductor")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return exec.Command(path, "-demo", "0")
}

func TestTenThousandSlowClientsDoNotDelayOthersAndNeedLittleMemory(t *testing.T) {
	needs.Chance(t)
	const connections, memory = 10_000, 1 << 30
	var files syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	needs.Installed(t, files.Max >= connections+1000, "a limit of "+strconv.Itoa(connections+1000)+" open files")
	s := await(t, unbounded(t))
	for i := range 1000 {
		status, _ := s.do(http.MethodPost, "/v1/nodes", fmt.Sprintf(`{"driver": "fake-hardware", "name": "n%d"}`, i))
		require.Equal(t, http.StatusCreated, status)
	}

	slow := make([]net.Conn, connections)
	for i := range slow {
		slow[i] = s.connect(fmt.Sprintf("127.0.1.%d", 1+i%20))
		_, err := io.WriteString(slow[i], slowClients[i%len(slowClients)].sends)
		require.NoError(t, err)
	}
	for _, request := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodGet, "/v1/nodes/n5", "", http.StatusOK},
		{http.MethodGet, "/v1/nodes", "", http.StatusOK},
		{http.MethodPost, "/v1/nodes", `{"driver": "fake-hardware", "name": "another"}`, http.StatusCreated},
		{http.MethodPatch, "/v1/nodes/another", `[{"op": "add", "path": "/extra/a", "value": 1}]`, http.StatusOK},
		{http.MethodDelete, "/v1/nodes/another", "", http.StatusNoContent},
	} {
		status, answer := s.do(request.method, request.path, request.body)
		require.Equal(t, request.want, status, "%s %s: %v", request.method, request.path, answer)
	}
	require.Less(t, s.memory(), int64(memory))
	s.provision("n5", "manage")
	s.waitFor("n5", "manageable")

	header := slow[1]
	require.NoError(t, header.SetReadDeadline(time.Now().Add(time.Minute)))
	rest, err := io.ReadAll(header)
	require.NoError(t, err, "who does not end its header is cut off")
	require.NotContains(t, string(rest), "200")
	for _, c := range slow {
		require.NoError(t, c.Close())
	}
	for s.openFiles() >= 100 { // until all connections are given back
		time.Sleep(50 * time.Millisecond)
	}
	require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.process.Wait(), "%s", &s.errOut)
}

func TestStreamsThatAreNotReadDelayNobody(t *testing.T) {
	s := serveHere(t, "-demo", "0")
	const streams = 100 // as many as there may be
	var slow []net.Conn
	for range streams {
		c := s.connect("127.0.0.2")
		_, err := io.WriteString(c, "GET /explorer/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		status := make([]byte, len("HTTP/1.1 200"))
		_, err = io.ReadFull(c, status)
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1 200", string(status))
		slow = append(slow, c)
	}
	events := func() int {
		response, err := s.client.Get(s.url + "/explorer/events")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, http.StatusServiceUnavailable, events())
	for i := range 50 {
		name := fmt.Sprintf("n%d", i)
		status, _ := s.do(http.MethodPost, "/v1/nodes", `{"driver": "fake-hardware", "name": "`+name+`"}`)
		require.Equal(t, http.StatusCreated, status)
		s.provision(name, "manage")
		s.waitFor(name, "manageable")
	}
	var goroutines bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&goroutines, 2))
	ofStreams := 0
	for goroutine := range strings.SplitSeq(goroutines.String(), "\n\n") {
		if strings.Contains(goroutine, "/explorer.") {
			ofStreams++
		}
	}
	require.GreaterOrEqual(t, ofStreams, streams)
	require.LessOrEqual(t, ofStreams, streams+10, "one for each stream and some for all")
	for _, c := range slow {
		require.NoError(t, c.Close())
	}
	for events() != http.StatusOK { // until the server has noticed
		time.Sleep(5 * time.Millisecond)
	}
}

// connect opens a connection with a small receive buffer from an address.
func (s *server) connect(from string) net.Conn {
	s.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := dialer.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = c.Close() })
	require.NoError(s.t, c.(*net.TCPConn).SetReadBuffer(4<<10))
	return c
}

// memory returns the peak resident memory of the process in bytes.
func (s *server) memory() int64 {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	needs.Installed(s.t, err == nil, "/proc")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kibibytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	require.NoError(s.t, err)
	return kibibytes << 10
}

// openFiles returns the number of open files and connections of the process.
func (s *server) openFiles() int {
	s.t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.process.Process.Pid))
	require.NoError(s.t, err)
	return len(files)
}
