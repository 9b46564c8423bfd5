package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/ironstate/ironstate/states"
)

// writer appends JSON to a buffer. Its methods write the commas.
type writer struct {
	b []byte
	// to receives the JSON in pieces. If to is nil, b keeps all of it.
	to     http.ResponseWriter
	status int // the HTTP status of the response; 0 after the first piece
}

func newWriter(size int) *writer { return &writer{b: make([]byte, 0, size)} }

// begin writes the comma before a value or a key, if one is needed.
func (w *writer) begin() {
	if n := len(w.b); n > 0 {
		switch w.b[n-1] {
		case '{', '[', ':':
		default:
			w.b = append(w.b, ',')
		}
	}
}

func (w *writer) open() *writer {
	w.begin()
	w.b = append(w.b, '{')
	return w
}

func (w *writer) close() {
	w.b = append(w.b, '}')
	w.sendPiece()
}

func (w *writer) openList() *writer {
	w.begin()
	w.b = append(w.b, '[')
	return w
}

func (w *writer) closeList() { w.b = append(w.b, ']') }

// key writes a key. The caller writes its value next.
func (w *writer) key(name string) *writer {
	w.text(name)
	w.b = append(w.b, ':')
	return w
}

// literal writes a text that is JSON already.
func (w *writer) literal(text string) *writer {
	w.begin()
	w.b = append(w.b, text...)
	return w
}

func (w *writer) null() { w.literal("null") }

func (w *writer) boolean(v bool) {
	w.begin()
	w.b = strconv.AppendBool(w.b, v)
}

func (w *writer) integer(v int) {
	w.begin()
	w.b = strconv.AppendInt(w.b, int64(v), 10)
}

// textOrNull writes a text as a JSON string, or null for the empty text.
func (w *writer) textOrNull(s string) {
	if s == "" {
		w.null()
		return
	}
	w.text(s)
}

// text writes the parts as one JSON string. It replaces bytes that are not UTF-8 by U+FFFD.
func (w *writer) text(parts ...string) {
	w.begin()
	w.b = append(w.b, '"')
	for _, s := range parts {
		w.escape(s)
	}
	w.b = append(w.b, '"')
}

// escape appends a text in the form that it has inside a JSON string.
func (w *writer) escape(s string) {
	for i := range len(s) {
		if !verbatim[s[i]] {
			b, _ := json.Marshal(s) // never fails for a string
			w.b = append(w.b, b[1:len(b)-1]...)
			return
		}
	}
	w.b = append(w.b, s...)
}

// verbatim holds the bytes that need no escape in a JSON string.
var verbatim = func() (set [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// other writes any other value, or null if the value has no JSON form.
func (w *writer) other(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte("null")
	}
	w.b = append(w.b, b...)
}

// timeLayout is the form in which Python prints a UTC time with microseconds.
const timeLayout = "2006-01-02T15:04:05.000000+00:00"

// time writes a time, or null for nil and the zero time.
func (w *writer) time(t *time.Time) {
	if t == nil || t.IsZero() {
		w.null()
		return
	}
	w.begin()
	w.b = append(w.b, '"')
	layout := timeLayout
	if t.Nanosecond() < 1000 {
		layout = "2006-01-02T15:04:05+00:00"
	}
	w.b = t.UTC().AppendFormat(w.b, layout)
	w.b = append(w.b, '"')
}

// value writes a decoded JSON value.
func (w *writer) value(v any) {
	switch v := v.(type) {
	case nil:
		w.null()
	case string:
		w.text(v)
	case bool:
		w.boolean(v)
	case json.Number:
		w.literal(v.String())
	case map[string]any:
		w.object(v)
	case []any:
		w.openList()
		for _, item := range v {
			w.value(item)
		}
		w.closeList()
	case []string:
		w.texts(v)
	default:
		w.begin()
		w.other(v)
	}
}

// object writes an object with sorted keys, nil as {}.
func (w *writer) object(m map[string]any) {
	w.open()
	var space [16]string
	keys := space[:0]
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		w.key(key).value(m[key])
	}
	w.close()
}

// texts writes a list of strings, nil as [].
func (w *writer) texts(list []string) {
	w.openList()
	for _, s := range list {
		w.text(s)
	}
	w.closeList()
}

// links writes a list of two links to a resource, such as the value of the key "links": the link
// "self" with /v1 and the link "bookmark" without it. The parts of the path are concatenated.
func (w *writer) links(base string, path ...string) {
	w.openList()
	var space [8]string
	w.link("self", append(append(space[:0], base, "/v1/"), path...)...)
	w.link("bookmark", append(append(space[:0], base, "/"), path...)...)
	w.closeList()
}

func (w *writer) link(rel string, href ...string) {
	w.literal(`{"href":`).text(href...)
	w.literal(`"rel":`).text(rel)
	w.close()
}

func (w *writer) state(s states.State) {
	if s == states.NoState {
		w.null()
		return
	}
	w.text(s.String())
}

func (w *writer) power(p states.Power) {
	if p == states.NoPower {
		w.null()
		return
	}
	w.text(p.String())
}
