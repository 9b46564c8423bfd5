// SPDX-License-Identifier: Apache-2.0

// Package wire writes JSON, in whose texts the passwords of URLs are masked, and sends responses. [Send] sends the
// response while it is written, in pieces of about 32 KiB, so that no long list is in memory as a whole.
package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/ironstate/ironstate/internal/exactjson"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
)

// Writer appends JSON to a buffer. Its methods write the commas.
type Writer struct {
	B []byte
	// to receives the JSON in pieces. If to is nil, B keeps all of it.
	to     http.ResponseWriter
	status int // the HTTP status of the response; 0 as soon as the first piece has been sent
}

// New returns a writer with space for size bytes.
func New(size int) *Writer { return &Writer{B: make([]byte, 0, size)} }

// begin writes the comma before a value or a key, if one is needed.
func (w *Writer) begin() {
	if n := len(w.B); n > 0 {
		switch w.B[n-1] {
		case '{', '[', ':':
		default:
			w.B = append(w.B, ',')
		}
	}
}

// Open begins an object.
func (w *Writer) Open() *Writer {
	w.begin()
	w.B = append(w.B, '{')
	return w
}

// Close ends an object.
func (w *Writer) Close() {
	w.B = append(w.B, '}')
	w.sendPiece()
}

// OpenList begins a list.
func (w *Writer) OpenList() *Writer {
	w.begin()
	w.B = append(w.B, '[')
	return w
}

// CloseList ends a list.
func (w *Writer) CloseList() { w.B = append(w.B, ']') }

// List writes a list whose values write writes.
func List[T any](w *Writer, values []T, write func(T)) {
	w.OpenList()
	for _, v := range values {
		write(v)
	}
	w.CloseList()
}

// Key writes a key. The caller writes its value next.
func (w *Writer) Key(name string) *Writer {
	w.Text(name)
	w.B = append(w.B, ':')
	return w
}

// Literal writes a text that is JSON.
func (w *Writer) Literal(text string) *Writer {
	w.begin()
	w.B = append(w.B, text...)
	return w
}

// Null writes null.
func (w *Writer) Null() { w.Literal("null") }

// Boolean writes a boolean.
func (w *Writer) Boolean(v bool) {
	w.begin()
	w.B = strconv.AppendBool(w.B, v)
}

// Integer writes an integer.
func (w *Writer) Integer(v int) {
	w.begin()
	w.B = strconv.AppendInt(w.B, int64(v), 10)
}

// TextOrNull writes a text as a JSON string, or null for the empty text.
func (w *Writer) TextOrNull(s string) {
	if s == "" {
		w.Null()
		return
	}
	w.Text(s)
}

// Text writes the parts as one JSON string. It replaces bytes that are not UTF-8 by U+FFFD, and masks the passwords of
// the URLs in each part.
func (w *Writer) Text(parts ...string) {
	w.begin()
	w.B = append(w.B, '"')
	for _, s := range parts {
		w.escape(masked.Text(s))
	}
	w.B = append(w.B, '"')
}

// JSONText writes the text of another writer as one JSON string.
func (w *Writer) JSONText(text []byte) {
	w.begin()
	w.B = append(w.B, '"')
	w.escape(string(text))
	w.B = append(w.B, '"')
}

// escape appends a text in the form that it has inside a JSON string.
func (w *Writer) escape(s string) {
	for i := range len(s) {
		if !verbatim[s[i]] {
			b, _ := json.Marshal(s) // never fails for a string
			w.B = append(w.B, b[1:len(b)-1]...)
			return
		}
	}
	w.B = append(w.B, s...)
}

// verbatim holds the bytes that need no escape in a JSON string.
var verbatim = func() (set [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// timeLayout is the form in which Python prints a UTC time with microseconds.
const timeLayout = "2006-01-02T15:04:05.000000+00:00"

// Time writes a time, or null for nil and the zero time.
func (w *Writer) Time(t *time.Time) {
	if t == nil || t.IsZero() {
		w.Null()
		return
	}
	w.begin()
	w.B = append(w.B, '"')
	layout := timeLayout
	if t.Nanosecond() < 1000 {
		layout = "2006-01-02T15:04:05+00:00"
	}
	w.B = t.UTC().AppendFormat(w.B, layout)
	w.B = append(w.B, '"')
}

// Value writes a decoded JSON value, a time or a state.
func (w *Writer) Value(v any) {
	switch v := v.(type) {
	case nil:
		w.Null()
	case string:
		w.Text(v)
	case bool:
		w.Boolean(v)
	case json.Number:
		w.Literal(v.String())
	case map[string]any:
		w.Object(v)
	case []any:
		w.OpenList()
		for _, item := range v {
			w.Value(item)
		}
		w.CloseList()
	case []string:
		w.Texts(v)
	case *time.Time:
		w.Time(v)
	case states.State:
		w.State(v)
	case states.Power:
		w.Power(v)
	default:
		b, err := json.Marshal(v)
		if err != nil { // it has no JSON form
			w.Null()
			return
		}
		if bytes.IndexByte(b, '@') < 0 {
			w.Literal(string(b))
			return
		}
		var plain any                      // its texts may be URLs
		_ = exactjson.Unmarshal(b, &plain) // valid
		w.Value(plain)
	}
}

// Object writes an object with sorted keys, nil as {}.
func (w *Writer) Object(m map[string]any) {
	w.Open()
	var space [16]string
	keys := space[:0]
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		w.Key(key).Value(m[key])
	}
	w.Close()
}

// Texts writes a list of strings, nil as [].
func (w *Writer) Texts(list []string) {
	w.OpenList()
	for _, s := range list {
		w.Text(s)
	}
	w.CloseList()
}

// Links writes a list of two links to a resource, such as the value of the key "links": the link
// "self" with /v1 and the link "bookmark" without it. The parts of the path are concatenated.
func (w *Writer) Links(base string, path ...string) {
	w.OpenList()
	var space [8]string
	w.Link("self", append(append(space[:0], base, "/v1/"), path...)...)
	w.Link("bookmark", append(append(space[:0], base, "/"), path...)...)
	w.CloseList()
}

// Link writes an object with a link. The parts of its URL are concatenated.
func (w *Writer) Link(rel string, href ...string) {
	w.Literal(`{"href":`).Text(href...)
	w.Literal(`"rel":`).Text(rel)
	w.Close()
}

// State writes a provision state, or null for none.
func (w *Writer) State(s states.State) {
	if s == states.NoState {
		w.Null()
		return
	}
	w.Text(s.String())
}

// Power writes a power state, or null for none.
func (w *Writer) Power(p states.Power) {
	if p == states.NoPower {
		w.Null()
		return
	}
	w.Text(p.String())
}
