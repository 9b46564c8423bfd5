// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// smuggled is a whole request that would create a node.
var smuggled = func() string {
	body := `{"driver": "fake-hardware", "name": "smuggled"}`
	return fmt.Sprintf("POST /v1/nodes HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Type: application/json\r\nX-OpenStack-Ironic-API-Version: 1.80\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}()

// smuggling has requests whose length or host two HTTP implementations could read in two ways, with the status of
// their answer. The bytes behind the body, in either reading, must not be served as a request.
var smuggling = []struct {
	name   string
	header string // without the request line and Host
	body   string
	status int
}{
	{"Transfer-Encoding and Content-Length 0", "Transfer-Encoding: chunked\r\nContent-Length: 0", "0\r\n\r\n" + smuggled, 400},
	{"an encoding in other letters", "transfer-ENCODING:chunked\r\ncontent-LENGTH:5", "0\r\n\r\n" + smuggled, 400},
	{"a line feed alone", "Transfer-Encoding: chunked\nContent-Length: 5\n", "0\r\n\r\n" + smuggled, 400},
	{"no encoding", "Transfer-Encoding:\r\nContent-Length: 5", "0\r\n\r\n" + smuggled, 400},
	{"identity and a length", fmt.Sprintf("Transfer-Encoding: identity\r\nContent-Length: %d", len(smuggled)), smuggled, 400},
	{"a length after 4 KiB", "Transfer-Encoding: chunked\r\nX: " + strings.Repeat("a", 5000) + "\r\nContent-Length: 5",
		"0\r\n\r\n" + smuggled, 400},
	{"a length after spaces", "Content-Length:" + strings.Repeat(" ", 5000) + "0", smuggled, 400},
	{"a folded other line", "X: a\r\n b\r\nContent-Length: 0", smuggled, 400},
	{"a request as a body", fmt.Sprintf("Content-Length: %d", len(smuggled)), smuggled, 400},
	{"Content-Length and Transfer-Encoding", fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked", len(smuggled)+5),
		"0\r\n\r\n" + smuggled, 400},
	{"Transfer-Encoding and Content-Length", "Transfer-Encoding: chunked\r\nContent-Length: 4",
		fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(smuggled), smuggled), 400},
	{"two lengths", fmt.Sprintf("Content-Length: 0\r\nContent-Length: %d", len(smuggled)), smuggled, 400},
	{"a list of lengths", fmt.Sprintf("Content-Length: 0, %d", len(smuggled)), smuggled, 400},
	{"a length with a sign", "Content-Length: +0", smuggled, 400},
	{"a negative length", "Content-Length: -1", smuggled, 400},
	{"a hexadecimal length", "Content-Length: 0x0", smuggled, 400},
	{"a length of 2 to the 64th", "Content-Length: 18446744073709551616", smuggled, 400},
	{"an unknown encoding", "Transfer-Encoding: xchunked", smuggled, 501},
	{"two encodings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "0\r\n\r\n" + smuggled, 501},
	{"a list of encodings", "Transfer-Encoding: identity, chunked", "0\r\n\r\n" + smuggled, 501},
	{"a tab before the encoding's colon", "Transfer-Encoding\t: chunked", "0\r\n\r\n" + smuggled, 400},
	{"a space before the encoding's colon", "Transfer-Encoding : chunked", "0\r\n\r\n" + smuggled, 400},
	{"a space before the length's colon", fmt.Sprintf("Content-Length : %d", len(smuggled)), smuggled, 400},
	{"a folded first line", " Content-Length: 3", smuggled, 400},
	{"a folded encoding", "Transfer-Encoding:\r\n chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(smuggled), smuggled), 400},
	{"a folded length", fmt.Sprintf("Content-Length:\r\n %d", len(smuggled)), smuggled, 400},
	{"a carriage return in a value", fmt.Sprintf("X: a\rContent-Length: %d", len(smuggled)), smuggled, 400},
	{"NUL in a value", fmt.Sprintf("X: \x00\r\nContent-Length: %d", len(smuggled)), smuggled, 400},
	{"an extension of a chunk", "Transfer-Encoding: chunked", fmt.Sprintf("%x;a=b\r\n%s\r\n0;c\r\n\r\n", len(smuggled), smuggled), 400},
	{"a line feed in an extension", "Transfer-Encoding: chunked", "0;\n" + "\r\n" + smuggled, 400},
	{"a line feed after a size", "Transfer-Encoding: chunked", "0\n\r\n" + smuggled, 400},
	{"a size with a sign", "Transfer-Encoding: chunked", "+0\r\n\r\n" + smuggled, 400},
	{"a size of 2 to the 64th", "Transfer-Encoding: chunked", "10000000000000000\r\n\r\n" + smuggled, 400},
	{"a chunk longer than its size", "Transfer-Encoding: chunked", "1\r\nab\r\n0\r\n\r\n" + smuggled, 400},
	{"extensions without end", "Transfer-Encoding: chunked",
		strings.Repeat("1;"+strings.Repeat("a", 3000)+"\r\na\r\n", 300) + "0\r\n\r\n" + smuggled, 400},
	{"a trailer of a length", "Transfer-Encoding: chunked", "0\r\nContent-Length: 10\r\n\r\n", 400},
	{"two hosts", "Host: evil.example\r\nContent-Length: 0", "", 400},
	{"an upgrade to HTTP/2",
		fmt.Sprintf("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: %d",
			len(smuggled)), smuggled, 400},
}

// oldSmuggling has further requests of smuggling, which have one meaning by HTTP/1.1 and two by an earlier version.
var oldSmuggling = []struct {
	name   string
	header string
	body   string
	status int
}{
	{"Transfer-Encoding", "Transfer-Encoding: chunked", "0\r\n\r\n" + smuggled, 400},
	{"a length", "Content-Length: 2", "{}" + smuggled, 400},
	{"no length", "X: y", smuggled, 400},
	{"Proxy-Connection", "Proxy-Connection: keep-alive\r\nContent-Length: 2", "{}" + smuggled, 400},
	{"Keep-Alive", "Keep-Alive: timeout=5, max=1000\r\nContent-Length: 2", "{}" + smuggled, 400},
}

// SECURITY.md: A request whose length or host two programs could read in two ways is refused, or its connection is
// closed after the answer. A request with Content-Length and Transfer-Encoding is refused, and each connection by
// HTTP/1.0 is closed after its answer.
func TestNoRequestIsSmuggled(t *testing.T) {
	certificate, key, pool := newCertificate(t)
	for name, args := range map[string][]string{"plain": nil, "TLS": {"-tls-cert", certificate, "-tls-key", key, "-listen", "127.0.0.1:0"}} {
		t.Run(name, func(t *testing.T) {
			s := serveHere(t, append([]string{"-demo", "0"}, args...)...)
			address := s.url[strings.LastIndexByte(s.url, '/')+1:]
			var config *tls.Config
			if name == "TLS" {
				config = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
				s.client.Transport = &http.Transport{TLSClientConfig: config}
			}
			for _, c := range smuggling {
				got := answers(t, address, config, "POST /v1/nodes HTTP/1.1\r\nHost: localhost\r\n"+c.header+"\r\n\r\n"+c.body)
				require.NotEmpty(t, got, c.name)
				require.Equal(t, c.status, got[0], c.name)
				require.Subset(t, []int{c.status, http.StatusNotFound}, got, "%s: the request that the test sends last may be served, no other", c.name)
				require.LessOrEqual(t, len(got), 2, c.name)
			}
			for _, c := range slices.Concat(smuggling, oldSmuggling) {
				for _, version := range []string{"HTTP/1.0", "HTTP/1.2"} {
					got := answers(t, address, config,
						"POST /v1/nodes "+version+"\r\nHost: localhost\r\nConnection: keep-alive\r\n"+c.header+"\r\n\r\n"+c.body)
					require.Len(t, got, 1, "%s by %s: the connection is closed after the first answer", c.name, version)
					require.GreaterOrEqual(t, got[0], 400, c.name)
				}
			}
			const version = "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
			require.Equal(t, []int{200, 200, 404}, answers(t, address, config, version+version), "requests with one length keep their connection")
			require.Equal(t, []int{200}, answers(t, address, config, "GET / HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"))
			for line, status := range map[string]int{
				"GET http://evil.example/v1/nodes HTTP/1.1\r\nHost: localhost": 403, "GET /v1/nodes HTTP/1.1\r\nHost: evil.example": 403,
				"GET http://localhost/v1/nodes HTTP/1.1\r\nHost: evil.example": 200, // the Host is ignored (RFC 9112, section 3.2.2)
				"GET //evil.example/v1/nodes HTTP/1.1\r\nHost: localhost":      404, "CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost": 403,
				"GET /v1/nodes HTTP/1.1\r\nHost: localhost@evil.example": 400, "GET /v1/nodes HTTP/1.1\r\nX: y": 400, "GET /v1/nodes HTTP/1.0": 403,
			} {
				require.Equal(t, status, answers(t, address, config, line+"\r\n\r\n")[0], "%q", line)
			}
			_, list := s.do(http.MethodGet, "/v1/nodes", "")
			require.Empty(t, list["nodes"])
		})
	}
}

// answers sends bytes on a connection of their own and returns the statuses of all answers.
func answers(t *testing.T, address string, config *tls.Config, bytes string) (statuses []int) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	if config != nil {
		config = config.Clone()
		config.ServerName = "127.0.0.1"
		conn = tls.Client(conn, config)
	}
	go func() { // the server may answer before it has read everything
		_, _ = io.WriteString(conn, bytes+"GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	}()
	for reader := bufio.NewReader(conn); ; {
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			return statuses
		}
		statuses = append(statuses, answer.StatusCode)
		_, _ = io.Copy(io.Discard, answer.Body)
	}
}
