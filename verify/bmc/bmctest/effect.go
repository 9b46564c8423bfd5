package bmctest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Effect is what a Fault does. It is made by one of the functions that return it; the zero value does nothing. It may be
// shared by any number of faults and BMCs.
type Effect struct {
	name  string
	line  line            // not lineTLS: the effect is about the port
	spoil func(*exchange) // else what happens to the request
}

// String is the call that made the effect, as "HangAfter(120)", and "nothing" for the zero value.
func (e Effect) String() string { return defaultTo(e.name, "nothing") }

// Effects lists one effect of each kind, some with several values, for tests that go through all of them. A client can
// bear the Delay of 50 milliseconds, a patient one the Drip, and a careful one an odd Location or the lack of a part that
// it does not need; with any other it should fail, or say that the power state is unknown, in bounded time. Body, Members
// and Property of "Members" end programs that leave them to gofish 0.20.0.
func Effects() []Effect {
	return []Effect{
		Refuse(), Silent(), PlainHTTP(),
		HangAfter(0), HangAfter(20), HangAfter(400),
		ResetAfter(0), ResetAfter(20), ResetAfter(400),
		CloseAfter(0), CloseAfter(20), CloseAfter(400),
		Delay(50 * time.Millisecond), Drip(10 * time.Millisecond),
		Garbage(), BadJSON(), TruncatedJSON(), HTMLPage(), EndlessBody(),
		Status(http.StatusUnauthorized), Status(http.StatusNotFound), Status(http.StatusInternalServerError),
		Locked(), Unavailable(time.Second),
		RedirectLoop(), RedirectTo("https://another-bmc.invalid/redfish/v1/"),
		Property("PowerState", nil), Property("PowerState", 1), WithoutProperty("PowerState"),
		Body("null"), Body("[]"), Body(`"text"`), LongBody(4 << 20), LongError(http.StatusInternalServerError, 1<<20),
		GzipBomb(1 << 30), Raw("HTTP/1.1 200 OK\r\nA header without a colon\r\n\r\n{}"), Echo(http.StatusInternalServerError),
		Members(1000), Property("Members", nil), Property("Members@odata.nextLink", ":%zz"),
		Property("Members@odata.nextLink", "/redfish/v1/Systems?page=2"),
		EscapedLocation(), BareLocation(), WithoutHeader("Location"), WithoutBody(), WithoutHeader("X-Auth-Token"),
		NamelessSession(),
	}
}

// Refuse stops to listen: connections are refused.
func Refuse() Effect { return Effect{name: "Refuse()", line: lineRefused} }

// Silent accepts connections and never says a word: no TLS handshake ends.
func Silent() Effect { return Effect{name: "Silent()", line: lineSilent} }

// PlainHTTP speaks HTTP without TLS.
func PlainHTTP() Effect { return Effect{name: "PlainHTTP()", line: linePlain} }

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

// Drip does what the request asks for and sends the response one byte per interval, then closes the connection.
func Drip(interval time.Duration) Effect {
	return request(fmt.Sprintf("Drip(%v)", interval), func(x *exchange) { x.drip(x.answer(), interval) })
}

// Garbage answers with bytes that are not HTTP, and closes the connection.
func Garbage() Effect {
	return request("Garbage()", func(x *exchange) {
		if c, ok := x.take(); ok {
			_, _ = c.Write([]byte("\x00\x15\xff\xfe BMC watchdog\x07\r\n\r\n\x80\x80\x80\x80"))
			_ = c.Close()
		}
	})
}

// BadJSON answers 200 with a body that is not JSON but says that it is.
func BadJSON() Effect {
	return canned("BadJSON()", func() reply {
		return newReply(http.StatusOK, "application/json", []byte(`{"PowerState": On, <EMPTY>`))
	})
}

// TruncatedJSON does what the request asks for and sends half of the body, as if that were all.
func TruncatedJSON() Effect {
	return request("TruncatedJSON()", func(x *exchange) {
		p := x.answer()
		p.body = p.body[:len(p.body)/2]
		x.send(p)
	})
}

// HTMLPage answers 200 with a web page, as a BMC does whose Redfish service is switched off, or a proxy.
func HTMLPage() Effect {
	return canned("HTMLPage()", func() reply {
		return newReply(http.StatusOK, "text/html; charset=utf-8",
			[]byte("<!DOCTYPE html><html><head><title>BMC</title></head><body>Please log in.</body></html>\n"))
	})
}

// EndlessBody answers 200 with a JSON string that never ends, as fast as the client reads.
func EndlessBody() Effect {
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

// Locked answers 403 and that the account is locked, as after too many failed logins. See also RedfishConfig.LockAfter.
func Locked() Effect { return canned("Locked()", locked) }

// Unavailable answers 503 with a Retry-After header, in whole seconds.
func Unavailable(retryAfter time.Duration) Effect {
	return canned(fmt.Sprintf("Unavailable(%v)", retryAfter), func() reply {
		wait := strconv.Itoa(max(seconds(retryAfter), 0))
		p := problem(http.StatusServiceUnavailable, "Base.1.18.ServiceTemporarilyUnavailable",
			"The service is temporarily unavailable.  Retry in "+wait+" seconds.", wait)
		p.header.Set("Retry-After", wait)
		return p
	})
}

// RedirectLoop answers 307 to where the client already is.
func RedirectLoop() Effect {
	return request("RedirectLoop()", func(x *exchange) { x.send(redirect(x.call.URL.RequestURI())) })
}

// RedirectTo answers 307 to another URL. A client that follows repeats its request there, with its body: with a login
// that is the password.
func RedirectTo(url string) Effect {
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

func request(name string, spoil func(*exchange)) Effect { return Effect{name: name, spoil: spoil} }

// canned answers without looking at the request.
func canned(name string, answer func() reply) Effect {
	return request(name, func(x *exchange) { x.send(answer()) })
}

// edit changes the body of the proper answer. The ETag stays the resource's own, so that If-Match goes on working.
func edit(name string, change func(object)) Effect {
	return request(name, func(x *exchange) {
		p := x.answer()
		var o object
		if err := json.Unmarshal(p.body, &o); err == nil && o != nil {
			change(o)
			if body, err := json.Marshal(o); err == nil {
				p.body = body
			}
		}
		x.send(p)
	})
}

func redirect(url string) reply {
	p := newReply(http.StatusTemporaryRedirect, "", nil)
	p.header.Set("Location", url)
	return p
}
