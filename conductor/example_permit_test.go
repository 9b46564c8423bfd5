// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/ironstate/ironstate/conductor"
)

// permitted asks for permission before each request. All requests of a hardware type that uses an
// http.Client with this transport are permitted ones, also in its steps.
type permitted struct{ http.RoundTripper }

func (p permitted) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := conductor.Permit(req.Context()); err != nil {
		return nil, err
	}
	return p.RoundTripper.RoundTrip(req)
}

// The HTTP client of a hardware type for power distribution units.
func ExamplePermit() {
	unit := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { fmt.Println(r.Method, r.URL.Path) }))
	defer unit.Close()
	client := &http.Client{Transport: permitted{http.DefaultTransport}}

	ctx := context.Background() // in a hardware type, the context of the method or the step
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, unit.URL+"/outlets/7", strings.NewReader("off"))
	if err != nil {
		panic(err)
	}
	answer, err := client.Do(req)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	// Output: PUT /outlets/7
}
