package bmc

import (
	"cmp"
	"errors"
	"net"
	"sync/atomic"
)

// Limits bound what one verification, or one call of a [Driver], takes from a
// Redfish BMC. A field that is 0 stands for its default. What goes beyond ends in
// an error of the kind [verify.Protocol]; the log-out that follows is not counted.
type Limits struct {
	Bytes       int64 // read in all, TLS and headers included; 16 MiB
	AnswerBytes int64 // of one answer's body, decompressed; 1 MiB
	Requests    int   // sent; 64
	Members     int   // of the collection of systems that are looked at; 256
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Bytes:       cmp.Or(l.Bytes, 16<<20),
		AnswerBytes: cmp.Or(l.AnswerBytes, 1<<20),
		Requests:    cmp.Or(l.Requests, 64),
		Members:     cmp.Or(l.Members, 256),
	}
}

func (l Limits) check() error {
	if l.Bytes < 0 || l.AnswerBytes < 0 || l.Requests < 0 || l.Members < 0 {
		return errors.New("a limit is negative")
	}
	return nil
}

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
