// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/clientnet"
)

// pipes is a listener of connections in this process, whose clients have the address that they name.
type pipes struct {
	clients chan net.Conn
	closed  chan struct{}
}

func newPipes() *pipes { return &pipes{clients: make(chan net.Conn), closed: make(chan struct{})} }

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

// dial opens a connection from an address.
func (p *pipes) dial(from string) net.Conn {
	client, server := net.Pipe()
	p.clients <- &addressed{Conn: server, from: net.TCPAddr{IP: net.ParseIP(from), Port: 1}}
	return client
}

type addressed struct {
	net.Conn
	from net.TCPAddr
}

func (a *addressed) RemoteAddr() net.Addr { return &a.from }

// limited is a server on pipes, in a bubble.
type limited struct {
	*pipes
	limits  *Limits
	entered chan struct{} // by each request for /wait
	leave   chan struct{}
}

func serveLimited(t *testing.T, most, mostOfAddress int) *limited {
	s := &limited{pipes: newPipes(), entered: make(chan struct{}), leave: make(chan struct{})}
	s.limits = newLimits(most, mostOfAddress)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			s.entered <- struct{}{}
			<-s.leave
		}
		_, _ = io.WriteString(w, "answer")
	})
	server := serve(s.pipes, handler, Config{Limits: s.limits, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		close(s.leave)
		server.Close()
		synctest.Wait()
		require.Zero(t, s.counted(), "each connection is counted once")
		require.Empty(t, s.limits.addresses)
		require.Zero(t, s.limits.idle.Len())
	})
	return s
}

func (s *limited) counted() int {
	s.limits.mu.Lock()
	defer s.limits.mu.Unlock()
	return s.limits.open
}

// request sends a request and reads the answer.
func request(c net.Conn) error {
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && string(text) != "answer" {
		err = fmt.Errorf("the answer is %q", text)
	}
	return err
}

func isClosed(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(-time.Second)) // an open pipe has nothing to read
	_, err := c.Read(make([]byte, 1))
	return err == io.EOF
}

// SECURITY.md: The connections are bounded, in all and for each address.
func TestIdleConnectionsOfOneClientLockNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveLimited(t, maxConnections, maxAddressConnections)
		idle := make([]net.Conn, 12_100)
		for i := range idle {
			idle[i] = s.dial("10.0.0.2")
			if i%3 == 0 {
				go func() { _, _ = io.WriteString(idle[i], "GET / HTTP/1.1\r\nX-Slow: ") }()
			}
			require.LessOrEqual(t, s.counted(), maxAddressConnections)
		}
		require.NoError(t, request(s.dial("10.0.0.1")), "another client")
		require.NoError(t, request(s.dial("10.0.0.2")), "the same client")
		require.True(t, isClosed(idle[0]), "the one that has been idle for the longest time")
		for _, c := range idle {
			_ = c.Close()
		}
	})
}

// SECURITY.md: The connections are bounded, in all and for each address.
func TestIdleConnectionsOfManyClientsLockNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveLimited(t, maxConnections, maxAddressConnections)
		for i := range 13_000 {
			s.dial(fmt.Sprintf("10.1.%d.%d", i/250, i%250))
			require.LessOrEqual(t, s.counted(), maxConnections)
		}
		require.NoError(t, request(s.dial("10.0.0.1")))
		require.Equal(t, maxConnections, s.counted())
	})
}

func TestAConnectionWithARequestIsNotReplaced(t *testing.T) {
	synctest.Test(t, replaceNoConnectionWithARequest)
}

func replaceNoConnectionWithARequest(t *testing.T) {
	s := serveLimited(t, 4, 2)
	wait := func(c net.Conn) net.Conn {
		_, err := io.WriteString(c, "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		<-s.entered
		return c
	}
	first := wait(s.dial("10.0.0.1"))
	second := s.dial("10.0.0.1")
	require.NoError(t, request(second))
	synctest.Wait()
	require.Equal(t, 1, s.limits.idle.Len())
	third := s.dial("10.0.0.1")
	require.NoError(t, request(third))
	synctest.Wait()
	require.Equal(t, 1, s.limits.idle.Len())
	require.True(t, isClosed(second), "idle after its answer, and replaced")
	wait(third)
	require.Error(t, request(s.dial("10.0.0.1")), "all of its address have requests")
	wait(s.dial("10.0.0.2"))
	wait(s.dial("10.0.0.3"))
	require.Error(t, request(s.dial("10.0.0.4")), "all connections have requests")
	require.Equal(t, 4, s.counted())

	for _, c := range []net.Conn{first, third} {
		go func() { _, _ = io.Copy(io.Discard, c) }()
	}
	s.leave <- struct{}{}
	s.leave <- struct{}{}
	s.leave <- struct{}{}
	s.leave <- struct{}{}
	synctest.Wait()
	require.NoError(t, request(s.dial("10.0.0.4")), "the place of a connection that has become idle")
}

func tlsServer(c net.Conn) net.Conn { return tls.Server(c, nil) }

func TestTheSameConnectionsCountOverTLS(t *testing.T) {
	for _, wrap := range []func(net.Conn) net.Conn{func(c net.Conn) net.Conn { return c }, tlsServer} {
		l := newLimits(2, 2)
		c := &connection{l: l, address: clientnet.Of("10.0.0.1:1")}
		_, admitted := l.admit(c)
		require.True(t, admitted)
		require.Equal(t, 1, l.idle.Len())
		l.observe(wrap(c), http.StateActive)
		require.Zero(t, l.idle.Len())
		failedAttempts(withConnection(t.Context(), wrap(c))).Add(2)
		require.EqualValues(t, 2, c.failedAttempts.Load())
		l.observe(wrap(c), http.StateIdle)
		require.Equal(t, 1, l.idle.Len())
	}
}

func TestServersShareTheirLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := Config{Limits: newLimits(2, 2), Log: slog.New(slog.DiscardHandler)}
		one, other := newPipes(), newPipes()
		for _, p := range []*pipes{one, other} {
			defer serve(p, http.NotFoundHandler(), config).Close()
		}
		first := one.dial("10.0.0.1")
		synctest.Wait() // it is accepted before the others
		for i, closed := range []bool{false, true} {
			other.dial(fmt.Sprintf("10.0.1.%d", i))
			synctest.Wait()
			require.Equal(t, closed, isClosed(first), "the third replaces the first, of the other server")
		}
		require.Equal(t, 2, config.Limits.open)
	})
}

func TestAddressesOfConnectionsAreForgotten(t *testing.T) {
	l := newLimits(10, 10)
	for i := range 100 {
		_, admitted := l.admit(&connection{l: l, address: clientnet.Of(fmt.Sprintf("10.0.0.%d:1", i))})
		require.True(t, admitted)
		require.LessOrEqual(t, len(l.addresses), 10)
	}
	require.Len(t, l.addresses, 10)
	require.False(t, strings.Contains(fmt.Sprint(l.addresses), "10.0.0.1/"))
}
