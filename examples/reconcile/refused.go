package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// backoff configures the retries after a temporary refusal.
type backoff struct {
	times       int           // retries in a row
	first, most time.Duration // the wait doubles from first up to most
	longest     time.Duration // the longest Retry-After that is honoured
}

// defaultBackoff waits up to about four minutes in a row.
var defaultBackoff = backoff{times: 10, first: time.Second, most: 30 * time.Second, longest: 10 * time.Minute}

// delay returns how long to wait after an error, the nth in a row: at least as long as
// Ironic's Retry-After. It returns an error if there must be no retry.
func (b backoff) delay(err error, nth int) (time.Duration, error) {
	var r *refusedError
	switch {
	case !errors.As(err, &r) || !r.temporary():
		return 0, err
	case nth > b.times:
		return 0, fmt.Errorf("refused %d times in a row: %w", nth, err)
	case r.after > b.longest:
		return 0, fmt.Errorf("asked to wait for %v, which is longer than %v: %w", r.after, b.longest, err)
	}
	wait := b.first
	for range nth - 1 {
		wait = min(2*wait, b.most)
	}
	return max(wait, r.after), nil
}

// refusedError is an answer with which Ironic refuses a request.
type refusedError struct {
	what   string // the request
	status int
	fault  string        // the text of Ironic's fault
	after  time.Duration // Ironic's Retry-After; 0 if there is none
}

func (e *refusedError) Error() string {
	text := e.what + ": " + strconv.Itoa(e.status)
	if name := http.StatusText(e.status); name != "" {
		text += " " + name
	}
	if e.fault != "" {
		text += ": " + e.fault
	}
	return text
}

// temporary reports whether a retry may succeed: the node is locked by other work, or
// Ironic has no free worker. Any other answer would be the same the next time.
func (e *refusedError) temporary() bool {
	return e.status == http.StatusConflict || e.status == http.StatusServiceUnavailable
}

// explain adds the request to an error and, if Ironic refused, the reason.
func explain(what string, err error) error {
	if err == nil {
		return nil
	}
	var answer gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &answer) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return &refusedError{
		what:   what,
		status: answer.Actual,
		fault:  faultOf(answer.Body),
		after:  retryAfter(answer.ResponseHeader.Get("Retry-After"), time.Now()),
	}
}

// faultOf returns the text in Ironic's fault, which is JSON in a string of JSON, or
// JSON in JSON. It returns nothing for other bodies, which do not come from Ironic.
func faultOf(body []byte) string {
	var outer struct {
		Message json.RawMessage `json:"error_message"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return ""
	}
	message := []byte(outer.Message)
	var text string
	if json.Unmarshal(message, &text) == nil {
		message = []byte(text)
	}
	var inner struct {
		Fault       string `json:"faultstring"`
		Description string `json:"description"`
	}
	if json.Unmarshal(message, &inner) != nil {
		return text
	}
	return cmp.Or(inner.Fault, inner.Description)
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}
