// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

const (
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 64 << 10
	// maxInformational bounds the number of 1xx answers before the final one.
	maxInformational = 5
)

var errHeader = failure.Reason(fmt.Sprintf("the header of an answer is longer than %d KiB", maxHeader>>10))

// wire is an HTTP/1.1 connection, for one request at a time. It replaces [http.Transport] for two reasons. If a
// connection is kept, Transport writes the bytes that follow an answer to the log, secrets included. And it may send
// a request whose context has ended in GotConn of a [net/http/httptrace.ClientTrace], where the fence would have to
// be asked.
type wire struct {
	conn   net.Conn
	suite  uint16 // the cipher suite
	budget *budget
	ahead  int64 // bytes that may still be read until the header is complete
	reader *bufio.Reader
}

// rsaSuites are the cipher suites with RSA key exchange that are offered.
var rsaSuites = []uint16{
	tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA,
}

// hasNoSuite reports whether the other side has refused a handshake by the alert handshake_failure (RFC 5246, section
// 7.2.2), as one that has none of the offered cipher suites does.
func hasNoSuite(err error) bool {
	const handshakeFailure = tls.AlertError(40)
	var operation *net.OpError // crypto/tls does not export the type of the alert in it
	return errors.As(err, &operation) && operation.Op == "remote error" && operation.Err.Error() == handshakeFailure.Error()
}

// dial opens a wire. Some BMCs have cipher suites with RSA key exchange alone. Which suite is used is the BMC's choice,
// and RSA has no forward secrecy: so RSA is only offered in a second handshake, to a BMC that has refused one without
// it, and then in the first one as long as the BMC uses it.
func (e *exchanger) dial(ctx context.Context) (w *wire, err error) {
	if !e.rsa {
		if w, err = e.dialOnce(ctx, e.config.TLS); !hasNoSuite(err) {
			return w, err
		}
	}
	config := e.config.TLS.Clone()
	config.CipherSuites = slices.Clone(rsaSuites)
	for _, suite := range tls.CipherSuites() {
		config.CipherSuites = append(config.CipherSuites, suite.ID)
	}
	w, err = e.dialOnce(ctx, config)
	e.rsa = err == nil && slices.Contains(rsaSuites, w.suite)
	return w, err
}

func (e *exchanger) dialOnce(ctx context.Context, config *tls.Config) (*wire, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", e.config.Address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(&meteredConn{Conn: raw, budget: &e.budget}, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		if wasCut(err) {
			err = failure.New(verify.Unreachable, err) // no part of a request was sent
		}
		return nil, err
	}
	w := &wire{conn: conn, suite: conn.ConnectionState().CipherSuite, budget: &e.budget}
	w.reader = bufio.NewReader(w)
	return w, nil
}

// interrupt ends the read or write in flight.
func (w *wire) interrupt() { _ = w.conn.SetDeadline(time.Unix(1, 0)) }

// Read reads from the connection, for the reader.
func (w *wire) Read(p []byte) (int, error) {
	if w.ahead <= 0 {
		return 0, errHeader
	}
	n, err := w.conn.Read(p[:min(int64(len(p)), w.ahead)])
	w.ahead -= int64(n)
	return n, err
}

// exchange sends a request and reads its answer, whose body has at most limit bytes. reusable reports whether the wire
// can send another one. The answer is nil if there was none, and lacks its body if only reading that failed.
func (w *wire) exchange(req *http.Request, limit int64) (a *Answer, reusable bool, err error) {
	if err := req.Write(w.conn); err != nil {
		return nil, false, err
	}
	resp, err := w.header(req)
	if err != nil {
		return nil, false, err
	}
	w.ahead = math.MaxInt64
	a = &Answer{Status: resp.StatusCode, reason: resp.Status, Header: resp.Header}
	if resp.StatusCode >= 400 {
		limit = min(limit, errorBytes)
	}
	body, whole, err := w.body(resp, limit)
	if resp.StatusCode >= 400 || req.Method != http.MethodGet && resp.StatusCode/100 == 2 && !a.isJSON() {
		err = nil // the beginning of an error answer suffices, and a change needs no body that is no JSON
	}
	if err == nil {
		a.Body = body
	}
	// The body is not closed: Close reads the rest of it, which may be endless.
	return a, whole && !resp.Close && w.reader.Buffered() == 0, err
}

// header reads the header of the answer to a request.
func (w *wire) header(req *http.Request) (*http.Response, error) {
	w.ahead = maxHeader
	for range maxInformational {
		resp, err := http.ReadResponse(w.reader, req)
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case resp.StatusCode >= 200:
			return resp, nil
		}
	}
	return nil, errors.New("no answer follows the informational ones")
}

// body reads the body of an answer, up to a limit, and reports whether it is complete.
func (w *wire) body(resp *http.Response, limit int64) (text []byte, whole bool, err error) {
	from := io.Reader(resp.Body)
	packed := resp.Header.Get("Content-Encoding") == "gzip"
	if packed {
		if from, err = gzip.NewReader(resp.Body); err != nil {
			return nil, false, err
		}
	}
	var body bytes.Buffer
	n, err := body.ReadFrom(io.LimitReader(from, limit+1))
	switch {
	case packed && !w.budget.spend(int(n)):
		return nil, false, errBytes
	case n > limit:
		return body.Bytes()[:limit], false, errAnswer
	}
	return body.Bytes(), err == nil && !packed, err
}
