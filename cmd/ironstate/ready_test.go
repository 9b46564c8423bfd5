// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/etcd"
)

func TestTheReadiness(t *testing.T) {
	for _, started := range []bool{false, true} {
		for _, member := range []bool{false, true} {
			for store, want := range map[error]readiness{
				nil: ready, etcd.ErrNoMajority: noMajority, fmt.Errorf("update: %w", etcd.ErrNoSpace): diskFull, etcd.ErrClosed: stopping,
			} {
				switch {
				case !started:
					want = starting
				case store == nil && !member:
					want = noMember
				}
				got := readinessOf(started, store, member)
				require.Equal(t, want, got)
				require.Equal(t, got == ready, got.trouble() == "")
			}
		}
	}
}

func TestTheProbesAnswerWithAWordAndPassOtherRequestsOn(t *testing.T) {
	word := ready
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	server := httptest.NewServer(probes(func() readiness { return word }, api))
	defer server.Close()
	ask := func(method, path string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	for _, w := range []readiness{ready, starting, noMajority, diskFull, noMember, stopping} {
		word = w
		status, text := ask("GET", "/readyz")
		require.Equal(t, w == ready, status == http.StatusOK)
		require.Equal(t, w != ready, status == http.StatusServiceUnavailable)
		require.Equal(t, string(w)+"\n", text)
		status, text = ask("GET", "/healthz")
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "ok\n", text)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		status, _ := ask("POST", path)
		require.Equal(t, http.StatusMethodNotAllowed, status)
		status, _ = ask("GET", path+"/x")
		require.Equal(t, http.StatusTeapot, status)
	}
	status, _ := ask("GET", "/v1/nodes")
	require.Equal(t, http.StatusTeapot, status)
}

func TestOnlyReadsWithoutAMajorityHaveAWarning(t *testing.T) {
	for _, word := range []readiness{ready, starting, noMajority, diskFull, noMember, stopping} {
		for _, method := range []string{"GET", "HEAD", "POST", "PATCH"} {
			answer := httptest.NewRecorder()
			warned(func() readiness { return word }, http.NotFoundHandler()).ServeHTTP(answer, httptest.NewRequest(method, "/v1/nodes", nil))
			want := word == noMajority && (method == "GET" || method == "HEAD")
			require.Equal(t, want, strings.HasPrefix(answer.Header().Get("Warning"), "110 "), "%s %s", word, method)
			require.Equal(t, http.StatusNotFound, answer.Code)
		}
	}
}

func TestAProgramThatStartsAnswersItsProbesAlone(t *testing.T) {
	o, err := parse([]string{"-listen", "127.0.0.1:0"}, io.Discard)
	require.NoError(t, err)
	f, err := openServers(o, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer f.close()
	get := func(path string) *http.Response {
		answer, err := http.Get("http://" + f.api.Addr().String() + path)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer
	}
	require.Equal(t, http.StatusOK, get("/healthz").StatusCode)
	require.Equal(t, http.StatusServiceUnavailable, get("/readyz").StatusCode)
	refused := get("/v1/nodes")
	require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
	require.Equal(t, "1", refused.Header.Get("Retry-After"))

	f.started.Store(&started{api: http.NotFoundHandler(), ready: func() readiness { return ready }})
	require.Equal(t, http.StatusOK, get("/readyz").StatusCode)
	require.Equal(t, http.StatusNotFound, get("/v1/nodes").StatusCode)

	conn, err := net.Dial("tcp", f.api.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	f.close()
	_, err = reader.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	require.Empty(t, f.failed)
}
