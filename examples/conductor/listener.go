package main

import (
	"net"

	"golang.org/x/net/netutil"
)

const (
	// maxConnections bounds the clients' connections. Each takes up to some 100 KiB, of
	// which the system has writeBuffer, twice.
	maxConnections = 12_000
	// writeBuffer bounds what the system keeps of an answer that is not read. It would
	// keep megabytes.
	writeBuffer = 64 << 10
)

// bounded returns a listener whose connections are bounded in number and memory. Where
// there are as many as may be, the next wait.
func bounded(l net.Listener) net.Listener {
	return netutil.LimitListener(frugal{l}, maxConnections)
}

// frugal is a listener whose connections keep little of what is not read.
type frugal struct{ net.Listener }

// Accept implements [net.Listener].
func (f frugal) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // fails where the client has gone away
	}
	return c, err
}
