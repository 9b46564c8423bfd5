package api_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func BenchmarkRequests(b *testing.B) {
	s := start(b, states.Antelope, api.Config{})
	for i := range 1000 {
		s.create(fmt.Sprintf(`{"driver": "fake-hardware", "name": "n%d", "driver_info": {"ipmi_address": "10.0.0.1", "ipmi_password": "x"}, "properties": {"cpus": 4}}`, i))
	}
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
				s.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}
