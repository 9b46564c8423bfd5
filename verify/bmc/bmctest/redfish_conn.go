// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// portState is the state of the port, below HTTP.
type portState uint8

const (
	portTLS     portState = iota
	portPlain             // HTTP without TLS
	portSilent            // connections are accepted, and nothing is ever sent
	portRefused           // nothing listens, and the port is reserved
)

// conn is an accepted connection. The BMC keeps all open ones, so that it can end them.
type conn struct {
	*net.TCPConn
	bmc  *Redfish
	once sync.Once
	err  error
}

// Close closes the connection and removes it from the BMC.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.bmc.mu.Lock()
		delete(c.bmc.conns, c)
		c.bmc.mu.Unlock()
		c.err = c.TCPConn.Close()
	})
	return c.err
}

// reset closes the connection with a TCP RST.
func (c *conn) reset() {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// hangUp resets all connections. The caller holds b.mu.
func (b *Redfish) hangUp() {
	for c := range b.conns {
		_ = c.SetLinger(0)
		_ = c.TCPConn.Close()
	}
}

// serve answers on l until l is closed.
func (b *Redfish) serve(l net.Listener) {
	accept := &listener{Listener: l, bmc: b}
	b.listener = accept
	b.alive.Go(func() { _ = b.server.Serve(accept) })
}

// listener returns connections according to the state of the port.
type listener struct {
	net.Listener
	bmc *Redfish
}

// Accept waits for the next connection to serve.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{TCPConn: raw.(*net.TCPConn), bmc: l.bmc}
		switch l.bmc.admit(c) {
		case portTLS:
			return tls.Server(c, l.bmc.certs.tls), nil
		case portPlain:
			return c, nil
		case portSilent:
			l.bmc.alive.Go(func() { drain(c) })
		case portRefused:
			c.reset()
		}
	}
}

// Close may be called again: net/http closes a listener that Refuse has closed before.
func (l *listener) Close() error {
	if err := l.Listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// admit registers c and returns the state of the port.
func (b *Redfish) admit(c *conn) portState {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return portRefused
	}
	b.conns[c] = struct{}{}
	return b.port
}

// setPort changes the state of the port and resets all connections. The caller holds b.mu.
func (b *Redfish) setPort(state portState) {
	if b.closed || b.port == state {
		return
	}
	b.port = state
	if state == portRefused {
		_ = b.listener.Close()
	}
	b.hangUp()
}

// restorePort restores the initial state of the port. The caller holds b.mu.
func (b *Redfish) restorePort() error {
	if b.closed {
		return nil
	}
	refused := b.port == portRefused
	b.setPort(portTLS)
	if !refused {
		return nil
	}
	l, err := listenAgain(b.Addr)
	if err != nil {
		b.port = portRefused
		return fmt.Errorf("bmctest: listen again on %s: %w", b.Addr, err)
	}
	b.serve(l)
	return nil
}

// countConn counts a connection in b.alive while net/http has a goroutine for it.
func (b *Redfish) countConn(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		b.alive.Add(1)
	case http.StateClosed, http.StateHijacked:
		b.alive.Done()
	}
}

// drain reads until the peer or the BMC closes the connection.
func drain(c net.Conn) {
	_, _ = io.Copy(io.Discard, c)
	_ = c.Close()
}

// rawConn is the connection below TLS, if there is TLS.
func rawConn(c net.Conn) *conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return c.(*conn)
}

// listenAgain listens on an address that was closed before. If its port was not reserved, another process may hold it
// for a moment, so listenAgain tries for two seconds.
func listenAgain(address string) (net.Listener, error) {
	const attempts, pause = 100, 20 * time.Millisecond
	for n := 1; ; n++ {
		l, err := net.Listen("tcp", address)
		if err == nil || n == attempts || !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
		time.Sleep(pause)
	}
}
