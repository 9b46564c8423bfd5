// SPDX-License-Identifier: Apache-2.0

// Package errtext cleans external texts, such as those of a BMC, a driver or a caller,
// so that they can be stored as a node's last error or printed to a terminal.
package errtext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLen is the length of the longest text that Clean returns, in bytes.
const MaxLen = 2048

// cutMark is the end of a text that Clean has truncated.
const cutMark = " [cut]"

// Clean returns a text in valid UTF-8 of at most MaxLen bytes. A control
// character, such as ESC or a line break, becomes a space; a character that
// changes the direction of writing, such as U+202E, is removed; invalid UTF-8 becomes
// U+FFFD; a text that is too long is truncated and ends in a mark. Clean does not
// allocate if it changes nothing.
func Clean(text string) string {
	if len(text) <= MaxLen && utf8.ValidString(text) && strings.IndexFunc(text, isUnfit) < 0 {
		return text
	}
	// Only the first MaxLen characters can become part of the result.
	first := firstRunes(text, MaxLen)
	isCut := len(first) < len(text)
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		case isUnfit(r):
			return ' '
		default:
			return r
		}
	}, strings.ToValidUTF8(first, string(utf8.RuneError)))
	if !isCut && len(text) <= MaxLen {
		return text
	}
	end := min(len(text), MaxLen-len(cutMark))
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutMark
}

// isUnfit reports whether a character may move a terminal's cursor, or hide or reorder
// the characters around it.
func isUnfit(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// firstRunes returns the first n characters of a text.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
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

type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }

func (e *cleanError) Unwrap() error { return e.err }
