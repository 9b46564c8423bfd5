package rest

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// ObjectWith returns an answer with a JSON object that has one key.
func ObjectWith(key string, write func(w *wire.Writer)) Answer {
	w := wire.New(128)
	w.Open()
	w.Key(key)
	write(w)
	w.Close()
	return Answer{Status: http.StatusOK, Body: w.B}
}

// Answer is the response to a request. Without a body it has no Content-Type.
type Answer struct {
	Status   int
	Body     []byte             // JSON
	Write    func(*wire.Writer) // writes the JSON instead of body, for large responses
	Location string             // path below /v1, empty for none
}

var NoContent = Answer{Status: http.StatusNoContent}
