// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"io"
	"net/http"
	"slices"
	"strings"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 64 << 10

// resource is the resource at a path, with a handler for each method. The handlers run with Redfish.mu held.
type resource struct {
	get   func() *reply
	post  func(*call) *reply
	patch func(*call) *reply
	del   func(*call) *reply

	open  []string  // methods that need no credentials
	owner *resource // the resource whose ETag is compared with If-Match; nil for the resource itself, if it has a get
}

// call is a request with its body.
type call struct {
	*http.Request
	body []byte
}

func (b *Redfish) serveHTTP(w http.ResponseWriter, r *http.Request) {
	b.alive.Add(1)
	defer b.alive.Done()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	x := &exchange{bmc: b, w: w, call: &call{Request: r, body: body}, entry: b.logRequest(r)}
	if err != nil {
		x.send(problem(http.StatusRequestEntityTooLarge, "Base.1.18.PayloadTooLarge",
			"The supplied payload exceeds the maximum size supported by the service."))
		return
	}
	if faulty := b.fault(x.call); faulty != nil {
		faulty(x)
		return
	}
	x.send(x.answer())
}

// logRequest logs the request and counts a login attempt.
func (b *Redfish) logRequest(r *http.Request) *Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	path := cleanPath(r.URL.Path)
	_, _, basic := r.BasicAuth()
	if basic && !b.find(path).isOpen(r.Method) || r.Method == http.MethodPost && path == sessionsPath {
		b.logins.Attempts++
	}
	entry := &Request{Method: r.Method, Path: r.URL.Path}
	if len(b.requests) == maxRequests {
		b.requests = slices.Delete(b.requests, 0, 1)
	}
	b.requests = append(b.requests, entry)
	return entry
}

// answer carries a request out and returns a healthy BMC's reply.
func (b *Redfish) answer(c *call) *reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v := c.Header.Get("OData-Version"); v != "" && v != "4.0" {
		return problem(http.StatusPreconditionFailed, "Base.1.18.HeaderInvalid",
			"Header 'OData-Version' is invalid.", "OData-Version")
	}
	res := b.find(cleanPath(c.URL.Path))
	if !res.isOpen(c.Method) {
		if refusal := b.authenticate(c.Request); refusal != nil {
			return refusal
		}
	}
	if res == nil {
		return notFound(c.URL.Path)
	}
	handle := res.handler(c.Method)
	if handle == nil {
		return notAllowed(res.allow())
	}
	if !isRead(c.Method) && !res.matches(c.Header.Get("If-Match"), b.profile().ETags) {
		return otherETag()
	}
	if refusal := b.profile().refuse(c); refusal != nil {
		return refusal
	}
	r := b.profile().spell(handle(c))
	if isRead(c.Method) { // by DSP0266 "Allow"
		r.header.Set("Allow", strings.Join(res.allow(), ", "))
	}
	return r
}

// isOpen reports whether a method needs no credentials. A resource that does not exist needs them.
func (res *resource) isOpen(method string) bool {
	if res == nil {
		return false
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return slices.Contains(res.open, method)
}

// handler returns the handler of a method, nil if the resource does not support the method.
func (res *resource) handler(method string) func(*call) *reply {
	switch {
	case isRead(method) && res.get != nil:
		return func(*call) *reply { return res.get() }
	case method == http.MethodPost:
		return res.post
	case method == http.MethodPatch:
		return res.patch
	case method == http.MethodDelete:
		return res.del
	}
	return nil
}

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func (res *resource) allow() []string {
	var methods []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		if res.handler(m) != nil {
			methods = append(methods, m)
		}
	}
	return methods
}

// matches evaluates an If-Match header, RFC 9110 section 13.1.1. DSP0266 wants it for PATCH only; an action without
// owner ignores it.
func (res *resource) matches(header string, form ETags) bool {
	if header == "" || header == "*" {
		return true
	}
	owner := res
	if res.owner != nil {
		owner = res.owner
	}
	if owner.get == nil {
		return true
	}
	want := form.of(owner.get().header.Get("ETag"))
	return slices.ContainsFunc(strings.Split(header, ","), func(tag string) bool {
		return strings.TrimSpace(tag) == want
	})
}

// cleanPath removes a trailing slash, which DSP0266 makes optional.
func cleanPath(path string) string {
	if len(path) > 1 {
		return strings.TrimSuffix(path, "/")
	}
	return path
}
