// SPDX-License-Identifier: Apache-2.0

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

// Refuse makes the next requests other than GET fail, each with one of the statuses in order,
// without any effect. 409 has the text of a locked node, 503 the text of a conductor without a free
// worker; any other status is possible.
func (s *Server) Refuse(statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, statuses...)
}

// Wrap wraps the API in a handler, for responses that are delayed, truncated or replaced. The
// handler sees requests before Refuse does. [Server.Close] waits for requests that the handler
// delays.
func (s *Server) Wrap(around func(api http.Handler) http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = around(s.handler)
}

// Fault responds with a status and a text in the form of Ironic's faults: JSON within a string
// within JSON. A nil w panics, as with [http.Error].
func Fault(w http.ResponseWriter, status int, text string) {
	fault := map[string]any{"faultcode": "Client", "faultstring": text, "debuginfo": nil}
	if status >= http.StatusInternalServerError {
		fault["faultcode"] = "Server"
	}
	if status == http.StatusNotAcceptable { // the fault of Ironic's web framework
		fault = map[string]any{"code": status, "title": http.StatusText(status), "description": text}
	}
	inner, _ := json.Marshal(fault)
	body, _ := json.Marshal(map[string]string{"error_message": string(inner)})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client has disconnected
}

// refusal returns the status that Refuse has set for the request and the text of Ironic's fault with the
// status. The status is 0 if the request is not refused.
func (s *Server) refusal(r *http.Request) (status int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet || len(s.refusals) == 0 {
		return 0, ""
	}
	status, s.refusals = s.refusals[0], s.refusals[1:]
	switch status {
	case http.StatusConflict:
		return status, "Node is locked by host conductortest, please retry after the current operation is completed."
	case http.StatusServiceUnavailable:
		return status, "Requested action cannot be performed due to lack of free conductor workers."
	default:
		return status, fmt.Sprintf("The test refuses this request: %s.", http.StatusText(status))
	}
}

// read is a call of AwaitRead.
type read struct {
	node *conductor.Node
	done chan struct{} // closed after the response
}

// AwaitRead waits until a client has requested a node or a list of nodes and the response has
// been sent. Only requests that arrive after the call of AwaitRead count, so that the response
// shows the node as it was at that time or later. If the context ends first, AwaitRead returns
// its error.
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

// serve wraps the API: it refuses requests as set by Refuse, and after each response wakes the
// calls of AwaitRead for it.
func (s *Server) serve(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, text := s.refusal(r); status != 0 {
			Fault(w, status, text)
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

// waitsFor returns the calls of AwaitRead that the response to a request ends.
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
