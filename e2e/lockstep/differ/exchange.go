// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
)

// Request is a request that both sides get.
type Request struct {
	Method  string
	Path    string // with the query
	Pattern string // the path with placeholders, without the query
	Header  http.Header
	Body    []byte // nil for none
	Twist   string // the unusual part of the request, empty for none
	writes  bool   // the request may change a record, whatever its method
}

// String returns the request as a command of curl.
func (r Request) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "curl -X %s '$URL%s'", r.Method, r.Path)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&text, " -H '%s: %s'", name, r.Header.Get(name))
	}
	if r.Body != nil {
		fmt.Fprintf(&text, " -d '%s'", r.Body)
	}
	return text.String()
}

// classes returns the names of the classes of differences after the request.
func (r Request) classes(differences []string) (names []string) {
	of := r.Method + " " + r.Pattern
	if r.Twist != "" {
		of += " {" + r.Twist + "}"
	}
	for _, text := range differences {
		names = append(names, of+": "+text)
	}
	return names
}

// Answer is the answer of one side.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// String returns the status and the body.
func (a Answer) String() string { return fmt.Sprintf("%d %s", a.Status, a.Body) }

// host is the name by which both sides are asked, so that links are equal.
const host = "ironic.example.org"

// client sends requests to one side.
type client struct {
	endpoint string
	series   states.Series // the comparison itself asks in its newest version
	http     *http.Client
}

func newClient(endpoint string, series states.Series) *client {
	return &client{endpoint, series, &http.Client{
		// The server of 39.0.0 closes connections that have been idle for a while.
		Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// send sends a request. Without an answer it ends by package try.
func (c *client) send(ctx context.Context, r Request) Answer {
	target, err := url.Parse(c.endpoint + r.Path)
	try.OKf(err, "differ: make a request")
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, "http://"+target.Host, body)
	try.OKf(err, "differ: make a request")
	request.URL, request.Host = target, host
	maps.Copy(request.Header, r.Header)
	response, err := c.http.Do(request)
	try.OKf(err, "differ: %v", r)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	try.OKf(err, "differ: %v", r)
	return Answer{response.StatusCode, response.Header, content}
}
