// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// reply is a response before it is sent.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// object is a JSON object.
type object = map[string]any

func newReply(status int, contentType string, body []byte) *reply {
	h := http.Header{"Odata-Version": {"4.0"}, "Cache-Control": {"no-cache"}}
	if body != nil {
		h.Set("Content-Type", contentType)
	}
	return &reply{status: status, header: h, body: body}
}

func noContent() *reply { return newReply(http.StatusNoContent, "", nil) }

// show returns a resource as JSON, with its ETag.
func show(status int, resource object) *reply {
	body, err := json.Marshal(resource)
	if err != nil {
		return internalError(err.Error())
	}
	p := newReply(status, "application/json", body)
	p.header.Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(body))[:17]+`"`) // a strong tag: other bodies have other ones
	return p
}

// members decodes a JSON object and nothing else.
func members(body []byte) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	err := json.Unmarshal(body, &m)
	return m, err == nil && m != nil
}

// textOf decodes a JSON string and nothing else.
func textOf(raw json.RawMessage) (string, bool) {
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", false
	}
	return *s, true
}

// send writes the reply as an ordinary HTTP response.
func (p *reply) send(w http.ResponseWriter) {
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(p.body)
}

// bytes returns the reply to r as sent over the connection, from the status line on.
func (p *reply) bytes(r *http.Request) []byte {
	h := p.header.Clone()
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	var buf bytes.Buffer
	_ = (&http.Response{
		StatusCode:    p.status,
		ProtoMajor:    1,
		ProtoMinor:    1,
		Request:       r,
		Header:        h,
		Body:          io.NopCloser(bytes.NewReader(p.body)),
		ContentLength: int64(len(p.body)),
	}).Write(&buf)
	return buf.Bytes()
}
