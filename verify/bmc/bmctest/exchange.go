// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"net"
	"net/http"
	"time"
)

// exchange is a request without a response yet.
type exchange struct {
	bmc   *Redfish
	w     http.ResponseWriter
	call  *call
	entry *Request
}

// answer carries the request out and returns a healthy BMC's reply.
func (x *exchange) answer() *reply { return x.bmc.answer(x.call) }

// send sends a reply without any fault.
func (x *exchange) send(p *reply) {
	x.bmc.mu.Lock()
	x.entry.Status = p.status
	x.bmc.mu.Unlock()
	p.send(x.w)
}

// statusRecorder is the ResponseWriter of an exchange; it records the status.
type statusRecorder struct {
	http.ResponseWriter
	x *exchange
}

func (s statusRecorder) WriteHeader(status int) {
	s.record(status)
	s.ResponseWriter.WriteHeader(status)
}

func (s statusRecorder) Write(data []byte) (int, error) {
	s.record(http.StatusOK)
	return s.ResponseWriter.Write(data)
}

// Unwrap is for [http.ResponseController].
func (s statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// record records the first status.
func (s statusRecorder) record(status int) {
	s.x.bmc.mu.Lock()
	defer s.x.bmc.mu.Unlock()
	if s.x.entry.Status == 0 {
		s.x.entry.Status = status
	}
}

// wait waits for d. It returns false if the BMC closes or the client disconnects first.
func (x *exchange) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.call.Context().Done():
	case <-x.bmc.done:
	}
	return false
}

// take takes over the connection from net/http. It fails if the request has no connection, as in a test of the handler.
func (x *exchange) take() (net.Conn, bool) {
	c, _, err := http.NewResponseController(x.w).Hijack()
	return c, err == nil
}

// cut sends no more than n bytes of a response and leaves the connection open.
func (x *exchange) cut(p *reply, n int) (net.Conn, bool) {
	response := p.bytes(x.call.Request)
	c, ok := x.take()
	if !ok {
		return nil, false
	}
	if _, err := c.Write(response[:min(max(n, 0), len(response))]); err != nil {
		_ = c.Close()
		return nil, false
	}
	return c, true
}

// drip sends a response byte by byte.
func (x *exchange) drip(p *reply, interval time.Duration) {
	c, ok := x.take()
	if !ok {
		return
	}
	defer c.Close()
	for _, one := range p.bytes(x.call.Request) {
		if _, err := c.Write([]byte{one}); err != nil || !x.wait(interval) {
			return
		}
	}
}

// reset answers with a TCP RST.
func (x *exchange) reset() {
	if c, ok := x.take(); ok {
		rawConn(c).reset()
	}
}
