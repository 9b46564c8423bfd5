// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// The limits of a server for slow clients and large headers.
const (
	readHeaderTimeout = 10 * time.Second // also of a TLS handshake
	readTimeout       = time.Minute
	writeTimeout      = 2 * time.Minute
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	maxStreams        = 32       // requests at a time on one HTTP/2 connection
	receiveBuffer     = 64 << 10 // bytes of bodies that are received and not read, on one HTTP/2 connection
)

// Config configures a [Server].
type Config struct {
	Limits *Limits      // of its connections, and of the connections of other servers with the same limits
	TLS    *tls.Config  // its Certificates, GetCertificate and MinVersion; nil to serve without TLS
	Log    *slog.Logger // the errors of connections, at level DEBUG
	Failed func(error)  // called with the error of a server that can no longer serve
}

// Server is an HTTP server that clients can reach.
type Server struct {
	http    *http.Server
	address net.Addr
	ended   chan struct{} // closed when it no longer accepts connections
}

// Listen serves a handler at a host:port by HTTP/1, and with TLS also by HTTP/2, until the server is closed. Port 0
// stands for a free one.
func Listen(address string, handler http.Handler, c Config) (*Server, error) {
	socket, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return serve(socket, handler, c), nil
}

// serve serves on a listener.
func serve(socket net.Listener, handler http.Handler, c Config) *Server {
	counted := &listener{socket, c.Limits}
	s := &Server{address: socket.Addr(), ended: make(chan struct{}), http: &http.Server{
		Handler: closeAfterLast(handler), ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		DisableGeneralOptionsHandler: true, // it answers OPTIONS * without a password
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: receiveBuffer, MaxReceiveBufferPerStream: receiveBuffer,
		},
		ConnState: c.Limits.observe, ConnContext: withConnection,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}}
	var accepting net.Listener = plainListener{counted}
	if c.TLS != nil {
		accepting = newTLSListener(counted, &tls.Config{
			Certificates: c.TLS.Certificates, GetCertificate: c.TLS.GetCertificate,
			NextProtos: []string{"h2", "http/1.1"}, MinVersion: c.TLS.MinVersion,
		})
	}
	go func() {
		defer close(s.ended)
		if err := s.http.Serve(accepting); !errors.Is(err, http.ErrServerClosed) {
			c.Failed(err)
		}
	}()
	return s
}

// Addr returns the address at which the server listens.
func (s *Server) Addr() net.Addr { return s.address }

// Close ends the server and its connections. It may be called more than once.
func (s *Server) Close() {
	_ = s.http.Close() // the sockets are closed in any case
	<-s.ended
}

// Shutdown ends the server like Close, but lets the requests in flight end until the context ends.
func (s *Server) Shutdown(ctx context.Context) {
	_ = s.http.Shutdown(ctx)
	s.Close()
}

// closeAfterLast closes a connection after a request with Transfer-Encoding, and after each request by HTTP/1.0. A
// proxy that reads the length of such a request in another way takes the bytes behind it for a part of it, and framing
// does not read those bytes. RFC 9112, section 6.1, demands it of requests with both headers and of Transfer-Encoding
// by HTTP/1.0.
func closeAfterLast(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && (r.ProtoMinor != 1 || len(r.TransferEncoding) > 0) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// plainListener accepts connections whose requests are followed.
type plainListener struct{ *listener }

// Accept implements [net.Listener].
func (l plainListener) Accept() (net.Conn, error) {
	conn, err := l.listener.Accept()
	if err != nil {
		return nil, err
	}
	return &followed{Conn: conn}, nil
}

// tlsListener accepts connections after their TLS handshakes. Those by HTTP/1 are followed. The server serves HTTP/2,
// whose requests have one length only, on nothing but a [tls.Conn].
type tlsListener struct {
	*listener
	config   *tls.Config
	ctx      context.Context // ends when the listener is closed
	cancel   context.CancelFunc
	accepted chan handshake
	running  sync.WaitGroup
}

// handshake is the result of Accept.
type handshake struct {
	conn net.Conn
	err  error
}

func newTLSListener(l *listener, config *tls.Config) *tlsListener {
	t := &tlsListener{listener: l, config: config, accepted: make(chan handshake)}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.running.Go(t.run)
	return t
}

// run accepts connections and starts their handshakes.
func (l *tlsListener) run() {
	for l.ctx.Err() == nil {
		conn, err := l.listener.Accept()
		if err != nil {
			l.deliver(handshake{err: err}) // the server waits after a temporary error
			continue
		}
		l.running.Go(func() { l.deliver(handshake{conn: l.handshake(conn)}) })
	}
}

// handshake does the handshake of a connection. The server repeats its error.
func (l *tlsListener) handshake(conn net.Conn) net.Conn {
	ctx, cancel := context.WithTimeout(l.ctx, readHeaderTimeout)
	defer cancel()
	encrypted := tls.Server(conn, l.config)
	if encrypted.HandshakeContext(ctx) != nil || encrypted.ConnectionState().NegotiatedProtocol == "h2" {
		return encrypted
	}
	return &followedTLS{followed{Conn: encrypted}, encrypted}
}

func (l *tlsListener) deliver(h handshake) {
	select {
	case l.accepted <- h:
	case <-l.ctx.Done():
		if h.conn != nil {
			_ = h.conn.Close()
		}
	}
}

// Accept implements [net.Listener].
func (l *tlsListener) Accept() (net.Conn, error) {
	select {
	case h := <-l.accepted:
		return h.conn, h.err
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]. It ends the handshakes.
func (l *tlsListener) Close() error {
	l.cancel()
	err := l.listener.Close()
	l.running.Wait()
	return err
}
