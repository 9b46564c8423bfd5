package bmctest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Effect is what a Fault does. It is made by one of the functions that return it, or found in Effects. Handle and Change
// make effects of your own. The zero value does nothing. An Effect may be shared by any number of faults and BMCs.
type Effect struct {
	name  string
	line  line            // not lineTLS: the effect is about the port
	spoil func(*exchange) // else what happens to the request
}

// String is the effect's name, written as a call, as in "HangAfter(120)", and "nothing" for the zero value.
func (e Effect) String() string { return defaultTo(e.name, "nothing") }

// Effects lists one effect of each kind, some with several values, for tests that go through all of them. Some have no
// function of their own, since one of each is enough:
//
//	Silent             connections are accepted and no word is said: no TLS handshake ends; about the port, as Refuse
//	PlainHTTP          HTTP without TLS; about the port, as Refuse
//	Drip               the response comes byte by byte
//	Garbage            bytes that are not HTTP
//	BadJSON            a body that is not JSON and said to be
//	TruncatedJSON      half of the body, as if that were all
//	HTMLPage           a web page, as of a BMC whose Redfish service is switched off, or of a proxy
//	EndlessBody        a JSON string that never ends
//	LongBody           a JSON object of that many bytes
//	LongError          an error of that status whose body has that many bytes
//	GzipBomb           a small answer that is that many bytes long once it is decompressed
//	Unavailable        503 with a Retry-After header
//	Locked             403: the account is locked, as after too many failed logins; see also RedfishConfig.LockAfter
//	RedirectLoop       307 to where the client already is
//	RedirectTo         307 to another host: a client that follows sends its request there, a login's password included
//	Body               a body that is JSON and no object
//	Raw                a response that breaks the rules of HTTP
//	Echo               an error whose message is the whole request, credentials included
//	Members            a collection of that many members, all but the last of which lead nowhere
//	WithoutBody        the proper answer without its body
//	WithoutHeader      the proper answer without that header
//	EscapedLocation    a new session's Location as a whole URL of another host name, the session's ID escaped
//	BareLocation       a new session's ID alone as its Location
//	NamelessSession    a new session whose ID is told nowhere
//
// A client can bear the Delay of 50 milliseconds, a patient one the Drip, and a careful one an odd Location or the lack of a part that
// it does not need; with any other it should fail, or say that the power state is unknown, in bounded time. Body, Members
// and Property of "Members" end programs that leave them to gofish 0.20.0.
func Effects() []Effect {
	return []Effect{
		Refuse(), silent(), plainHTTP(),
		HangAfter(0), HangAfter(20), HangAfter(400),
		ResetAfter(0), ResetAfter(20), ResetAfter(400),
		CloseAfter(0), CloseAfter(20), CloseAfter(400),
		Delay(50 * time.Millisecond), drip(10 * time.Millisecond),
		garbage(), malformedJSON(), truncatedJSON(), htmlPage(), endlessBody(),
		Status(http.StatusUnauthorized), Status(http.StatusNotFound), Status(http.StatusInternalServerError),
		lockedAccount(), unavailable(time.Second),
		redirectLoop(), redirectTo("https://another-bmc.invalid/redfish/v1/"),
		Property("PowerState", nil), Property("PowerState", 1), WithoutProperty("PowerState"),
		jsonBody("null"), jsonBody("[]"), jsonBody(`"text"`), longBody(4 << 20), longError(http.StatusInternalServerError, 1<<20),
		gzipBomb(1 << 30), raw("HTTP/1.1 200 OK\r\nA header without a colon\r\n\r\n{}"), echo(http.StatusInternalServerError),
		manyMembers(1000), Property("Members", nil), Property("Members@odata.nextLink", ":%zz"),
		Property("Members@odata.nextLink", "/redfish/v1/Systems?page=2"),
		escapedLocation(), bareLocation(), withoutHeader("Location"), withoutBody(), withoutHeader("X-Auth-Token"),
		namelessSession(),
	}
}

// Refuse stops to listen: connections are refused.
func Refuse() Effect { return Effect{name: "Refuse()", line: lineRefused} }

// silent accepts connections and never says a word: no TLS handshake ends.
func silent() Effect { return Effect{name: "Silent()", line: lineSilent} }

// plainHTTP speaks HTTP without TLS.
func plainHTTP() Effect { return Effect{name: "PlainHTTP()", line: linePlain} }

// HangAfter does what the request asks for and sends n bytes of the response, counted from the status line, then nothing
// until the client goes away or the BMC is closed.
func HangAfter(n int) Effect {
	return request(fmt.Sprintf("HangAfter(%d)", n), func(x *exchange) {
		if c, ok := x.cut(x.answer(), n); ok {
			drain(c)
		}
	})
}

// ResetAfter does what the request asks for, sends n bytes of the response, counted from the status line, and resets the
// connection (TCP RST).
func ResetAfter(n int) Effect {
	return request(fmt.Sprintf("ResetAfter(%d)", n), func(x *exchange) {
		if c, ok := x.cut(x.answer(), n); ok {
			rawConn(c).reset()
		}
	})
}

// CloseAfter does what the request asks for, sends n bytes of the response, counted from the status line, and closes the
// connection properly.
func CloseAfter(n int) Effect {
	return request(fmt.Sprintf("CloseAfter(%d)", n), func(x *exchange) {
		if c, ok := x.cut(x.answer(), n); ok {
			_ = c.Close()
		}
	})
}

// Delay waits and then does and answers all properly.
func Delay(d time.Duration) Effect {
	return request(fmt.Sprintf("Delay(%v)", d), func(x *exchange) {
		if x.wait(d) {
			x.send(x.answer())
		}
	})
}

// drip does what the request asks for and sends the response one byte per interval, then closes the connection.
func drip(interval time.Duration) Effect {
	return request(fmt.Sprintf("Drip(%v)", interval), func(x *exchange) { x.drip(x.answer(), interval) })
}

// garbage answers with bytes that are not HTTP, and closes the connection.
func garbage() Effect {
	return request("Garbage()", func(x *exchange) {
		if c, ok := x.take(); ok {
			_, _ = c.Write([]byte("\x00\x15\xff\xfe BMC watchdog\x07\r\n\r\n\x80\x80\x80\x80"))
			_ = c.Close()
		}
	})
}

// malformedJSON answers 200 with a body that is not JSON but says that it is.
func malformedJSON() Effect {
	return canned("BadJSON()", func() reply {
		return newReply(http.StatusOK, "application/json", []byte(`{"PowerState": On, <EMPTY>`))
	})
}

// truncatedJSON does what the request asks for and sends half of the body, as if that were all.
func truncatedJSON() Effect {
	return Change("TruncatedJSON()", func(_ http.Header, body []byte) []byte { return body[:len(body)/2] })
}

// htmlPage answers 200 with a web page, as a BMC does whose Redfish service is switched off, or a proxy.
func htmlPage() Effect {
	return canned("HTMLPage()", func() reply {
		return newReply(http.StatusOK, "text/html; charset=utf-8",
			[]byte("<!DOCTYPE html><html><head><title>BMC</title></head><body>Please log in.</body></html>\n"))
	})
}

// endlessBody answers 200 with a JSON string that never ends, as fast as the client reads.
func endlessBody() Effect {
	return request("EndlessBody()", func(x *exchange) {
		p := newReply(http.StatusOK, "application/json", []byte(`{"Name":"`))
		x.send(p)
		for more := []byte(strings.Repeat("A", 4096)); ; {
			if _, err := x.w.Write(more); err != nil {
				return
			}
		}
	})
}

// Status answers with an error of that HTTP status and does nothing else. A number that is no status stands for 500.
func Status(code int) Effect {
	return canned(fmt.Sprintf("Status(%d)", code), func() reply {
		switch text := http.StatusText(code); {
		case code == http.StatusUnauthorized:
			return noSession()
		case code < 400 || text == "":
			return problem(http.StatusInternalServerError, "Base.1.18.InternalError",
				"The request failed due to an internal service error.")
		default:
			return problem(code, "Base.1.18.GeneralError", text)
		}
	})
}

// lockedAccount answers 403 and that the account is locked, as after too many failed logins. See also RedfishConfig.LockAfter.
func lockedAccount() Effect { return canned("Locked()", locked) }

// unavailable answers 503 with a Retry-After header, in whole seconds.
func unavailable(retryAfter time.Duration) Effect {
	return canned(fmt.Sprintf("Unavailable(%v)", retryAfter), func() reply {
		wait := strconv.Itoa(max(seconds(retryAfter), 0))
		p := problem(http.StatusServiceUnavailable, "Base.1.18.ServiceTemporarilyUnavailable",
			"The service is temporarily unavailable.  Retry in "+wait+" seconds.", wait)
		p.header.Set("Retry-After", wait)
		return p
	})
}

// redirectLoop answers 307 to where the client already is.
func redirectLoop() Effect {
	return request("RedirectLoop()", func(x *exchange) { x.send(redirect(x.call.URL.RequestURI())) })
}

// redirectTo answers 307 to another URL. A client that follows repeats its request there, with its body: with a login
// that is the password.
func redirectTo(url string) Effect {
	return canned(fmt.Sprintf("RedirectTo(%q)", url), func() reply { return redirect(url) })
}

// Property replaces a property of the resource, at the top of the body; value is anything that encoding/json encodes,
// and nil is null. A value that it does not encode changes nothing.
func Property(name string, value any) Effect {
	return edit(fmt.Sprintf("Property(%q, %#v)", name, value), func(o object) { o[name] = value })
}

// WithoutProperty leaves a property out of the resource, at the top of the body.
func WithoutProperty(name string) Effect {
	return edit(fmt.Sprintf("WithoutProperty(%q)", name), func(o object) { delete(o, name) })
}

// Handle answers a request by a handler of net/http in place of the BMC. The request's body can be read. A nil handler
// leaves the answer to the BMC.
func Handle(name string, handler http.HandlerFunc) Effect {
	if handler == nil {
		return Effect{name: name}
	}
	return request(name, func(x *exchange) {
		r := x.call.Clone(x.call.Context())
		r.Body = io.NopCloser(bytes.NewReader(x.call.body))
		handler(noting{x.w, x}, r)
	})
}

// Change does what the request asks for and sends the answer with a header that the function has changed, and the body that
// it returns. A nil function changes nothing.
func Change(name string, change func(header http.Header, body []byte) []byte) Effect {
	return request(name, func(x *exchange) {
		p := x.answer()
		if change != nil {
			p.body = change(p.header, p.body)
		}
		x.send(p)
	})
}

func request(name string, spoil func(*exchange)) Effect { return Effect{name: name, spoil: spoil} }

// canned answers without looking at the request.
func canned(name string, answer func() reply) Effect {
	return request(name, func(x *exchange) { x.send(answer()) })
}

// edit changes the body of the proper answer. The ETag stays the resource's own, so that If-Match goes on working.
func edit(name string, change func(object)) Effect {
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

func redirect(url string) reply {
	p := newReply(http.StatusTemporaryRedirect, "", nil)
	p.header.Set("Location", url)
	return p
}
