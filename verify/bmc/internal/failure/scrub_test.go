// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/ironstate/ironstate/internal/rapidseed"
	"github.com/ironstate/ironstate/verify/secret"
)

// writers are the encodings of a text, implemented independently of the code that
// searches for them.
var writers = map[string]func(string) string{
	"plain":                     func(s string) string { return s },
	"upper case":                strings.ToUpper,
	"URL query":                 url.QueryEscape,
	"URL path":                  url.PathEscape,
	"HTML":                      html.EscapeString,
	"Go":                        func(s string) string { return fmt.Sprintf("%q", s) },
	"Go, ASCII":                 func(s string) string { return fmt.Sprintf("%+q", s) },
	"JSON":                      func(s string) string { b, _ := json.Marshal(s); return string(b) },
	"Go of JSON":                func(s string) string { b, _ := json.Marshal(s); return strconv.Quote(string(b)) },
	"base64":                    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 unpadded":           func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"base64 for URLs":           func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"Basic":                     func(s string) string { return base64.StdEncoding.EncodeToString([]byte("admin:" + s)) },
	"hexadecimal":               func(s string) string { return fmt.Sprintf("%x", s) },
	"JSON, each character":      each(func(r rune) string { return `\u` + hex.EncodeToString(binary.BigEndian.AppendUint16(nil, uint16(r))) }),
	"HTML, decimal numbers":     each(func(r rune) string { return "&#" + strconv.Itoa(int(r)) + ";" }),
	"HTML, hexadecimal numbers": each(func(r rune) string { return "&#x" + strconv.FormatInt(int64(r), 16) + ";" }),
	"URL, each byte":            func(s string) string { return "%" + strings.ReplaceAll(fmt.Sprintf("% x", s), " ", "%") },
	"folded": func(s string) string {
		return strings.Join(strings.SplitAfter(base64.StdEncoding.EncodeToString([]byte(s)), ""), "\r\n ")
	},
	"folded at spaces": func(s string) string { return strings.ReplaceAll(s, " ", "\r\n\t") },
}

// each encodes the characters of a text one by one.
func each(write func(rune) string) func(string) string {
	return func(s string) (written string) {
		for _, r := range s {
			written += write(r)
		}
		return written
	}
}

// SECURITY.md: Passwords and session tokens are removed from every text of a BMC before it reaches an error, a log or
// `last_error`.
func TestASecretIsTakenOutHoweverItIsWritten(t *testing.T) {
	for name, write := range writers {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			text := rapid.StringMatching(`[ -~äß€]{8,24}`).Draw(t, "secret")
			if strings.TrimSpace(text) != text || strings.Contains(text, "  ") {
				t.Skip("white space is folded")
			}
			scrub := NewScrubber("admin", secret.New(text))
			written := write(text)
			cleaned := scrub.clean("the BMC says <" + written + "> and stops")
			require.Contains(t, cleaned, "the BMC says <")
			require.Contains(t, cleaned, "***")
			require.Contains(t, cleaned, "> and stops")
			unfolded := func(s string) string { return strings.Join(strings.Fields(s), "") }
			require.NotContains(t, unfolded(cleaned), unfolded(strings.Trim(written, `"`)))
		}))
	}
}

func TestATextIsCleaned(t *testing.T) {
	scrub := NewScrubber("admin", secret.New("hunter2"), secret.New(""))
	for text, want := range map[string]string{
		"":                            "",
		"nothing to hide":             "nothing to hide",
		" a\r\nb\tc ":                 "a b c",
		"hunter2":                     "***",
		"HUNTER2hunter2, hunter":      "***, hunter",
		"a bell \a and \x1b[31m":      "a bell \uFFFD and \uFFFD[31m",
		"half a rune \xc3":            "half a rune \uFFFD",
		strings.Repeat("ä", maxText):  strings.Repeat("ä", maxText/2) + "...",
		strings.Repeat("a", maxText):  strings.Repeat("a", maxText),
		"hunt\ner2 h u n t e r 2 end": "*** *** end",
	} {
		require.Equal(t, want, scrub.clean(text))
	}
}

func TestASecretThatIsNoUTF8IsTakenOut(t *testing.T) {
	scrub := NewScrubber("admin", secret.New("hunter\xff\xfe"))
	require.Equal(t, "it is ***", scrub.clean("it is hunter\xff\xfe"))
	require.Equal(t, "it is ***, or not", scrub.clean("it is HUNTER\xff\xfe, or not"))
}

func TestAShortSecretGarblesNoText(t *testing.T) {
	refused := &net.OpError{Op: "read", Net: "udp", Err: os.NewSyscallError("read", syscall.ECONNREFUSED)}
	for _, short := range []string{"e", " e ", "€", "ead", "re\tad"[:4], "   ", "\xff\xfe\xfd\xfc\xfb"} {
		scrub := NewScrubber("admin", secret.New(short))
		require.Equal(t, "connection refused", scrub.Clean(refused).Text, "%q", short)
		require.Equal(t, withheld, scrub.Clean(Protocolf("the BMC answers %s", short)).Text, "%q", short)
	}
	scrub := NewScrubber("admin", secret.New("read"))
	require.Equal(t, "*** udp: ***: connection refused", scrub.Clean(refused).Text, "long enough to be found")
}

func FuzzClean(f *testing.F) {
	f.Add("hunter2", "the password is hunter2")
	f.Add("", "\xff\x00")
	f.Add(" ", " ")
	f.Fuzz(func(t *testing.T, hidden, text string) {
		scrub := NewScrubber("admin", secret.New(hidden))
		cleaned := scrub.clean(text)
		require.LessOrEqual(t, len(cleaned), maxText+len("..."))
		require.False(t, strings.ContainsFunc(cleaned, unicode.IsControl))
		if len(hidden) > 3 && strings.TrimSpace(hidden) == hidden {
			require.NotContains(t, cleaned, hidden)
		}
	})
}
