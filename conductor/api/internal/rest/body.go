// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/internal/clientnet"
	"github.com/ironstate/ironstate/states"
)

// A Limit bounds the body of a request.
type Limit struct {
	bytes  int64                  // the largest body
	values int                    // the most values in it, as a meter counts them: a member of an object counts as two
	copies int64                  // how often a request copies the texts but the longest: it takes memory for each copy
	budget func(*Service) *budget // whose memory it takes
}

// Limits of bodies. Source: ironic/conf/api.py (max_json_body_size, max_json_body_size_provision,
// max_json_body_size_inspection, max_json_body_depth). Ironics before these options have no limits.
var (
	// MaxBody is the limit for bodies of clients.
	MaxBody = Limit{maxBody, maxValues, 0, ofClients}
	// MaxProvisionBody is the limit for bodies that may contain a config drive. Such a body without its longest
	// string must not be larger than MaxBody.
	MaxProvisionBody = Limit{64 << 20, maxValues, 0, ofClients}
	// MaxAgentBody is the limit for bodies of lookups and heartbeats, which need no password. Ironic applies
	// max_json_body_size to them.
	MaxAgentBody = Limit{64 << 10, maxValues, 0, ofHeartbeats}
	// MaxStrangeBody is the limit for the heartbeat of a node that does not exist. Ironic checks the arguments before it
	// looks for the node, so that the body is read in any case.
	MaxStrangeBody = Limit{4 << 10, maxValues, 0, ofHeartbeats}
	// MaxInspectionBody is the limit for bodies of inspections, which agents send without a password. Their longest
	// string is an archive of logs. Such a body without it must not be larger than MaxBody.
	MaxInspectionBody = Limit{16 << 20, 10 * maxValues, 10, ofInspections}
)

func ofClients(s *Service) *budget     { return s.bodies }
func ofHeartbeats(s *Service) *budget  { return s.heartbeats }
func ofInspections(s *Service) *budget { return s.inspections }

const (
	maxBody = 1 << 20 // bytes
	// The maximum depth of nested values: max_json_body_depth of Ironic 37.0.0 (2026.2), and of 2026.1 on its branch after
	// 35.0.1 and in Debian's 35.0.1 since 35.0.1-5 (OSSN-0099). Other Ironics fail near Python's limit of recursion.
	maxDepth    = 25
	maxOldDepth = 900
	// maxValues bounds the values of a client's body. The processor time of a request grows with their number: a body of
	// 1 MiB can have 500,000 values, and their check against a schema takes seconds. Ironic has no such limit.
	maxValues = 10_000
	// maxBodies is the memory in bytes that the bodies of all requests in flight and the values decoded from them may
	// occupy, see memory of meter. It is enough for one body of MaxProvisionBody whose length is known and whose longest
	// string has no escapes; others need twice the memory, so that a config drive has about 36 MiB at most then. Copies
	// and garbage need several times as much.
	maxBodies = 72 << 20
	// maxHeartbeats is the same for lookups and heartbeats, and maxInspections for inspections, so that senders without a
	// password do not use up maxBodies, nor keep heartbeats away by inspections. The requests of one address have half of
	// it at most, since a body may take a minute to arrive.
	//
	// Inspection data of 16 MiB, 1 MiB of it beside the logs, may therefore have about 7,000 members of objects, or
	// 30,000 values in lists; 1 MiB without logs may have about 35,000 members. If the request lacks Content-Length or
	// the logs have escapes, they need their memory twice, and have about 13 MiB at most, or about 7 MiB with 1 MiB
	// beside them.
	maxHeartbeats  = 8 << 20
	maxInspections = 60 << 20
)

// budget is memory for request bodies, in bytes.
type budget struct {
	share int64 // for one client
	mu    sync.Mutex
	left  int64
	by    map[netip.Prefix]int64 // the bytes that the requests of each client have taken, see clientnet.Of
}

func newBudget(most, share int64) *budget {
	return &budget{share: share, left: most, by: map[netip.Prefix]int64{}}
}

// take reserves n bytes for the request's body. Its error is errBusy if fewer are left, or left for its address, and
// errTooLarge if the request would need more than an address may have.
func (r *Request) take(n int64) error {
	b, from := r.budget, clientnet.Of(r.RemoteAddr)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r.held+n > b.share:
		return errTooLarge
	case n > b.left, b.by[from]+n > b.share:
		return errBusy
	}
	b.left -= n
	b.by[from] += n
	r.held += n
	return nil
}

// free returns n bytes that were taken.
func (r *Request) free(n int64) {
	b, from := r.budget, clientnet.Of(r.RemoteAddr)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
	if b.by[from] -= n; b.by[from] == 0 {
		delete(b.by, from)
	}
	r.held -= n
}

// Free returns the bytes of the request's body to the budget.
func (r *Request) Free() {
	if r.held > 0 {
		r.free(r.held)
	}
}

var (
	errTooLarge = &fault.Fault{Status: http.StatusRequestEntityTooLarge, Text: "Request body is too large."}
	errTooMany  = &fault.Fault{Status: http.StatusRequestEntityTooLarge, Text: "Request body has too many values."}
	errTooDeep  = fault.Invalid("Request body JSON is nested too deeply.")
	errBusy     = &fault.Fault{Status: http.StatusServiceUnavailable, Text: "Too many large requests at once, please try again later."}
	errBodyRead = fault.Invalid("The request body could not be read.")
	errNotJSON  = fault.Invalid("The Content-Type of a request with a body must be application/json.")
	errNotUTF8  = &fault.Fault{Status: http.StatusBadRequest, Bare: true, Text: "The request body is not UTF-8."}
)

// readBody reads and measures a body within a limit. Without its longest string the body must not be larger than
// MaxBody. readBody reserves memory before it allocates it: the whole
// Content-Length at once, or, without a Content-Length, more with each chunk that arrives.
func (r *Request) readBody(limit Limit) (body []byte, m meter, err error) {
	m = newMeter()
	if r.Body == nil || r.Body == http.NoBody {
		return nil, m, nil
	}
	if r.ContentLength > limit.bytes {
		return nil, m, errTooLarge
	}
	r.budget = limit.budget(r.Service)
	var chunks [][]byte
	total := int64(0)
	from := io.LimitReader(r.Body, limit.bytes+1)
	size := int64(4 << 10)
	if r.ContentLength >= 0 {
		size = r.ContentLength + 1 // so that the first read meets the end
	}
	for ; ; size = min(2*size, 1<<20) {
		if err := r.take(size); err != nil {
			return nil, m, err
		}
		var chunk bytes.Buffer
		chunk.Grow(int(size) + bytes.MinRead)
		n, err := io.CopyN(&chunk, from, size)
		chunks = append(chunks, chunk.Bytes())
		total += n
		m.add(chunk.Bytes())
		switch {
		case total > limit.bytes, m.withoutLongest(total) > maxBody:
			return nil, m, errTooLarge
		case m.values > limit.values:
			return nil, m, errTooMany
		case errors.Is(err, io.EOF):
			body, err := r.join(chunks, total, limit.copies == 0)
			return body, m, err
		case err != nil:
			return nil, m, errBodyRead
		}
	}
}

// join returns the chunks of a body as one slice. It returns their memory to the budget if free is set, before the
// garbage collector has it.
func (r *Request) join(chunks [][]byte, total int64, free bool) ([]byte, error) {
	if len(chunks) == 1 {
		return chunks[0], nil
	}
	held := r.held
	if err := r.take(total); err != nil {
		return nil, err
	}
	body := slices.Concat(chunks...)
	if free {
		r.free(held)
	}
	return body, nil
}

// contentType returns the Content-Type without its parameters.
func (r *Request) contentType() string {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(kind)
}

// isForm reports whether Ironic's web framework takes the body for a form. Of a POST this is also a body without a
// Content-Type, which the HTTP server of earlier series takes for text/plain.
//
// Source: POST in webob/request.py; ironic/common/wsgi_service.py, cheroot/wsgi.py and eventlet/wsgi.py.
func (r *Request) isForm() bool {
	switch _, has := r.Header["Content-Type"]; r.contentType() {
	case "application/x-www-form-urlencoded", "multipart/form-data":
		return true
	case "":
		return r.Method == http.MethodPost && (has || r.Series >= states.Flamingo)
	default:
		return false
	}
}

// Decode returns the decoded JSON body, an empty object for an empty body. If Ironic's web framework takes a path
// segment for the body, Decode returns the segment, which the schemas of bodies refuse.
func (r *Request) Decode(limit Limit) (any, error) {
	if r.bound.bodyKnown {
		return r.bound.body, nil
	}
	body, measured, err := r.readBody(limit)
	if err != nil || len(body) == 0 {
		return map[string]any{}, err
	}
	if r.isForm() { // Ironic's web framework takes its text for the name of an argument
		return nil, errNotJSON
	}
	if !utf8.Valid(body) {
		return nil, errNotUTF8
	}
	if text, marked := bytes.CutPrefix(body, []byte("\ufeff")); marked { // which simplejson skips
		body, measured.start = text, measured.start-len("\ufeff")
	}
	needs := measured.memory(int64(len(body))) + limit.copies*measured.withoutLongest(int64(len(body)))
	if len(body) <= maxBody {
		needs += int64(len(body)) // the record or the error that is made from it
	}
	if measured.depth > deepest(r.Series) {
		return nil, errTooDeep
	}
	if err := r.take(needs); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(measured.withoutPlainText(body), new(unread)); err != nil {
		return nil, fault.Invalid("The request body is not JSON: %v", err)
	}
	d := decoder{text: body}
	v := d.value()
	if d.outOfRange {
		return nil, fault.Invalid("The request body is not JSON: a number is out of range")
	}
	return v, nil
}

// deepest returns the maximum depth of nested values in the bodies of a series.
func deepest(s states.Series) int {
	if s < states.Gazpacho {
		return maxOldDepth
	}
	return maxDepth
}

// unread makes the standard decoder check the syntax of JSON and decode nothing.
type unread struct{}

// UnmarshalJSON implements [json.Unmarshaler].
func (*unread) UnmarshalJSON([]byte) error { return nil }

// object returns the decoded object in the body, nil for another value. It refuses an object with keys whose
// Content-Type is not JSON.
func (r *Request) object(limit Limit) (map[string]any, error) {
	body, err := r.Decode(limit)
	object, _ := body.(map[string]any)
	if kind := r.contentType(); len(object) > 0 && kind != "application/json" && kind != "application/javascript" {
		return nil, errNotJSON
	}
	return object, err
}
