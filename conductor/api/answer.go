package api

import "net/http"

// objectWith returns an answer with a JSON object that has one key.
func objectWith(key string, write func(w *writer)) answer {
	w := newWriter(128)
	w.open()
	w.key(key)
	write(w)
	w.close()
	return answer{status: http.StatusOK, body: w.b}
}

// answer is the response to a request. Without a body it has no Content-Type.
type answer struct {
	status   int
	body     []byte        // JSON
	write    func(*writer) // writes the JSON instead of body, for large responses
	location string        // path below /v1, empty for none
}

var statusNoContent = answer{status: http.StatusNoContent}
