// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// Answer is the response to a request. Without a body it has no Content-Type.
type Answer struct {
	Status   int
	Body     []byte             // JSON
	Write    func(*wire.Writer) // writes the JSON instead of Body, for large responses
	Location string             // path below /v1, empty for none
}

// Accepted and NoContent are answers without a body.
var (
	Accepted  = Answer{Status: http.StatusAccepted}
	NoContent = Answer{Status: http.StatusNoContent}
)

// Value returns an answer with one JSON value.
func Value(write func(w *wire.Writer)) Answer {
	w := wire.New(1024)
	write(w)
	return Answer{Status: http.StatusOK, Body: w.B}
}

// Object returns an answer with a JSON object. write writes its keys and values.
func Object(write func(w *wire.Writer)) Answer {
	return Value(func(w *wire.Writer) {
		w.Open()
		write(w)
		w.Close()
	})
}

// ObjectWith returns an answer with a JSON object that has one key. write writes its value.
func ObjectWith(key string, write func(w *wire.Writer)) Answer {
	return Object(func(w *wire.Writer) {
		w.Key(key)
		write(w)
	})
}
