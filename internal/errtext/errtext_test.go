// SPDX-License-Identifier: Apache-2.0

package errtext_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/errtext"
)

func TestClean(t *testing.T) {
	long := strings.Repeat("x", errtext.MaxLen)
	tests := map[string]struct{ text, want string }{
		"empty":                {"", ""},
		"plain":                {"no power: 95 °C", "no power: 95 °C"},
		"escape sequences":     {"\x1b[31mred\x1b[0m\a", " [31mred [0m "},
		"a C1 control":         {"a\u009bb", "a b"},
		"line breaks and tabs": {"a\r\n\tb\u2028c", "a   b c"},
		"right to left":        {"pass\u202edrow\u2066", "passdrow"},
		"bad UTF-8":            {"a\xff\xfeb", "a\ufffdb"},
		"just short enough":    {long, long},
		"too long":             {long + "x", long[:errtext.MaxLen-6] + " [cut]"},
		"cut within a character": {
			strings.Repeat("x", errtext.MaxLen-7) + "€" + long, strings.Repeat("x", errtext.MaxLen-7) + " [cut]",
		},
		"too long by removed characters alone": {strings.Repeat("\u202e", errtext.MaxLen) + "end", "end"},
		"a password in a URL":                  {"no http://u:hunter2@h/x", "no http://u:******@h/x"},
		"a password behind the end": {long[:errtext.MaxLen-18] + " http://u:hunter2@h/",
			long[:errtext.MaxLen-18] + " http://u:** [cut]"},
		"a URL with a hidden character": {"http:\u202e//u:hun\x1bter2@h", "http://u:******@h"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, errtext.Clean(test.text)) })
	}
	require.Zero(t, testing.AllocsPerRun(10, func() { errtext.Clean(long) }))
}

func TestWhatIsCutFromATextIsNotMasked(t *testing.T) {
	text := strings.Repeat("h://a:b@", 500_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	clean := errtext.Clean(text)
	runtime.ReadMemStats(&after)
	require.Equal(t, strings.Repeat("h://a:******@", errtext.MaxLen)[:errtext.MaxLen-6]+" [cut]", clean)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10), "bytes")
}

func TestError(t *testing.T) {
	require.NoError(t, errtext.Error(nil))
	fit := errors.New("no power")
	require.Same(t, fit, errtext.Error(fit))
	unfit := errors.New("\x1b[2Jno power")
	err := errtext.Error(unfit)
	require.EqualError(t, err, " [2Jno power")
	require.ErrorIs(t, err, unfit)
}

func TestAnErrorOfNetHTTPHasNeitherURL(t *testing.T) {
	cause := errors.New("refused")
	require.Equal(t, cause, errtext.WithoutURL(fmt.Errorf("get: %w", &url.Error{Op: "Get", URL: "http://h/?token=hunter2", Err: cause})))
	require.Equal(t, cause, errtext.WithoutURL(cause))
	require.NoError(t, errtext.WithoutURL(nil))
	client := http.Client{Transport: redirects("http://[::1?token=hunter2")}
	_, err := client.Get("http://h/?token=hunter2")
	require.EqualError(t, errtext.WithoutURL(err), "it redirects to a malformed URL")
}

// redirects answers a request by HTTP with a redirect to this location.
type redirects string

func (location redirects) RoundTrip(r *http.Request) (*http.Response, error) {
	header := http.Header{"Location": {string(location)}}
	return &http.Response{StatusCode: http.StatusFound, Header: header, Body: http.NoBody, Request: r}, nil
}

func TestTheTextsOfAValueAreCleanedAndTheValueStays(t *testing.T) {
	given := map[string]any{"a\x1bb": []any{"\x1b[2J", 1.5, nil, map[string]any{"u": "http://u:hunter2@h"}}, "x": true}
	want := map[string]any{"a b": []any{" [2J", 1.5, nil, map[string]any{"u": "http://u:******@h"}}, "x": true}
	require.Equal(t, want, errtext.Value(given))
	require.Contains(t, given, "a\x1bb")
	require.Nil(t, errtext.Object(nil))
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b]0;title\a")
	f.Add("\u202e\xff")
	f.Add("a:\u202e//b:c@d")
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, strings.Repeat(text, 1+2*errtext.MaxLen/max(1, len(text)))} {
			got := errtext.Clean(text)
			require.True(t, utf8.ValidString(got))
			require.LessOrEqual(t, len(got), errtext.MaxLen)
			for _, r := range got {
				require.False(t, unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r), "%U", r)
			}
			require.Equal(t, got, errtext.Clean(got), "a clean text stays as it is")
		}
	})
}
