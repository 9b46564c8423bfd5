package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// writer appends JSON. Its methods put the commas.
type writer struct {
	b []byte
	// to gets the JSON in pieces; nil: b has all of it.
	to     http.ResponseWriter
	status int // that to is to have; 0 once it has
}

func newWriter(size int) *writer { return &writer{b: make([]byte, 0, size)} }

// begin writes the comma before a value or a key, where one is due.
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

// key writes a key; its value comes next.
func (w *writer) key(name string) *writer {
	w.text(name)
	w.b = append(w.b, ':')
	return w
}

// literal writes JSON as it is.
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

// textOrNull writes a text, the empty one as null.
func (w *writer) textOrNull(s string) {
	if s == "" {
		w.null()
		return
	}
	w.text(s)
}

// text writes texts as one. Bytes that are not UTF-8 become U+FFFD.
func (w *writer) text(parts ...string) {
	w.begin()
	w.b = append(w.b, '"')
	for _, s := range parts {
		w.escape(s)
	}
	w.b = append(w.b, '"')
}

// escape appends a text as it stands between quotes.
func (w *writer) escape(s string) {
	for i := range len(s) {
		if !verbatim[s[i]] {
			b, _ := json.Marshal(s) // which never fails for a string
			w.b = append(w.b, b[1:len(b)-1]...)
			return
		}
	}
	w.b = append(w.b, s...)
}

// verbatim holds the bytes that JSON has as they are.
var verbatim = func() (set [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// other writes any other value, which came from JSON and can go back.
func (w *writer) other(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte("null")
	}
	w.b = append(w.b, b...)
}

// timeLayout is how Python prints a time of UTC that has microseconds.
const timeLayout = "2006-01-02T15:04:05.000000+00:00"

// time writes a time, nil as null.
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

// value writes a value of JSON.
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

// object writes an object, nil as {}.
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

// texts writes a list of texts, nil as [].
func (w *writer) texts(list []string) {
	w.openList()
	for _, s := range list {
		w.text(s)
	}
	w.closeList()
}

// links writes the value of a key "links", or of one that leads to something else:
// a link below /v1 and one without it. The path comes in parts.
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
