package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
)

// Limits of requests. Source: ironic/conf/api.py (max_json_body_size,
// max_json_body_size_provision, max_json_body_depth).
const (
	MaxBody          = 1 << 20
	MaxProvisionBody = 64 << 20
	maxDepth         = 25
	// maxBodies bounds the total size of the bodies of all requests in flight.
	maxBodies = 256 << 20
)

// budget is the remaining memory for request bodies, in bytes.
type budget struct {
	left atomic.Int64
}

// take reserves n bytes for a request, or returns false if fewer are left.
func (b *budget) take(r *Request, n int64) bool {
	if b.left.Add(-n) < 0 {
		b.left.Add(n)
		return false
	}
	r.held += n
	return true
}

var (
	errTooLarge = &fault.Fault{Status: http.StatusRequestEntityTooLarge, Text: "Request body is too large."}
	errTooDeep  = fault.Invalid("Request body JSON is nested too deeply.")
	errBusy     = &fault.Fault{Status: http.StatusServiceUnavailable, Text: "Too many large requests at once, please try again later."}
	errBodyRead = fault.Invalid("The request body could not be read.")
	errNotJSON  = fault.Invalid("The Content-Type of a request with a body must be application/json.")
	errNotUTF8  = &fault.Fault{Status: http.StatusBadRequest, Bare: true, Text: "The request body is not UTF-8."}
)

// readBody reads a body of up to limit bytes. It allocates memory as bytes arrive, not for
// the announced length.
func (r *Request) readBody(limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > limit {
		return nil, errTooLarge
	}
	var body bytes.Buffer
	from := io.LimitReader(r.Body, limit+1)
	for chunk := int64(4 << 10); ; chunk = min(2*chunk, 1<<20) {
		if !r.budget.take(r, chunk) {
			return nil, errBusy
		}
		_, err := io.CopyN(&body, from, chunk)
		switch {
		case int64(body.Len()) > limit:
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			return body.Bytes(), nil
		case err != nil:
			return nil, errBodyRead
		}
	}
}

// isForm reports whether the body is a form to Ironic's web framework, which then takes its
// text for the name of an argument.
func (r *Request) isForm() bool {
	kind := r.contentType()
	return kind == "application/x-www-form-urlencoded" || kind == "multipart/form-data"
}

// contentType returns the Content-Type without its parameters.
func (r *Request) contentType() string {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(kind)
}

// Decode returns the decoded JSON body, an empty object for an empty body.
func (r *Request) Decode(limit int64) (any, error) {
	body, err := r.readBody(limit)
	if err != nil || len(body) == 0 {
		return map[string]any{}, err
	}
	if r.isForm() {
		return nil, errNotJSON
	}
	if !utf8.Valid(body) {
		return nil, errNotUTF8
	}
	if depth(body) > maxDepth {
		return nil, errTooDeep
	}
	// The standard decoder checks the whole body, and the range of its numbers.
	if err := json.Unmarshal(body, new(any)); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fault.Invalid("The request body is not JSON: %v", syntax)
		}
		return nil, fault.Invalid("The request body is not JSON: a number is out of range")
	}
	var v any
	err = Unmarshal(body, &v)
	return v, err
}

// OnlyBody refuses a query parameter that the object in the body, nil if it is none, does not have:
// Ironic takes both as arguments of the same function.
func (r *Request) OnlyBody(object map[string]any) error {
	a := &Args{Values: map[string]any{}}
	a.addQuery(r)
	maps.DeleteFunc(a.Values, func(name string, _ any) bool { _, there := object[name]; return there })
	a.only(nil)
	return a.Err
}

// Unmarshal decodes JSON with numbers as json.Number, because Python's integers, and so Ironic's,
// have no bounds.
func Unmarshal(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(v)
}

// depth returns the nesting depth of lists and objects in JSON. For invalid JSON it returns an
// upper bound.
func depth(b []byte) int {
	level, deepest := 0, 0
	inText := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inText:
			switch c {
			case '\\':
				i++
			case '"':
				inText = false
			}
		case c == '"':
			inText = true
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
