package api

import (
	"net/http"
	"sync"
)

// pieceSize is the approximate number of bytes after which the buffered part of a response is sent.
// A piece ends only after a complete JSON object. pieceSize bounds the memory that a client
// occupies if it does not read its response.
const pieceSize = 32 << 10

// pieces pools writers for reuse.
var pieces = sync.Pool{New: func() any { return newWriter(pieceSize + pieceSize/4) }}

// send writes a response in pieces. A response of a single piece has a Content-Length. A panic
// aborts the connection, or becomes a response 500 if no piece was sent.
func (h *handler) send(to http.ResponseWriter, r *request, a answer) {
	w := pieces.Get().(*writer)
	w.b, w.to, w.status = w.b[:0], to, a.status
	defer func() {
		p := recover()
		if cap(w.b) <= 2*pieceSize {
			w.to = nil
			pieces.Put(w)
		}
		switch {
		case p == nil:
		case w.begun():
			h.logPanic(r, p)
			panic(http.ErrAbortHandler)
		default:
			h.logPanic(r, p)
			f := h.refuse(to, r, errInternal)
			reply(to, f.status, f.body)
		}
	}()
	a.write(w)
	if w.begun() {
		_, _ = to.Write(w.b) // fails only if the client has disconnected
	} else {
		reply(to, a.status, w.b)
	}
}

// begun reports whether a piece of the response was sent.
func (w *writer) begun() bool { return w.status == 0 }

// sendPiece sends the buffered bytes if they are enough for a piece. It keeps the last byte, from
// which begin decides whether a comma is needed.
func (w *writer) sendPiece() {
	if w.to == nil || len(w.b) < pieceSize {
		return
	}
	if !w.begun() {
		w.to.Header()["Content-Type"] = contentType
		w.to.WriteHeader(w.status)
		w.status = 0
	}
	last := len(w.b) - 1
	_, _ = w.to.Write(w.b[:last]) // fails only if the client has disconnected
	w.b = append(w.b[:0], w.b[last])
}
