// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
)

// packed returns a JSON text of n bytes, compressed.
func packed(n int) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	fmt.Fprintf(w, `"%s"`, strings.Repeat("a", n-2))
	_ = w.Close()
	return out.String()
}

func TestAnAnswerIsReadAsItIsSent(t *testing.T) {
	const (
		ok    = "HTTP/1.1 200 OK\r\n"
		early = "HTTP/1.1 103 Early Hints\r\n\r\n"
		text  = "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
		gzips = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n"
	)
	header := func(n int) string { return "A: " + strings.Repeat("a", n-len("A: \r\n")) + "\r\n" }
	const tooLong = "the header of an answer is longer than 64 KiB"
	rest := maxHeader - len(ok) - len("Content-Type: application/json\r\nContent-Length: 2\r\n\r\n")
	for name, test := range map[string]struct {
		answer string
		size   int    // of the body
		err    string // empty for none
	}{
		"plain":                       {ok + text, 2, ""},
		"without a length":            {ok + "Content-Type: application/json\r\n\r\n{}", 2, ""},
		"after four hints":            {strings.Repeat(early, 4) + ok + text, 2, ""},
		"after five hints":            {strings.Repeat(early, 5) + ok + text, 0, "no answer follows the informational ones"},
		"the longest header":          {ok + header(rest) + text, 2, ""},
		"a longer header":             {ok + "Content-Length: 2\r\n" + header(maxHeader) + "\r\n{}", 0, tooLong},
		"a header without end":        {ok + header(maxHeader*2), 0, tooLong},
		"a header and hints together": {early + ok + header(rest) + text, 0, tooLong},
		"nothing":                     {"", 0, "unexpected EOF"},
		"half a header":               {ok, 0, "unexpected EOF"},
		"no HTTP":                     {"220 mail\r\n", 0, "malformed HTTP"},
		"half a body":                 {ok + "Content-Type: application/json\r\nContent-Length: 3\r\n\r\n{}", 0, "unexpected EOF"},
		"compressed":                  {ok + gzips + packed(1000), 1000, ""},
		"compressed and too long":     {ok + gzips + packed(1001), 0, "an answer is longer than the limit"},
		"compressed without end":      {ok + gzips + packed(1<<20), 0, "an answer is longer than the limit"},
		"compressed and cut off":      {ok + gzips + packed(1000)[:20], 0, "unexpected EOF"},
		"not compressed":              {ok + gzips + "{}{}{}{}{}{}", 0, "gzip: invalid header"},
		"an error, cut off":           {"HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\n{}", 2, ""},
		"an error, not compressed":    {"HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\n\r\n{}{}{}{}{}{}", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(w http.ResponseWriter, _ *http.Request) { raw(w, test.answer) })
			c := s.client(func(c *Config) { c.MaxAnswerBytes = 1000 })
			defer c.Close(t.Context())
			a, err := c.send(t.Context(), Request{Method: http.MethodGet, Path: "/a"})
			if test.err == "" {
				require.NoError(t, err)
				require.Len(t, a.Body, test.size)
				return
			}
			require.ErrorContains(t, err, test.err)
			require.Equal(t, verify.Protocol, kindOf(t, err))
			if a != nil {
				require.Empty(t, a.Body)
			}
		})
	}
}

func TestWhatIsUnpackedCountsToo(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write([]byte(packed(50_000)))
	})
	c := s.client(func(c *Config) { c.MaxBytes = 120_000 })
	defer c.Close(t.Context())
	get := func() (*Answer, error) { return c.send(t.Context(), Request{Method: http.MethodGet, Path: "/a"}) }
	for range 2 {
		a, err := get()
		require.NoError(t, err)
		require.Len(t, a.Body, 50_000)
	}
	_, err := get()
	require.ErrorIs(t, err, errBytes)
	c.Begin()
	_, err = get()
	require.NoError(t, err)
}

func TestACompressedAnswerEndsItsConnection(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write([]byte(packed(10)))
	})
	c := s.client()
	for range 2 {
		_, err := c.Do(t.Context(), Request{Method: http.MethodGet, Path: "/a"})
		require.NoError(t, err)
		require.Equal(t, http.StateNew, <-s.connections)
		require.Equal(t, http.StateClosed, <-s.connections, "bytes may follow the compressed text")
	}
}
