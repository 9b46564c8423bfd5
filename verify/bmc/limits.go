package bmc

import (
	"errors"
	"net"
	"sync/atomic"
)

// The bounds of a log-out, which is beyond the limits.
const (
	logoutBytes    = 256 << 10
	logoutRequests = 4
)

// errorBytes is how much is read of the body of an error answer.
const errorBytes = 64 << 10

var (
	errBytes    = errors.New("the BMC sends more bytes than the limit")
	errAnswer   = errors.New("an answer is longer than the limit")
	errRequests = errors.New("more requests are needed than the limit")
	errMembers  = errors.New("the collection has more members than the limit")
)

// budget is the rest of the limits on bytes and requests.
type budget struct {
	bytes    atomic.Int64
	requests atomic.Int64
}

func (b *budget) set(bytes int64, requests int) {
	b.bytes.Store(bytes)
	b.requests.Store(int64(requests))
}

// spend takes bytes off and reports whether they were there.
func (b *budget) spend(bytes int) bool { return b.bytes.Add(-int64(bytes)) >= 0 }

// request takes one request off and reports whether it was there.
func (b *budget) request() bool { return b.requests.Add(-1) >= 0 }

// meteredConn takes the bytes that are read off a budget.
type meteredConn struct {
	net.Conn
	budget *budget
}

func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.budget.spend(n) {
		return 0, errBytes
	}
	return n, err
}
