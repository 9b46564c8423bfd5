// SPDX-License-Identifier: Apache-2.0

// Package errtext cleans external texts, such as a BMC's, a driver's or a caller's,
// so that they can be stored as a node's last error or printed to a terminal.
package errtext

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ironstate/ironstate/internal/masked"
)

// MaxLen is the length of the longest text that Clean returns, in bytes.
const MaxLen = 2048

// cutMark is the end of a text that Clean has truncated.
const cutMark = " [cut]"

// Clean returns a text in valid UTF-8 of at most MaxLen bytes. A control
// character, such as ESC or a line break, becomes a space; a character that
// changes the direction of writing, such as U+202E, is removed; invalid UTF-8 becomes
// U+FFFD; the passwords of URLs are masked; a text that is too long is truncated and ends in a mark.
// Clean does not allocate if it changes nothing.
func Clean(text string) string {
	if !utf8.ValidString(text) || strings.IndexFunc(text, isUnfit) >= 0 {
		text = strings.Map(fit, strings.ToValidUTF8(text, string(utf8.RuneError)))
	}
	text = masked.Start(text, MaxLen+1)
	if len(text) <= MaxLen {
		return text
	}
	end := MaxLen - len(cutMark)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutMark
}

// fit returns the character that Clean puts in place of one, -1 for none.
func fit(r rune) rune {
	switch {
	case !isUnfit(r):
		return r
	case unicode.Is(unicode.Bidi_Control, r):
		return -1
	default:
		return ' '
	}
}

// Value returns a decoded JSON value in which each text and each key is cleaned. It does not change v.
func Value(v any) any {
	switch v := v.(type) {
	case string:
		return Clean(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Value(item)
		}
		return list
	case map[string]any:
		return Object(v)
	default:
		return v
	}
}

// Object is Value for an object.
func Object(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	object := make(map[string]any, len(m))
	for key, value := range m {
		object[Clean(key)] = Value(value)
	}
	return object
}

// isUnfit reports whether a character may move a terminal's cursor, or hide or reorder
// the characters around it.
func isUnfit(r rune) bool {
	if r <= unicode.MaxASCII {
		return r < ' ' || r == '\x7f'
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Error returns an error with a cleaned text, which unwraps to err. If the text of err
// is clean, it returns err itself; for nil it returns nil.
func Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if Clean(text) == text {
		return err
	}
	return &cleanError{Clean(text), err}
}

// WithoutURL returns the cause of an error of net/http. Its text has neither the URL of the request nor the one of a
// redirect, which may contain a password or a token.
func WithoutURL(err error) error {
	var wrapped *url.Error
	switch {
	case !errors.As(err, &wrapped):
		return err
	case strings.HasPrefix(wrapped.Err.Error(), "failed to parse Location header"):
		return errors.New("it redirects to a malformed URL")
	default:
		return wrapped.Err
	}
}

type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }

func (e *cleanError) Unwrap() error { return e.err }
