// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestAClientThatResetsItsRequestsRunsFewOfThem is the attack of CVE-2023-44487: requests that the client resets at
// once do not count as concurrent streams, but their handlers still run.
func TestAClientThatResetsItsRequestsRunsFewOfThem(t *testing.T) {
	config, pool := newTLS()
	synctest.Test(t, func(t *testing.T) { resetRequests(t, config, pool) })
}

func resetRequests(t *testing.T, config *tls.Config, pool *x509.CertPool) {
	var running, most atomic.Int64
	release := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reset" {
			most.Store(max(most.Load(), running.Add(1)))
			<-release // as a handler that does not notice that its client has gone
			running.Add(-1)
		}
		_, _ = io.WriteString(w, "answer")
	})
	dial, stop := servePipes(t, handler, config, pool)
	defer stop()
	defer close(release)
	conn := dial("10.0.0.1", "h2")
	defer conn.Close()
	var header bytes.Buffer
	encoder := hpack.NewEncoder(&header)
	for _, field := range []string{":method=GET", ":scheme=https", ":authority=localhost", ":path=/reset"} {
		name, value, _ := bytes.Cut([]byte(field), []byte("="))
		require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: string(name), Value: string(value), Sensitive: true}))
	}
	go func() {
		framer := http2.NewFramer(conn, nil)
		if _, err := io.WriteString(conn, http2.ClientPreface); err != nil || framer.WriteSettings() != nil {
			return
		}
		for id := uint32(1); id < 20_000; id += 2 {
			if framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: header.Bytes(), EndStream: true, EndHeaders: true}) != nil ||
				framer.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
				return // the server has closed the connection
			}
		}
	}()
	frames := http2.NewFramer(io.Discard, conn)
	for {
		frame, err := frames.ReadFrame()
		require.NoError(t, err)
		if away, is := frame.(*http2.GoAwayFrame); is {
			require.Equal(t, http2.ErrCodeEnhanceYourCalm, away.ErrCode)
			break
		}
	}
	require.LessOrEqual(t, most.Load(), int64(maxStreams))
	another := dial("10.0.0.2", "http/1.1")
	defer another.Close()
	require.NoError(t, request(another), "another client")
}

// servePipes serves with TLS on connections of this process. dial opens one from an address, by a protocol.
func servePipes(
	t *testing.T, handler http.Handler, config *tls.Config, pool *x509.CertPool,
) (dial func(from, protocol string) *tls.Conn, stop func()) {
	p := newPipes()
	server := serve(p, handler, Config{Limits: NewLimits(), TLS: config, Log: slog.New(slog.DiscardHandler)})
	dial = func(from, protocol string) *tls.Conn { // by TLS 1.2, since a server of TLS 1.3 begins to write
		conn := tls.Client(p.dial(from), &tls.Config{
			RootCAs: pool, ServerName: "127.0.0.1", MaxVersion: tls.VersionTLS12, NextProtos: []string{protocol},
		})
		require.NoError(t, conn.HandshakeContext(t.Context()))
		require.Equal(t, protocol, conn.ConnectionState().NegotiatedProtocol)
		return conn
	}
	return dial, server.Close
}

// newTLS returns a server's configuration of TLS with a certificate for 127.0.0.1, and the authority to verify it by.
func newTLS() (*tls.Config, *x509.CertPool) {
	lent := httptest.NewUnstartedServer(nil)
	lent.StartTLS()
	defer lent.Close()
	pool := x509.NewCertPool()
	pool.AddCert(lent.Certificate())
	return &tls.Config{Certificates: lent.TLS.Certificates, MinVersion: tls.VersionTLS12}, pool
}

func TestAnHTTP2ConnectionHolds64KiBOfBodiesThatAreNotRead(t *testing.T) {
	config, pool := newTLS()
	synctest.Test(t, func(t *testing.T) {
		dial, stop := servePipes(t, http.NotFoundHandler(), config, pool)
		defer stop()
		conn := dial("10.0.0.1", "h2")
		defer conn.Close()
		go func() {
			if _, err := io.WriteString(conn, http2.ClientPreface); err == nil {
				_ = http2.NewFramer(conn, nil).WriteSettings()
			}
		}()
		stream, connection := uint32(65_535), uint32(65_535) // the windows of RFC 9113, section 6.9.2
		for frames := http2.NewFramer(io.Discard, conn); ; {
			frame, err := frames.ReadFrame()
			require.NoError(t, err)
			switch f := frame.(type) {
			case *http2.WindowUpdateFrame:
				require.Zero(t, f.StreamID)
				connection += f.Increment
			case *http2.SettingsFrame:
				if f.IsAck() {
					require.EqualValues(t, 64<<10, stream)
					require.LessOrEqual(t, connection, uint32(64<<10), "of all streams")
					return
				}
				if size, set := f.Value(http2.SettingInitialWindowSize); set {
					stream = size
				}
			}
		}
	})
}
