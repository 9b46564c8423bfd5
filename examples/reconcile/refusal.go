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

// refusal is an answer of Ironic that is not the one hoped for.
type refusal struct {
	what   string // what was asked
	status int
	fault  string        // what Ironic says of it
	after  time.Duration // when to come again, as Ironic says; 0 where it does not
}

func (r *refusal) Error() string { return r.what + ": " + r.text() }

func (r *refusal) text() string {
	text := strconv.Itoa(r.status)
	if name := http.StatusText(r.status); name != "" {
		text += " " + name
	}
	if r.fault != "" {
		text += ": " + r.fault
	}
	return text
}

// passes reports whether to come again: the node is locked by other work, or
// Ironic has no time. Any other answer would be the same the next time.
func (r *refusal) passes() bool {
	return r.status == http.StatusConflict || r.status == http.StatusServiceUnavailable
}

// explain makes an error say what was asked and, where Ironic refused, why.
func explain(what string, err error) error {
	if err == nil {
		return nil
	}
	var answer gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &answer) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return &refusal{
		what:   what,
		status: answer.Actual,
		fault:  faultOf(answer.Body),
		after:  retryAfter(answer.ResponseHeader.Get("Retry-After"), time.Now()),
	}
}

// faultOf finds the text in Ironic's fault, which is JSON in a string of JSON, or
// JSON in JSON. A body of another kind is somebody else's, and not shown.
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
