// SPDX-License-Identifier: Apache-2.0

// Package secret holds passwords and tokens so that no printer, logger or encoder
// shows them.
//
// A [Text] replaces a string that would show the secret:
//
//	config := Config{User: "admin", Password: secret.New(os.Getenv("BMC_PASSWORD"))}
//	log.Printf("%+v", config) // {User:admin Password:***}
//
// It is decoded from JSON like a string, and encoded as "***". Code that needs the
// secret calls [Text.Reveal]:
//
//	request.SetBasicAuth(config.User, config.Password.Reveal())
//
// The package imports the standard library alone.
package secret

import (
	"errors"
	"fmt"
	"io"
)

// mask is printed in place of every secret.
const mask = "***"

// Text is a secret text. Package fmt prints it as "***" for every verb, log/slog
// logs it as "***", JSON and XML encode it as "***", and gob refuses it. Printers that
// walk through unexported fields without calling methods do not find the text either:
// it is in a closure.
//
// The zero value is the empty secret. A Text may be copied and shared. The results of
// two calls of New with non-empty texts are never equal by ==.
type Text struct {
	shown  string         // mask, for printers of fields
	reveal *func() string // nil for the empty secret
}

// New returns a secret of a text.
func New(text string) Text {
	if text == "" {
		return Text{}
	}
	reveal := func() string { return text }
	return Text{shown: mask, reveal: &reveal}
}

// Reveal returns the text.
func (t Text) Reveal() string {
	if t.reveal == nil {
		return ""
	}
	return (*t.reveal)()
}

// IsZero reports whether the secret is empty.
func (t Text) IsZero() bool { return t.reveal == nil }

// Format implements [fmt.Formatter]: "***" for every verb.
func (Text) Format(f fmt.State, _ rune) {
	if f != nil {
		_, _ = io.WriteString(f, mask)
	}
}

// MarshalText returns "***".
func (Text) MarshalText() ([]byte, error) { return []byte(mask), nil }

// UnmarshalText sets the secret to a text, so that it can be read from a
// configuration file. The text "***" is refused: [Text.MarshalText] writes it for
// a secret.
func (t *Text) UnmarshalText(text []byte) error {
	if string(text) == mask {
		return errors.New("secret: the text is \"***\", which stands for a secret that was not written down")
	}
	*t = New(string(text))
	return nil
}
