// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func BenchmarkRequests(b *testing.B) {
	s := start(b, states.Antelope, api.Config{})
	s.fill()
	owner := s.create(`{"driver": "fake-hardware"}`)
	for i := range 1000 {
		s.do("POST", "/v1/ports", "latest",
			fmt.Sprintf(`{"address": "52:54:00:00:%02x:%02x", "node_uuid": "%s"}`, i/256, i%256, owner)).must(http.StatusCreated)
	}
	for _, c := range []struct{ name, method, path, body string }{
		{"show", "GET", "/v1/nodes/n500", ""},
		{"list 1000", "GET", "/v1/nodes", ""},
		{"list 10", "GET", "/v1/nodes?limit=10", ""},
		{"detail 1000", "GET", "/v1/nodes/detail", ""},
		{"ports 1000", "GET", "/v1/ports", ""},
		{"ports detail 1000", "GET", "/v1/ports/detail", ""},
		{"the costliest body", "POST", "/v1/allocations",
			`{"resource_class": "a", "traits": ` + dense(`"`+strings.Repeat("é", 30)+`"`, 9_900*63) + `}`},
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

// dense is a list of about n bytes in JSON.
func dense(part string, n int) string {
	return "[" + strings.Repeat(part+",", n/(len(part)+1)-1) + part + "]"
}
