// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestAClientThatResetsItsRequestsRunsFewOfThem is the attack of CVE-2023-44487: requests that the client resets at
// once do not count as concurrent streams, but their handlers still run.
func TestAClientThatResetsItsRequestsRunsFewOfThem(t *testing.T) {
	var running, most atomic.Int64
	release := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reset" {
			most.Store(max(most.Load(), running.Add(1)))
			<-release // as a handler that does not notice that its client has gone
			running.Add(-1)
		}
	})
	s := httptest.NewUnstartedServer(nil)
	l := newLimits(maxConnections, maxAddressConnections).around(s.Listener)
	s.Listener, s.Config, s.EnableHTTP2 = l, newServer(handler, l, slog.New(slog.DiscardHandler)), true
	s.StartTLS()
	defer s.Close()
	defer close(release)

	conn, err := tls.Dial("tcp", s.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, "h2", conn.ConnectionState().NegotiatedProtocol)
	_, err = io.WriteString(conn, http2.ClientPreface)
	require.NoError(t, err)
	var header bytes.Buffer
	encoder := hpack.NewEncoder(&header)
	for _, field := range []string{":method=GET", ":scheme=https", ":authority=localhost", ":path=/reset"} {
		name, value, _ := bytes.Cut([]byte(field), []byte("="))
		require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: string(name), Value: string(value), Sensitive: true}))
	}
	framer := http2.NewFramer(conn, conn)
	require.NoError(t, framer.WriteSettings())
	go func() {
		for id := uint32(1); id < 20_000; id += 2 {
			if framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: header.Bytes(), EndStream: true, EndHeaders: true}) != nil ||
				framer.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
				return // the server has closed the connection
			}
		}
	}()
	frames := http2.NewFramer(io.Discard, conn)
	for {
		frame, err := frames.ReadFrame()
		require.NoError(t, err)
		if away, is := frame.(*http2.GoAwayFrame); is {
			require.Equal(t, http2.ErrCodeEnhanceYourCalm, away.ErrCode)
			break
		}
	}
	require.LessOrEqual(t, most.Load(), int64(maxStreams))
	answer, err := s.Client().Get(s.URL + "/")
	require.NoError(t, err, "another client")
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
}
