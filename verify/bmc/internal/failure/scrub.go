// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ironstate/ironstate/verify/secret"
)

// maxText bounds a BMC's text in an error, in bytes.
const maxText = 400

// Scrubber removes secrets from texts that come from a BMC or a driver.
type Scrubber struct {
	user    string
	secrets []secret.Text
}

// NewScrubber returns the Scrubber of a user's secrets.
func NewScrubber(user string, secrets ...secret.Text) *Scrubber {
	return (&Scrubber{user: user}).With(secrets...)
}

// With returns a Scrubber that also removes some other secrets.
func (s *Scrubber) With(secrets ...secret.Text) *Scrubber {
	more := &Scrubber{s.user, slices.Clone(s.secrets)}
	for _, text := range secrets {
		more.Add(text)
	}
	return more
}

// Add adds a secret to remove.
func (s *Scrubber) Add(text secret.Text) {
	if !text.IsZero() {
		s.secrets = append(s.secrets, text)
	}
}

const (
	// minSecret is the length of the shortest secret that Clean removes from texts, in characters that are no white space.
	// A shorter one is found in any text by chance: its removal would garble the text and reveal the secret.
	minSecret = 4
	// withheld stands for a text that may have a secret shorter than minSecret.
	withheld = "details are withheld, because a password or token of fewer than 4 characters cannot be removed from them"
)

// Clean returns an error without secrets. If a secret is shorter than minSecret, the error's text
// has no text of the BMC or a driver at all.
func (s *Scrubber) Clean(err error) *Error {
	cleaned := Of(err)
	switch {
	case !slices.ContainsFunc(s.secrets, IsShort):
		cleaned.Text = s.clean(cleaned.Text)
	case cleaned.Cause != nil:
		cleaned.Text = cleaned.Cause.Error()
	default:
		cleaned.Text = withheld
	}
	return cleaned
}

// IsShort reports whether a secret is so short that Clean withholds each text as a whole.
func IsShort(hidden secret.Text) bool {
	packed, _ := pack(strings.ToValidUTF8(hidden.Reveal(), "\uFFFD"))
	return utf8.RuneCount(packed) < minSecret
}

// clean returns text on one line, without the secrets in any encoding, without
// control characters, and of bounded length.
func (s *Scrubber) clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = s.mask(text)
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return text
}

// mask replaces the secrets. It ignores case and white space, because headers and Base64 may be folded.
func (s *Scrubber) mask(text string) string {
	packed, at := pack(text)
	hidden := make([]bool, len(text))
	found := false
	for _, form := range s.forms() {
		for begin := 0; ; begin++ {
			i := bytes.Index(packed[begin:], form)
			if i < 0 {
				break
			}
			begin += i
			found = true
			for j := at[begin].from; j < at[begin+len(form)-1].to; j++ {
				hidden[j] = true
			}
		}
	}
	if !found {
		return text
	}
	var out strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			out.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			out.WriteString("***")
		}
	}
	return out.String()
}

// span is the position of a character in a text, in bytes.
type span struct{ from, to int }

// pack returns a text without white space and in lower case, and for each of its bytes
// the position of the original character.
func pack(text string) (packed []byte, at []span) {
	for i, r := range text {
		if unicode.IsSpace(r) {
			continue
		}
		character := span{i, i + utf8.RuneLen(r)}
		packed = utf8.AppendRune(packed, unicode.ToLower(r))
		for len(at) < len(packed) {
			at = append(at, character)
		}
	}
	return packed, at
}

// forms returns the packed forms of the secrets in each encoding, and in one encoding applied to another. A BMC can
// echo what it was sent: the password in JSON or Base64, and the token in a header. Its answer encodes that once more,
// as JSON or HTML, and an error quotes the answer. Only a BMC that hides a secret on purpose would encode it further,
// and could use an encoding of its own as well.
func (s *Scrubber) forms() [][]byte {
	texts := make(map[string]bool)
	add := func(forms []string) {
		for _, form := range forms {
			packed, _ := pack(strings.ToValidUTF8(form, "\uFFFD"))
			texts[string(packed)] = true
		}
	}
	for _, hidden := range s.secrets {
		text := hidden.Reveal()
		for _, once := range encodings(text) {
			add(encodings(once))
		}
		for _, plain := range slices.Concat(base64s(text), base64s(s.user+":"+text)) {
			add(encodings(plain))
		}
	}
	delete(texts, "")
	forms := make([][]byte, 0, len(texts))
	for text := range texts {
		forms = append(forms, []byte(text))
	}
	return forms
}

func base64s(text string) []string {
	var all []string
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		all = append(all, e.EncodeToString([]byte(text)))
	}
	return all
}

// encodings returns a text unencoded and in every encoding.
func encodings(text string) []string {
	marshalled, _ := json.Marshal(text) // escapes HTML as well
	asJSON := unquote(string(marshalled))
	plainJSON := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(asJSON)
	all := []string{
		text,
		asJSON, plainJSON, strings.ReplaceAll(plainJSON, "/", `\/`),
		unquote(strconv.Quote(text)), unquote(strconv.QuoteToASCII(text)),
		html.EscapeString(text), strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").Replace(html.EscapeString(text)),
		url.QueryEscape(text), url.PathEscape(text),
		hex.EncodeToString([]byte(text)),
	}
	for _, format := range []string{`\u%04x`, "&#%d;", "&#x%x;"} {
		var escaped strings.Builder
		for _, r := range text {
			fmt.Fprintf(&escaped, format, r)
		}
		all = append(all, escaped.String())
	}
	var percent strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&percent, "%%%02x", b)
	}
	all = append(all, percent.String())
	slices.Sort(all)
	return slices.Compact(all)
}

func unquote(quoted string) string { return quoted[1 : len(quoted)-1] }
