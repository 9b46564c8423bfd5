package api_test

import (
	"strings"
	"testing"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func BenchmarkRequests(b *testing.B) {
	s := start(b, states.Antelope, api.Config{})
	s.fill()
	for _, c := range []struct{ name, method, path, body string }{
		{"show", "GET", "/v1/nodes/n500", ""},
		{"list 1000", "GET", "/v1/nodes", ""},
		{"detail 1000", "GET", "/v1/nodes/detail", ""},
		{"patch", "PATCH", "/v1/nodes/n500", `[{"op": "add", "path": "/extra/a", "value": "b"}]`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := request(c.method, c.path, "1.82", strings.NewReader(c.body))
				s.ServeHTTP(&counter{}, r)
			}
		})
	}
}
