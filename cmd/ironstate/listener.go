package main

import (
	"net"

	"golang.org/x/net/netutil"
)

const (
	// maxConnections bounds the connections of clients. Each needs up to about 100 KiB,
	// including twice writeBuffer in the kernel.
	maxConnections = 12_000
	// writeBuffer bounds the kernel's send buffer of a connection in bytes. By default it
	// can grow to megabytes for a response that the client does not read.
	writeBuffer = 64 << 10
)

// bounded returns a listener whose connections are bounded in number and memory. Further
// connections wait until one is closed.
func bounded(l net.Listener) net.Listener {
	return netutil.LimitListener(frugal{l}, maxConnections)
}

// frugal is a listener whose connections have a small send buffer.
type frugal struct{ net.Listener }

// Accept implements [net.Listener].
func (f frugal) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // fails only if the client has disconnected
	}
	return c, err
}
