// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/cmd/ironstate/internal/observe"
)

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

	f.started.Store(&started{api: http.NotFoundHandler(), ready: func() observe.Readiness { return observe.Ready }})
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
