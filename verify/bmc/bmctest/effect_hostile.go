// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
)

// Body answers 200 with that body, with the content type of JSON.
func Body(text string) Effect {
	return answering(fmt.Sprintf("Body(%.40q)", text), func() *reply {
		return newReply(http.StatusOK, "application/json", []byte(text))
	})
}

// LongBody answers 200 with a JSON object of n bytes. It takes no memory.
func LongBody(n int) Effect {
	return onRequest(fmt.Sprintf("LongBody(%d)", n), func(x *exchange) {
		x.stream(newReply(http.StatusOK, "application/json", nil), n)
	})
}

// LongError answers with an error of that HTTP status whose body is a JSON object of n bytes. It takes no memory. An
// invalid status stands for 500.
func LongError(code, n int) Effect {
	code = errorStatus(code)
	return onRequest(fmt.Sprintf("LongError(%d, %d)", code, n), func(x *exchange) {
		x.stream(newReply(code, "application/json", nil), n)
	})
}

// errorStatus returns code if it is the status of an error, and 500 otherwise.
func errorStatus(code int) int {
	if code < 400 || http.StatusText(code) == "" {
		return http.StatusInternalServerError
	}
	return code
}

// stream sends a reply with a JSON object of n bytes.
func (x *exchange) stream(p *reply, n int) {
	const begin, end = `{"Name":"`, `"}`
	x.send(p)
	_, _ = io.WriteString(x.w, begin)
	more := []byte(strings.Repeat("A", 4096))
	for n -= len(begin) + len(end); n > 0; n -= len(more) {
		if _, err := x.w.Write(more[:min(n, len(more))]); err != nil {
			return
		}
	}
	_, _ = io.WriteString(x.w, end)
}

// GzipBomb answers 200 with a compressed JSON object, whether or not the client accepts compression. The object has
// about n bytes once decompressed.
func GzipBomb(n int) Effect {
	return onRequest(fmt.Sprintf("GzipBomb(%d)", n), func(x *exchange) {
		p := newReply(http.StatusOK, "application/json", compressed(`{"Name":"`))
		p.header.Set("Content-Encoding", "gzip")
		x.send(p)
		middle := compressed(strings.Repeat("A", 1<<20))
		for range n >> 20 {
			if _, err := x.w.Write(middle); err != nil {
				return
			}
		}
		_, _ = x.w.Write(compressed(`"}`))
	})
}

func compressed(text string) []byte {
	var buf bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression) // a level that exists
	_, _ = io.WriteString(w, text)                          // to memory
	_ = w.Close()
	return buf.Bytes()
}

// Raw sends that text as the whole response, status line and header included, and closes the connection. The text need
// not be HTTP.
func Raw(response string) Effect {
	return onRequest(fmt.Sprintf("Raw(%d bytes)", len(response)), func(x *exchange) {
		if c, ok := x.take(); ok {
			_, _ = io.WriteString(c, response)
			_ = c.Close()
		}
	})
}

// Echo answers with an error of that HTTP status whose message is the whole request: its header, credentials included,
// and its body. Error pages of services in debug mode do the same. An invalid status stands for 500.
func Echo(code int) Effect {
	code = errorStatus(code)
	return onRequest(fmt.Sprintf("Echo(%d)", code), func(x *exchange) {
		r := x.call.Clone(x.call.Context())
		r.Body = io.NopCloser(bytes.NewReader(x.call.body))
		dump, _ := httputil.DumpRequest(r, true) // the body is in memory
		x.send(problem(code, "Base.1.18.GeneralError", string(dump)))
	})
}

// WithoutHeader leaves a header out of the proper answer.
func WithoutHeader(name string) Effect {
	return changeHeader(fmt.Sprintf("WithoutHeader(%q)", name), func(h http.Header) { h.Del(name) })
}

// EscapedLocation writes the Location of a new session as a whole URL, with a host name that only the BMC knows, and
// escapes all characters of the session's ID.
func EscapedLocation() Effect {
	return changeHeader("EscapedLocation()", func(h http.Header) {
		collection, id := path.Split(h.Get("Location"))
		var escaped strings.Builder
		for _, b := range []byte(id) {
			fmt.Fprintf(&escaped, "%%%02x", b)
		}
		h.Set("Location", "https://bmc.invalid"+collection+escaped.String())
	})
}

// BareLocation sends just the ID of a new session as its Location.
func BareLocation() Effect {
	return changeHeader("BareLocation()", func(h http.Header) { h.Set("Location", url.PathEscape(path.Base(h.Get("Location")))) })
}

// NamelessSession opens a session and sends its ID neither in the Location nor in the body.
func NamelessSession() Effect {
	return Change("NamelessSession()", func(h http.Header, _ []byte) []byte {
		h.Del("Content-Type")
		h.Del("Location")
		return nil
	})
}

// WithoutBody leaves the body out of the proper answer.
func WithoutBody() Effect {
	return Change("WithoutBody()", func(h http.Header, _ []byte) []byte {
		h.Del("Content-Type")
		return nil
	})
}

// changeHeader changes the header of the proper answer.
func changeHeader(name string, change func(http.Header)) Effect {
	return Change(name, func(h http.Header, body []byte) []byte {
		change(h)
		return body
	})
}

// Members gives a collection n members. The last one links to the original first member, all others to resources
// that do not exist.
func Members(n int) Effect {
	return changeObject(fmt.Sprintf("Members(%d)", n), func(o object) {
		encoded, err := json.Marshal(o["Members"])
		var members []object
		if err != nil || json.Unmarshal(encoded, &members) != nil || len(members) == 0 || n < 1 {
			return
		}
		var paths []string
		for i := range n - 1 {
			paths = append(paths, fmt.Sprint(o["@odata.id"], "/none-", i))
		}
		o["Members"], o["Members@odata.count"] = append(links(paths), members[0]), n
	})
}
