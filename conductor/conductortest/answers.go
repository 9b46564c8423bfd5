package conductortest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
)

// Refuse answers the next requests that would change something with these statuses,
// one each, and does not carry them out: 409 as for a locked node, 503 as by a
// conductor without a free worker, or any other.
func (s *Server) Refuse(statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, statuses...)
}

// Wrap puts a handler around the API, for answers that are late, cut off or somebody
// else's. It is called before Refuse has a say. A request that the handler keeps
// waiting keeps [Server.Close] waiting too.
func (s *Server) Wrap(around func(api http.Handler) http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = around(s.handler)
}

// Fault answers a request as Ironic refuses one: with a status and a text, which a
// client of Ironic finds as JSON in a text in JSON. A nil w panics, as with [http.Error].
func Fault(w http.ResponseWriter, status int, text string) {
	fault := map[string]any{"faultcode": "Client", "faultstring": text, "debuginfo": nil}
	if status >= http.StatusInternalServerError {
		fault["faultcode"] = "Server"
	}
	if status == http.StatusNotAcceptable { // the web framework's own
		fault = map[string]any{"code": status, "title": http.StatusText(status), "description": text}
	}
	inner, _ := json.Marshal(fault)
	body, _ := json.Marshal(map[string]string{"error_message": string(inner)})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone away is not told
}

// refusal returns the status that the answer to a request was ordered to have, or 0.
func (s *Server) refusal(r *http.Request) (status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodGet && len(s.refusals) > 0 {
		status, s.refusals = s.refusals[0], s.refusals[1:]
	}
	return status
}

// refusalText returns what Ironic says with a status.
func refusalText(status int) string {
	switch status {
	case http.StatusConflict:
		return "Node is locked by host conductortest, please retry after the current operation is completed."
	case http.StatusServiceUnavailable:
		return "Requested action cannot be performed due to lack of free conductor workers."
	default:
		return fmt.Sprintf("The test refuses this request: %s.", http.StatusText(status))
	}
}

// read is a wait for a client to read a node.
type read struct {
	node *conductor.Node
	done chan struct{} // closed by the answer
}

// AwaitRead waits until a client has asked for a node, or for a list of nodes, and was
// answered. A request that came before does not count: the answer shows the node as it
// was when AwaitRead was called, or as it is since. The error is the context's, where
// that ends first.
func (s *Server) AwaitRead(ctx context.Context, n *conductor.Node) error {
	wait := &read{n, make(chan struct{})}
	s.mu.Lock()
	s.reads[wait] = true
	s.mu.Unlock()
	select {
	case <-wait.done:
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.reads, wait)
		return ctx.Err()
	}
}

// serve answers a request by the API, or refuses it, and tells those who wait for the
// answer.
func (s *Server) serve(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := s.refusal(r); status != 0 {
			Fault(w, status, refusalText(status))
			return
		}
		waits := s.waitsFor(r)
		api.ServeHTTP(w, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, wait := range waits {
			if s.reads[wait] {
				delete(s.reads, wait)
				close(wait.done)
			}
		}
	})
}

// waitsFor returns who waits for the answer to a request.
func (s *Server) waitsFor(r *http.Request) []*read {
	path, ok := strings.CutPrefix(strings.Trim(r.URL.Path, "/"), "v1/nodes")
	if !ok || r.Method != http.MethodGet {
		return nil
	}
	ident := strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/states")
	s.mu.Lock()
	defer s.mu.Unlock()
	var waits []*read
	for wait := range s.reads {
		if slices.Contains([]string{"", "detail", wait.node.UUID, wait.node.Name}, ident) {
			waits = append(waits, wait)
		}
	}
	return waits
}
