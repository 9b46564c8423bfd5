package bmc

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
)

// Secret is a password. However it is printed or logged, it shows as "***", and
// it refuses to be encoded as text or JSON.
type Secret string

// Format implements [fmt.Formatter]: "***" for every verb.
func (Secret) Format(f fmt.State, _ rune) { io.WriteString(f, "***") }

// LogValue implements [slog.LogValuer].
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalText always fails.
func (Secret) MarshalText() ([]byte, error) { return nil, errors.New("a secret is not encoded") }

// scrub returns text with every form of the password replaced in which a BMC or
// a library could repeat it, and with line breaks made spaces.
func (c Config) scrub(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	password := string(c.Password)
	if password == "" {
		return text
	}
	quoted, _ := json.Marshal(password)
	for _, form := range []string{
		base64.StdEncoding.EncodeToString([]byte(c.User + ":" + password)),
		base64.StdEncoding.EncodeToString([]byte(password)),
		url.QueryEscape(password),
		url.PathEscape(password),
		strings.Trim(string(quoted), `"`),
		password,
	} {
		text = strings.ReplaceAll(text, form, "***")
	}
	return text
}
