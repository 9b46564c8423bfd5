// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"strings"
)

// framing follows the requests on an HTTP/1 connection up to the first one after which the server closes the
// connection, and refuses a request whose length another program could read in another way. The server alone cannot:
// it ignores Content-Length beside Transfer-Encoding, and Transfer-Encoding by HTTP/1.0.
//
// Source: RFC 9112, sections 5.2, 6.1 and 6.3.
type framing struct {
	at    part
	body  int64  // bytes of the body that are still to come
	line  []byte // the begin of the current line; of a request line also the end
	cut   bool   // the line has more
	old   bool   // the request is not by HTTP/1.1
	sized bool   // it has Content-Length
	coded bool   // it has Transfer-Encoding
}

// part is a part of a connection.
type part int

const (
	inRequestLine part = iota
	inHeader
	inBody
	inRest // after the header of the last request
)

// maxLine is how many bytes of a line are kept. A Content-Length whose line is longer is refused.
const maxLine = 128

// errAmbiguous refuses a request. The server answers 400 and closes the connection.
var errAmbiguous = errors.New("the length of a request can be read in two ways")

// follow returns how many of the bytes belong to requests that the server may read. It returns errAmbiguous with the
// bytes before the end of a line that must not be read.
func (f *framing) follow(p []byte) (n int, err error) {
	for n < len(p) {
		switch f.at {
		case inRest:
			return len(p), nil
		case inBody:
			skipped := min(f.body, int64(len(p)-n))
			n += int(skipped)
			if f.body -= skipped; f.body == 0 {
				f.at = inRequestLine
			}
		default:
			end := bytes.IndexByte(p[n:], '\n')
			if end < 0 {
				f.keep(p[n:])
				return len(p), nil
			}
			f.keep(p[n : n+end])
			if err := f.endLine(); err != nil {
				return n + end, err
			}
			f.line, f.cut = f.line[:0], false
			n += end + 1
		}
	}
	return n, nil
}

// keep adds to the current line.
func (f *framing) keep(p []byte) {
	if f.at == inRequestLine { // the version is at its end
		f.line = append(f.line, p[max(0, len(p)-maxLine):]...)
		f.line = append(f.line[:0], f.line[max(0, len(f.line)-maxLine):]...)
		return
	}
	room := min(len(p), maxLine-len(f.line))
	f.cut = f.cut || room < len(p)
	f.line = append(f.line, p[:room]...)
}

// endLine handles a complete line.
func (f *framing) endLine() error {
	line := strings.TrimSuffix(string(f.line), "\r")
	switch {
	case f.at == inRequestLine && line == "":
		return nil // empty lines before a request are ignored
	case f.at == inRequestLine:
		*f = framing{at: inHeader, line: f.line, old: !strings.HasSuffix(line, " HTTP/1.1")}
		return nil
	case line == "":
		f.at = f.nextPart()
		return nil
	case line[0] == ' ' || line[0] == '\t':
		return errAmbiguous // a folded line
	}
	name, value, _ := strings.Cut(line, ":")
	switch {
	case strings.EqualFold(name, "Transfer-Encoding"):
		f.coded = true
	case strings.EqualFold(name, "Content-Length"):
		length, err := strconv.ParseUint(strings.Trim(value, " \t"), 10, 63)
		if err != nil || f.sized || f.cut {
			return errAmbiguous
		}
		f.sized, f.body = true, int64(length)
	}
	if f.coded && (f.sized || f.old) {
		return errAmbiguous
	}
	return nil
}

// nextPart returns the part of the connection after a request's header. The server closes the connection after a
// request of another version than HTTP/1.1 or with Transfer-Encoding, see closeAfterLast.
func (f *framing) nextPart() part {
	switch {
	case f.old || f.coded:
		return inRest
	case f.body > 0:
		return inBody
	}
	return inRequestLine
}

// followed is a connection whose requests framing follows.
type followed struct {
	net.Conn
	framing framing
	failed  error
}

// Read implements [net.Conn].
func (c *followed) Read(p []byte) (int, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	n, err := c.Conn.Read(p)
	passed, refused := c.framing.follow(p[:n])
	if refused == nil {
		return n, err
	}
	c.failed = refused
	if passed > 0 {
		return passed, nil
	}
	return 0, refused
}

// followedTLS is a followed connection by TLS. The server takes the state of TLS from its method ConnectionState.
type followedTLS struct {
	followed
	tls *tls.Conn
}

// ConnectionState returns the state of TLS.
func (c *followedTLS) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }
