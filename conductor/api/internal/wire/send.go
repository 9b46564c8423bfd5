// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"net/http"
	"strconv"
	"sync"
)

// pieceSize is the approximate number of bytes after which the buffered part of a response is sent. A piece is sent at
// the end of a JSON object, except for its last byte. pieceSize so bounds the memory of lists of small objects that a
// client occupies if it does not read its response.
const pieceSize = 32 << 10

// pieces pools writers for reuse.
var pieces = sync.Pool{New: func() any { return New(pieceSize + pieceSize/4) }}

// Send writes a response in pieces. A response of a single piece has a Content-Length. If write panics, Send calls
// logPanic. It then aborts the connection if a piece was sent, and returns false otherwise. The writer of a panic is
// not used again.
func Send(to http.ResponseWriter, status int, write func(*Writer), logPanic func(p any)) (sent bool) {
	w := pieces.Get().(*Writer)
	w.B, w.to, w.status = w.B[:0], to, status
	defer func() {
		p := recover()
		if p == nil {
			if cap(w.B) <= 2*pieceSize {
				w.to = nil
				pieces.Put(w)
			}
			return
		}
		logPanic(p)
		if w.begun() {
			panic(http.ErrAbortHandler)
		}
	}()
	write(w)
	if w.begun() {
		_, _ = to.Write(w.B) // fails only if the client has disconnected
	} else {
		Reply(to, status, w.B)
	}
	return true
}

// Reply writes a response whose body is complete.
func Reply(w http.ResponseWriter, status int, body []byte) {
	if len(body) > 0 {
		header := w.Header()
		header["Content-Type"] = contentType
		header["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client has disconnected
}

var contentType = []string{"application/json"}

// begun reports whether a piece of the response was sent.
func (w *Writer) begun() bool { return w.status == 0 }

// sendPiece sends the buffered bytes if they are enough for a piece. It keeps the last byte, from
// which begin decides whether a comma is needed.
func (w *Writer) sendPiece() {
	if w.to == nil || len(w.B) < pieceSize {
		return
	}
	if !w.begun() {
		w.to.Header()["Content-Type"] = contentType
		w.to.WriteHeader(w.status)
		w.status = 0
	}
	last := len(w.B) - 1
	_, _ = w.to.Write(w.B[:last]) // fails only if the client has disconnected
	w.B = append(w.B[:0], w.B[last])
}
