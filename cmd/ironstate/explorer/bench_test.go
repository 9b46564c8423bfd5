// SPDX-License-Identifier: Apache-2.0

package explorer_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ironstate/ironstate/cmd/ironstate/explorer"
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/states"
)

// BenchmarkHundredThousandNodes measures the page's requests with 100,000 nodes. The first event of
// an explorer includes the read of all nodes.
func BenchmarkHundredThousandNodes(b *testing.B) {
	s := conductortest.New(b, conductortest.Config{})
	for n := range 100_000 {
		s.Add(conductor.Node{Name: fmt.Sprintf("node-%d", n), ProvisionState: states.Available})
	}
	for name, path := range map[string]string{
		"state": "/explorer/nodes?state=available", "find": "/explorer/nodes?find=node-99999", "node": "/explorer/nodes/node-5",
	} {
		b.Run(name, func(b *testing.B) {
			handler := explorer.New(s.Conductor, "", noTrouble).Around(http.NotFoundHandler())
			for b.Loop() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil))
				if w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
	b.Run("first event", func(b *testing.B) {
		for b.Loop() {
			firstEvent(b, explorer.New(s.Conductor, "", noTrouble))
		}
	})
}

// firstEvent runs an explorer until a listener has received its first event.
func firstEvent(b *testing.B, e *explorer.Explorer) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	l := &listener{header: http.Header{}, told: cancel}
	e.Around(http.NotFoundHandler()).ServeHTTP(l, httptest.NewRequestWithContext(ctx, http.MethodGet, "/explorer/events", nil))
	<-ended
	if len(l.events) != 1 || l.events[0].Nodes != 100_000 {
		b.Fatalf("%+v", l.events)
	}
}
