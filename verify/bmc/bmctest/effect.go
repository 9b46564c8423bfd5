// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Effect is the effect of a Fault. It comes from one of the functions that return an Effect, or from Effects. Handle
// and Change make new effects. The zero value does nothing. Any number of faults and BMCs may share an Effect.
type Effect struct {
	name  string
	fails string // see Fails

	// One of four functions sets the following fields: onPort the port, onRequest handle, onSome also on, and refusal also
	// refuse. The zero values stand for no effect.

	port   portState
	handle func(*exchange)
	on     func(*call) bool   // the requests that have the effect; nil for all
	refuse func(*call) *reply // the answer that handle sends, nil to a request that does not have the effect
}

// onPort makes an effect on the port, which is not in portTLS then.
func onPort(name string, port portState) Effect { return Effect{name: name, port: port} }

// onRequest makes an effect on each request.
func onRequest(name string, handle func(*exchange)) Effect { return Effect{name: name, handle: handle} }

// onSome limits an effect of onRequest to some requests.
func onSome(e Effect, on func(*call) bool) Effect {
	e.on = on
	return e
}

// refusal makes an effect of a function that returns the answer to a request, nil to one that it does not refuse.
func refusal(name string, refuse func(*call) *reply) Effect {
	e := onRequest(name, func(x *exchange) { x.send(refuse(x.call)) })
	e.refuse = refuse
	return e
}

// spares reports whether the effect ignores a request.
func (e Effect) spares(c *call) bool {
	return e.on != nil && !e.on(c) || e.refuse != nil && e.refuse(c) == nil
}

// String returns the effect's name in the form of a call, such as "HangAfter(120)", and "nothing" for the zero value.
func (e Effect) String() string { return cmp.Or(e.name, "nothing") }

// Effects lists one effect of each kind, some with several values, for tests that go through all of them, except the
// effects of single families of BMCs, such as StaleMedia and WholeBoot, which [Quirks] has. Two have no function that
// makes them: Drip sends the response byte by byte, and Garbage sends bytes that are not HTTP.
//
// [Effect.Fails] says which a careful client can tolerate, and why not the others. Whatever the effect, a client should
// end in bounded time, and report no success but a true one. Body, Members and Property of "Members" crash programs
// that rely on gofish 0.20.0 alone.
func Effects() []Effect {
	return slices.Concat(
		failing("there is no connection with TLS", Refuse(), Silent(), PlainHTTP()),
		failing("there is no whole answer",
			HangAfter(0), HangAfter(20), HangAfter(400),
			ResetAfter(0), ResetAfter(20), ResetAfter(400),
			CloseAfter(0), CloseAfter(20), CloseAfter(400)),
		[]Effect{Delay(50 * time.Millisecond)},
		failing("an answer takes longer than a request may", drip(10*time.Millisecond)),
		failing("no answer is a resource",
			garbage(), BadJSON(), TruncatedJSON(), HTMLPage(), EndlessBody(),
			Status(http.StatusUnauthorized), Status(http.StatusNotFound), Status(http.StatusInternalServerError),
			Locked(), Unavailable(time.Second),
			RedirectLoop(), RedirectTo("https://another-bmc.invalid/redfish/v1/")),
		failing("there is no power state", Property("PowerState", nil), Property("PowerState", 1), WithoutProperty("PowerState")),
		failing("no answer is a resource",
			Body("null"), Body("[]"), Body(`"text"`), LongBody(4<<20), LongError(http.StatusInternalServerError, 1<<20),
			GzipBomb(1<<30), Raw("HTTP/1.1 200 OK\r\nA header without a colon\r\n\r\n{}"), Echo(http.StatusInternalServerError)),
		failing("the system is not found",
			Members(1000), Property("Members", nil), Property("Members@odata.nextLink", ":%zz")),
		[]Effect{
			Property("Members@odata.nextLink", "/redfish/v1/Systems?page=2"), EscapedLocation(), BareLocation(), WithoutHeader("Location"),
		},
		failing("no answer is a resource", WithoutBody(), NamelessSession()),
		failing("the session has no token", WithoutHeader("X-Auth-Token")),
	)
}

// failing returns the effects with the reason why a client fails with them.
func failing(why string, effects ...Effect) []Effect {
	for i := range effects {
		effects[i].fails = why
	}
	return effects
}

// Fails returns why every client fails with a BMC each of whose requests has the effect, if it is one of Effects. It
// returns "" for those that a careful client can tolerate, and for all other effects.
func (e Effect) Fails() string { return e.fails }

// Refuse makes the BMC stop listening: connections are refused. On Linux the BMC keeps its port reserved.
func Refuse() Effect { return onPort("Refuse()", portRefused) }

// Silent accepts connections and never sends anything: no TLS handshake ends. It affects the port, like Refuse.
func Silent() Effect { return onPort("Silent()", portSilent) }

// PlainHTTP serves HTTP without TLS. It affects the port, like Refuse.
func PlainHTTP() Effect { return onPort("PlainHTTP()", portPlain) }

// HangAfter carries the request out and sends n bytes of the response, counted from the status line, then nothing until
// the client disconnects or the BMC is closed.
func HangAfter(n int) Effect { return cutAfter("HangAfter", n, drain) }

// ResetAfter carries the request out, sends n bytes of the response, counted from the status line, and resets the
// connection (TCP RST).
func ResetAfter(n int) Effect {
	return cutAfter("ResetAfter", n, func(c net.Conn) { rawConn(c).reset() })
}

// CloseAfter carries the request out, sends n bytes of the response, counted from the status line, and closes the
// connection properly.
func CloseAfter(n int) Effect { return cutAfter("CloseAfter", n, func(c net.Conn) { _ = c.Close() }) }

// cutAfter makes an effect that carries the request out, sends n bytes of the response, and ends the connection.
func cutAfter(name string, n int, end func(net.Conn)) Effect {
	return onRequest(fmt.Sprintf("%s(%d)", name, n), func(x *exchange) {
		if c, ok := x.cut(x.answer(), n); ok {
			end(c)
		}
	})
}

// Delay waits and then handles the request properly.
func Delay(d time.Duration) Effect {
	return onRequest(fmt.Sprintf("Delay(%v)", d), func(x *exchange) {
		if x.wait(d) {
			x.send(x.answer())
		}
	})
}

// drip carries the request out and sends the response one byte per interval, then closes the connection.
func drip(interval time.Duration) Effect {
	return onRequest(fmt.Sprintf("Drip(%v)", interval), func(x *exchange) { x.drip(x.answer(), interval) })
}

// garbage answers with bytes that are not HTTP, and closes the connection.
func garbage() Effect {
	return onRequest("Garbage()", func(x *exchange) {
		if c, ok := x.take(); ok {
			_, _ = c.Write([]byte("\x00\x15\xff\xfe BMC watchdog\x07\r\n\r\n\x80\x80\x80\x80"))
			_ = c.Close()
		}
	})
}

// BadJSON answers 200 with a body that is not JSON, with the content type of JSON.
func BadJSON() Effect {
	return answering("BadJSON()", func() *reply {
		return newReply(http.StatusOK, "application/json", []byte(`{"PowerState": On, <EMPTY>`))
	})
}

// TruncatedJSON carries the request out and sends half of the body, as if that were the whole.
func TruncatedJSON() Effect {
	return Change("TruncatedJSON()", func(_ http.Header, body []byte) []byte { return body[:len(body)/2] })
}

// HTMLPage answers 200 with a web page, like a BMC whose Redfish service is disabled, or a proxy.
func HTMLPage() Effect {
	return answering("HTMLPage()", func() *reply {
		return newReply(http.StatusOK, "text/html; charset=utf-8",
			[]byte("<!DOCTYPE html><html><head><title>BMC</title></head><body>Please log in.</body></html>\n"))
	})
}

// EndlessBody answers 200 with a JSON string that never ends, as fast as the client reads.
func EndlessBody() Effect {
	return onRequest("EndlessBody()", func(x *exchange) {
		x.send(newReply(http.StatusOK, "application/json", []byte(`{"Name":"`)))
		for more := []byte(strings.Repeat("A", 4096)); ; {
			if _, err := x.w.Write(more); err != nil {
				return
			}
		}
	})
}

// Status answers with an error of that HTTP status and does not carry the request out. An invalid status stands for
// 500.
func Status(code int) Effect {
	return answering(fmt.Sprintf("Status(%d)", code), func() *reply {
		switch text := http.StatusText(code); {
		case code == http.StatusUnauthorized:
			return noSession()
		case code < 400 || text == "":
			return internalError("The request failed due to an internal service error.")
		default:
			return problem(code, "Base.1.18.GeneralError", text)
		}
	})
}

// Locked answers 403 with the message that the account is locked, as after too many failed logins. See also
// RedfishConfig.LockAfter.
func Locked() Effect { return answering("Locked()", locked) }

// Unavailable answers 503 with a Retry-After header, in whole seconds.
func Unavailable(retryAfter time.Duration) Effect {
	return answering(fmt.Sprintf("Unavailable(%v)", retryAfter), func() *reply {
		wait := strconv.Itoa(max(seconds(retryAfter), 0))
		p := problem(http.StatusServiceUnavailable, "Base.1.18.ServiceTemporarilyUnavailable",
			"The service is temporarily unavailable.  Retry in "+wait+" seconds.", wait)
		p.header.Set("Retry-After", wait)
		return p
	})
}

// RedirectLoop answers 307 to the same URL.
func RedirectLoop() Effect {
	return onRequest("RedirectLoop()", func(x *exchange) { x.send(redirect(x.call.URL.RequestURI())) })
}

// RedirectTo answers 307 to another URL. A client that follows it repeats its request there, with its body, which in a
// login has the password.
func RedirectTo(url string) Effect {
	return answering(fmt.Sprintf("RedirectTo(%q)", url), func() *reply { return redirect(url) })
}

// Property replaces a property of the resource, at the top level of the body. The value is anything that encoding/json
// encodes, and nil is null. A value that it cannot encode changes nothing.
func Property(name string, value any) Effect {
	return changeObject(fmt.Sprintf("Property(%q, %#v)", name, value), func(o object) { o[name] = value })
}

// WithoutProperty leaves properties out of the resource, at the top level of the body.
func WithoutProperty(names ...string) Effect {
	return changeObject(fmt.Sprintf("WithoutProperty(%s)", strings.Trim(fmt.Sprintf("%q", names), "[]")), func(o object) {
		for _, name := range names {
			delete(o, name)
		}
	})
}

// Handle answers a request with a handler of net/http in place of the BMC. The handler can read the request's body.
// With a nil handler the BMC answers.
func Handle(name string, handler http.HandlerFunc) Effect {
	if handler == nil {
		return onRequest(name, nil)
	}
	return onRequest(name, func(x *exchange) {
		r := x.call.Clone(x.call.Context())
		r.Body = io.NopCloser(bytes.NewReader(x.call.body))
		handler(statusRecorder{x.w, x}, r)
	})
}

// Change carries the request out and sends the answer with the header as changed by the function, and the body that the
// function returns. A nil function changes nothing.
func Change(name string, change func(header http.Header, body []byte) []byte) Effect {
	return onRequest(name, func(x *exchange) {
		p := x.answer()
		if change != nil {
			p.body = change(p.header, p.body)
		}
		x.send(p)
	})
}

// answering answers every request alike.
func answering(name string, answer func() *reply) Effect {
	return onRequest(name, func(x *exchange) { x.send(answer()) })
}

// changeObject changes the body of the proper answer. The ETag remains the resource's, so that If-Match still works.
func changeObject(name string, change func(object)) Effect {
	return Change(name, func(_ http.Header, body []byte) []byte {
		var o object
		if err := json.Unmarshal(body, &o); err != nil || o == nil {
			return body
		}
		change(o)
		if changed, err := json.Marshal(o); err == nil {
			return changed
		}
		return body
	})
}

func redirect(url string) *reply {
	p := newReply(http.StatusTemporaryRedirect, "", nil)
	p.header.Set("Location", url)
	return p
}
