// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"net"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// The bounds of a log-out, to which the limits of Config do not apply.
const (
	logoutBytes    = 256 << 10
	logoutRequests = 4
)

// errorBytes is the most that is read of the body of an error answer, in bytes.
const errorBytes = 64 << 10

const (
	errBytes    = failure.Reason("the BMC sends more bytes than the limit")
	errAnswer   = failure.Reason("an answer is longer than the limit")
	errRequests = failure.Reason("more requests are needed than the limit")
	errMembers  = failure.Reason("the collection has more members than the limit")
)

// budget is the remainder of the limits on bytes and requests.
type budget struct {
	bytes    int64
	requests int
}

// spend subtracts bytes and reports whether they were within the limit.
func (b *budget) spend(bytes int) bool {
	b.bytes -= int64(bytes)
	return b.bytes >= 0
}

// request subtracts one request and reports whether it was within the limit.
func (b *budget) request() bool {
	b.requests--
	return b.requests >= 0
}

// spent reports whether no further request is within the limits.
func (b *budget) spent() bool { return b.requests <= 0 || b.bytes < 0 }

// meteredConn subtracts the bytes that are read from a budget.
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
