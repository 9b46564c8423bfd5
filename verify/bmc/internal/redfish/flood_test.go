// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"bufio"
	"math"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// flood is a connection to a BMC that sends a beginning and then the same bytes again and again.
type flood struct {
	net.Conn
	begin, more string
	sent        int
}

func (f *flood) Write(p []byte) (int, error) { return len(p), nil }

func (f *flood) Read(p []byte) (n int, err error) {
	if f.sent < len(f.begin) {
		n = copy(p, f.begin[f.sent:])
	} else {
		n = copy(p, f.more[(f.sent-len(f.begin))%len(f.more):])
	}
	f.sent += n
	return n, nil
}

// SECURITY.md: The bytes, requests and time of an operation are bounded.
func TestAFloodIsReadUpToTheLimits(t *testing.T) {
	const (
		ok       = "HTTP/1.1 200 OK\r\n"
		most     = 1 << 20 // bytes of an operation
		answer   = 256 << 10
		buffered = 8 << 10 // read ahead, with the header of an answer
	)
	text, chunks := strings.Repeat("A", 4096), strings.Repeat("1\r\nA\r\n", 600)
	const gzips = ok + "Content-Encoding: gzip\r\n\r\n"
	for name, test := range map[string]struct {
		begin, more string
		limit       int64 // of the answer's body
		sent        int   // the most that is read
		err         string
	}{
		"a body without end":            {ok + "\r\n", text, answer, answer, errAnswer.Error()},
		"a body of that length":         {ok + "Content-Length: 1000000000000\r\n\r\n", text, answer, answer, errAnswer.Error()},
		"more than all answers may be":  {ok + "\r\n", text, 2 * most, most, errBytes.Error()},
		"chunks without end":            {ok + "Transfer-Encoding: chunked\r\n\r\n", chunks, answer, most, errBytes.Error()},
		"an error without end":          {"HTTP/1.1 500 No\r\n\r\n", text, answer, errorBytes, ""},
		"a header without end":          {ok + "A: ", text, answer, maxHeader, errHeader.Error()},
		"headers without end":           {ok, strings.Repeat("A: A\r\n", 600), answer, maxHeader, "header"},
		"hints without end":             {"", "HTTP/1.1 103 Early Hints\r\n\r\n", answer, 0, "no answer follows the informational ones"},
		"a gzip bomb":                   {gzips, packed(1 << 20), answer, 0, errAnswer.Error()},
		"a gzip bomb of many parts":     {gzips, strings.Repeat(packed(3), 100), answer, most, errBytes.Error()},
		"a gzip bomb beyond all limits": {gzips, packed(1 << 20), 2 * most, 0, errBytes.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			allocated := uint64(math.MaxUint64)
			for range 3 { // the rest of the process may allocate meanwhile
				conn, b := &flood{begin: test.begin, more: test.more}, &budget{most, 1}
				w := &wire{conn: &meteredConn{Conn: conn, budget: b}, budget: b}
				w.reader = bufio.NewReader(w)
				req, err := http.NewRequest(http.MethodGet, "https://bmc/a", nil)
				require.NoError(t, err)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				a, again, err := w.exchange(req, test.limit)
				runtime.ReadMemStats(&after)
				allocated = min(allocated, after.TotalAlloc-before.TotalAlloc)
				if test.err == "" {
					require.NoError(t, err)
					require.LessOrEqual(t, len(a.Body), test.sent)
				} else {
					require.ErrorContains(t, err, test.err)
				}
				require.False(t, again)
				require.LessOrEqual(t, conn.sent, test.sent+buffered)
			}
			require.LessOrEqual(t, allocated, uint64(10*test.limit), "a buffer that grows takes several times its size in all")
		})
	}
}
