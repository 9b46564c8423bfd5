package api

import (
	"net/http"
	"sync"
)

// pieceSize is how many bytes of an answer are kept before they are sent, roughly: an
// object within the answer is not torn. It bounds the memory that a client holds which
// does not read its answer.
const pieceSize = 32 << 10

// pieces has writers whose buffers are used again.
var pieces = sync.Pool{New: func() any { return newWriter(pieceSize + pieceSize/4) }}

// send writes an answer piece by piece. One that is a single piece has a length. A
// panic breaks the answer off, or becomes an answer 500 where none has begun.
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
		_, _ = to.Write(w.b) // a client that has gone away is not told
	} else {
		reply(to, a.status, w.b)
	}
}

// begun reports whether a piece of the answer was sent.
func (w *writer) begun() bool { return w.status == 0 }

// sendPiece sends what was written so far once that is enough for a piece. It keeps the
// last byte, which tells whether a comma is due.
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
	_, _ = w.to.Write(w.b[:last]) // a client that has gone away is not told
	w.b = append(w.b[:0], w.b[last])
}
