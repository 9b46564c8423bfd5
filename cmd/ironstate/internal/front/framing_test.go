// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// reader is a connection that reads a text.
type reader struct {
	net.Conn
	io.Reader
}

func (r reader) Read(p []byte) (int, error) { return r.Reader.Read(p) }

// requests reads requests as net/http's server does, up to the one behind which closeAfterLast closes the connection.
// It returns their targets and bodies, and the error that ended it.
func requests(r io.Reader) (found []string, err error) {
	for buffered := bufio.NewReader(r); ; {
		request, err := http.ReadRequest(buffered)
		if err != nil {
			return found, err
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return found, err
		}
		found = append(found, request.RequestURI+" "+string(body))
		if request.Proto != "HTTP/1.1" || len(request.TransferEncoding) > 0 {
			return found, nil
		}
	}
}

func TestRequestsWithOneLengthPassAndOthersDoNot(t *testing.T) {
	const get, post = "GET /1 HTTP/1.1\r\nHost: a\r\n", "POST /2 HTTP/1.1\r\nHost: a\r\n"
	long := strings.Repeat("x", 3000)
	for text, want := range map[string]struct {
		found     []string
		ambiguous bool
	}{
		"":           {nil, false},
		get + "\r\n": {[]string{"/1 "}, false},
		get + "\r\n" + post + "Content-Length: 3\r\n\r\nabc" + get + "\r\n":          {[]string{"/1 ", "/2 abc", "/1 "}, false},
		post + "content-length:\t3 \r\n\r\na\n\n" + get + "\r\n":                     {[]string{"/2 a\n\n", "/1 "}, false},
		"POST /2 HTTP/1.1\nHost: a\nContent-Length: 3\n\nabc" + get + "\r\n":         {[]string{"/2 abc", "/1 "}, false},
		post + "Content-Length: 3\r\n\r\nabc" + get + "Transfer-Encoding: x\r\n\r\n": {[]string{"/2 abc"}, false},
		post + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n" + get:         {[]string{"/2 a"}, false},
		"POST /3 HTTP/1.0\r\nContent-Length: 1\r\n\r\na" + get:                       {[]string{"/3 a"}, false},
		"GET /" + long + " HTTP/1.1\r\nHost: a\r\nX-" + long + ": z\r\n\r\n" + get + "Content-Length: 0, 5\r\n\r\n": {
			[]string{"/" + long + " "}, true},
		get + "\r\n" + post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n": {[]string{"/1 "}, true},
		post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n":                {nil, true},
		post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\n":                         {nil, true},
		post + "Content-Length: -3\r\n\r\n":                                             {nil, true},
		post + "Content-Length:\r\n\r\n":                                                {nil, true},
		post + "X: a\r\n\tb\r\n\r\n":                                                    {nil, true},
		"POST /3 HTTP/1.0\r\nTransfer-Encoding: identity\r\n\r\n":                       {nil, true},
		"POST /3 HTTP/1.2\r\nTransfer-Encoding: chunked\r\n\r\n":                        {nil, true},
	} {
		for _, split := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader} {
			conn := &followed{Conn: reader{Reader: split(strings.NewReader(text))}}
			found, err := requests(conn)
			require.Equal(t, want.found, found, "%q", text)
			if want.ambiguous {
				require.ErrorIs(t, conn.failed, errAmbiguous, "%q", text)
				require.Error(t, err, "%q", text)
			} else {
				require.NoError(t, conn.failed, "%q", text)
			}
		}
	}
}

// A request that framing lets pass ends where it ends for net/http, so that no line of a body is taken for a line of a
// header, or the other way round.
func FuzzFraming(f *testing.F) {
	for _, header := range []string{
		"Transfer-Encoding: chunked\nContent-Length: 5\n", "Transfer-Encoding:\r\nContent-Length: 5", "Transfer-Encoding: identity, chunked",
		"Transfer-Encoding\t: chunked", "Transfer-Encoding:\r\n chunked", "Content-Length : 5", "Content-Length: +5", "Content-Length: 0x5",
		"Content-Length:" + strings.Repeat(" ", 5000) + "0", "X: " + strings.Repeat("a", 5000) + "\r\nContent-Length: 5",
		"X: a\rContent-Length: 5",
	} {
		for _, body := range []string{"0\r\n\r\n", "5;a=b\r\nabcde\r\n0;c\r\n\r\n", "0;\n\r\n", "+0\r\n\r\n", "1\r\nab\r\n0\r\n\r\n"} {
			f.Add([]byte("POST / HTTP/1.1\r\nHost: a\r\n"+header+"\r\n\r\n"+body+"GET /more HTTP/1.1\r\nHost: a\r\n\r\n"), 7)
		}
	}
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		size = max(1, size%100)
		var follows framing
		passed, ended := 0, 0 // bytes that passed, and the requests that have ended in them
		var refused error
		for at := 0; at < len(text) && refused == nil; at++ {
			before := follows.at
			var n int
			n, refused = follows.follow(text[at : at+1])
			passed += n
			if before != follows.at && (follows.at == inRequestLine || follows.at == inRest) {
				ended++
			}
		}
		var together framing
		whole := 0
		for at := 0; at < len(text); at += size {
			n, err := together.follow(text[at:min(at+size, len(text))])
			whole += n
			if err != nil {
				break
			}
		}
		require.Equal(t, passed, whole, "the pieces in which a text is read do not matter")
		found, _ := requests(strings.NewReader(string(text[:passed])))
		require.LessOrEqual(t, len(found), ended, "net/http finds no request that framing has not seen")
	})
}

func TestHandshakesEndWithTheServer(t *testing.T) {
	config, _ := newTLS()
	synctest.Test(t, func(t *testing.T) {
		p, limits := newPipes(), newLimits(10, 10)
		server := serve(p, http.NotFoundHandler(), Config{Limits: limits, TLS: config, Log: slog.New(slog.DiscardHandler)})
		for i := range 5 {
			p.dial(fmt.Sprintf("10.0.0.%d", i))
		}
		synctest.Wait()
		require.Equal(t, 5, limits.open)
		server.Close()
		synctest.Wait()
		require.Zero(t, limits.open, "each connection is closed")
	})
}

func TestBothVersionsOfHTTPAreServedByTLS(t *testing.T) {
	config, pool := newTLS()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto, " ", r.TLS != nil && r.TLS.HandshakeComplete)
	})
	server, err := Listen("127.0.0.1:0", handler, Config{Limits: NewLimits(), TLS: config, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer server.Close()
	for version, force := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: force}
		for range 3 {
			answer, err := (&http.Client{Transport: transport}).Get("https://" + server.Addr().String())
			require.NoError(t, err)
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, version+" true", string(text))
		}
		transport.CloseIdleConnections()
	}
	answer, err := http.Get("http://" + server.Addr().String())
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusBadRequest, answer.StatusCode, "a request without TLS")
}
