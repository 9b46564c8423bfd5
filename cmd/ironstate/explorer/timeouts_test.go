// SPDX-License-Identifier: Apache-2.0

package explorer_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pipes is a listener of connections in this process.
type pipes struct {
	clients chan net.Conn
	closed  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.clients:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.clients <- server
	return client, nil
}

// A server's timeouts for requests do not end a stream.
func TestEventsOutliveTheServersTimeouts(t *testing.T) {
	for _, version := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			b, end := newExplored(t)
			defer end()
			protocols := new(http.Protocols)
			protocols.SetHTTP1(version == 1)
			protocols.SetUnencryptedHTTP2(version == 2)
			p := &pipes{clients: make(chan net.Conn), closed: make(chan struct{})}
			server := &http.Server{Handler: b, ReadTimeout: time.Second, WriteTimeout: time.Second, Protocols: protocols}
			served := make(chan error, 1)
			go func() { served <- server.Serve(p) }()
			defer func() { require.NoError(t, server.Close()); <-served }()

			transport := &http.Transport{DialContext: p.dial, Protocols: protocols}
			defer transport.CloseIdleConnections()
			response, err := (&http.Client{Transport: transport}).Get("http://explorer/explorer/events")
			require.NoError(t, err)
			defer response.Body.Close()
			require.Equal(t, version, response.ProtoMajor)
			events, begun := &stream{t: t, lines: bufio.NewScanner(response.Body)}, time.Now()
			for n := range 7 { // one event every quarter of a second
				require.Equal(t, n, events.next().Nodes)
				b.node()
			}
			require.Equal(t, 1500*time.Millisecond, time.Since(begun))
		})
	}
}
