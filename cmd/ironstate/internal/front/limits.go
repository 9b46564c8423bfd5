// SPDX-License-Identifier: Apache-2.0

package front

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/ironstate/ironstate/internal/clientnet"
)

const (
	// maxConnections bounds the connections of clients. Each needs up to about 100 KiB of this process, of which
	// receiveBuffer is for bodies by HTTP/2, and twice writeBuffer in the kernel.
	maxConnections = 12_000
	// maxAddressConnections bounds the connections of one client address, see [clientnet.Of].
	maxAddressConnections = 1_000
	// writeBuffer bounds the kernel's send buffer of a connection in bytes. By default it
	// can grow to megabytes for a response that the client does not read.
	writeBuffer = 64 << 10
)

// Limits bound the number of open connections of one or more servers: 12,000 in all, and 1,000 of each client address,
// in IPv6 of a network of 64 bits. If a limit is reached, a new connection replaces the connection that has been idle
// longest; for the limit of an address, one of the same address. If none is idle, the new one is closed. A connection
// is idle while no request on it has been read completely up to the end of its header.
type Limits struct {
	most, mostOfAddress int

	mu        sync.Mutex
	open      int
	idle      *list.List // of *connection, longest idle first
	addresses map[netip.Prefix]*connections
}

// listener is a listener whose connections count towards limits.
type listener struct {
	net.Listener
	*Limits
}

// connections are the open connections of one address.
type connections struct {
	open int
	idle *list.List // of *connection
}

// connection is an accepted connection.
type connection struct {
	net.Conn
	l              *Limits
	address        netip.Prefix
	failedAttempts atomic.Int32 // to log in

	inAll, inAddress *list.Element // in the lists of idle connections; nil while it is not idle
	closed           bool
}

// NewLimits returns the limits of a service whose servers share them.
func NewLimits() *Limits { return newLimits(maxConnections, maxAddressConnections) }

// newLimits returns the given limits of open connections, in all and of each client address.
func newLimits(most, mostOfAddress int) *Limits {
	return &Limits{most: most, mostOfAddress: mostOfAddress, idle: list.New(), addresses: map[netip.Prefix]*connections{}}
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if tcp, ok := accepted.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(writeBuffer) // fails only if the client has disconnected
		}
		c := &connection{Conn: accepted, l: l.Limits, address: clientnet.Of(accepted.RemoteAddr().String())}
		replaced, admitted := l.admit(c)
		if replaced != nil {
			_ = replaced.Conn.Close()
		}
		if admitted {
			return c, nil
		}
		_ = accepted.Close()
	}
}

// admit counts a new connection, unless it must be closed. It returns the connection that must be closed in its place,
// if any.
func (l *Limits) admit(c *connection) (replaced *connection, admitted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	same, found := l.addresses[c.address]
	if !found {
		same = &connections{idle: list.New()}
	}
	full := (*list.List)(nil)
	switch {
	case same.open >= l.mostOfAddress:
		full = same.idle
	case l.open >= l.most:
		full = l.idle
	}
	if full != nil {
		if full.Len() == 0 {
			return nil, false
		}
		replaced = full.Front().Value.(*connection)
		l.remove(replaced)
	}
	l.addresses[c.address] = same // again, if the connection that was removed was its only one
	same.open++
	l.open++
	l.setIdle(c, true)
	return replaced, true
}

// setIdle moves a connection into the lists of idle ones, at their end, or out of them. The caller holds mu.
func (l *Limits) setIdle(c *connection, idle bool) {
	same := l.addresses[c.address]
	if c.inAll != nil {
		l.idle.Remove(c.inAll)
		same.idle.Remove(c.inAddress)
		c.inAll, c.inAddress = nil, nil
	}
	if idle {
		c.inAll, c.inAddress = l.idle.PushBack(c), same.idle.PushBack(c)
	}
}

// remove stops counting a connection. The caller holds mu.
func (l *Limits) remove(c *connection) {
	if c.closed {
		return
	}
	c.closed = true
	l.setIdle(c, false)
	l.open--
	same := l.addresses[c.address]
	if same.open--; same.open == 0 {
		delete(l.addresses, c.address)
	}
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.l.mu.Lock()
	c.l.remove(c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}

// observe is the ConnState of the server: it keeps the lists of idle connections.
func (l *Limits) observe(conn net.Conn, state http.ConnState) {
	c := accepted(conn)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.closed && (state == http.StateActive || state == http.StateIdle) {
		l.setIdle(c, state == http.StateIdle)
	}
}

// accepted returns the connection that a listener has accepted, which TLS and framing may have wrapped.
func accepted(conn net.Conn) *connection {
	switch wrapped := conn.(type) {
	case *tls.Conn:
		return accepted(wrapped.NetConn())
	case *followed:
		return accepted(wrapped.Conn)
	case *followedTLS:
		return accepted(wrapped.Conn)
	}
	return conn.(*connection)
}

// failedKey is the context key of the number of a connection's attempts to log in that have failed.
type failedKey struct{}

// withConnection is the ConnContext of the server.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return withFailedAttempts(ctx, &accepted(conn).failedAttempts)
}

func withFailedAttempts(ctx context.Context, count *atomic.Int32) context.Context {
	return context.WithValue(ctx, failedKey{}, count)
}
