// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ironstate/ironstate/internal/try"
)

// mode is how a link treats connections and their bytes.
type mode uint8

const (
	open    mode = iota
	dropped      // bytes wait until the link is open again, as if TCP retransmitted them
	refused      // open connections are closed, and new ones are refused
)

var errRefused = errors.New("the link is cut")

// link is one direction of the network: from one process to another.
type link struct {
	mu      sync.Mutex
	mode    mode
	changed chan struct{}
	next    int
	ends    map[int]func() // close the open connections when the link refuses
}

func newLink() *link { return &link{changed: make(chan struct{}), ends: map[int]func(){}} }

func (l *link) set(m mode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mode = m
	close(l.changed)
	l.changed = make(chan struct{})
	if m == refused {
		for _, end := range l.ends {
			end()
		}
	}
}

// pass waits until the link is open.
func (l *link) pass(ctx context.Context) error {
	for {
		l.mu.Lock()
		m, changed := l.mode, l.changed
		l.mu.Unlock()
		switch m {
		case open:
			return nil
		case refused:
			return errRefused
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// use registers end, which the link calls when it refuses, until the caller calls done.
func (l *link) use(end func()) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	id := l.next
	l.ends[id] = end
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.ends, id)
	}
}

// address is the current address of a process. It may change with each restart.
type address struct{ at atomic.Value }

func (a *address) set(at string) { a.at.Store(at) }

func (a *address) get() string {
	at, _ := a.at.Load().(string)
	return at
}

// network runs the proxies until the context ends.
type network struct {
	ctx   context.Context
	group *sync.WaitGroup
}

// newNetwork returns a network and the function that closes it.
func newNetwork(ctx context.Context) (*network, func()) {
	ctx, cancel := context.WithCancel(ctx)
	n := &network{ctx, &sync.WaitGroup{}}
	return n, func() { cancel(); n.group.Wait() }
}

// forward starts a proxy that connects to a process through the link, and returns the
// proxy's address.
func (n *network) forward(l *link, to *address) string {
	listener := try.Get(net.Listen("tcp", "127.0.0.1:0"))
	stop := context.AfterFunc(n.ctx, func() { _ = listener.Close() })
	n.group.Go(func() {
		defer stop()
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n.group.Go(func() { n.splice(l, conn, to.get()) })
		}
	})
	return listener.Addr().String()
}

// splice copies the bytes of one connection in both directions.
func (n *network) splice(l *link, near net.Conn, to string) {
	defer near.Close()
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	defer l.use(cancel)()
	if l.pass(ctx) != nil {
		return
	}
	var dialer net.Dialer
	far, err := dialer.DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer far.Close()
	context.AfterFunc(ctx, func() { _ = near.Close(); _ = far.Close() })
	var both sync.WaitGroup
	for _, conns := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			defer cancel()
			_, _ = io.Copy(gate{ctx, l, conns[1]}, conns[0])
		})
	}
	both.Wait()
}

// gate is a writer that waits until its link is open.
type gate struct {
	ctx  context.Context
	link *link
	to   io.Writer
}

// Write implements [io.Writer].
func (g gate) Write(p []byte) (int, error) {
	if err := g.link.pass(g.ctx); err != nil {
		return 0, err
	}
	return g.to.Write(p)
}

// peers is the HTTP proxy through which one etcd server reaches the others. All servers
// know a peer by the same URL, so that only a proxy per server can identify the sender.
type peers struct {
	links map[string]*link    // by the host of the URL
	to    map[string]*address // likewise
	base  http.Transport
}

// serve listens, and returns the proxy's URL.
func (p *peers) serve(n *network) string {
	listener := try.Get(net.Listen("tcp", "127.0.0.1:0"))
	server := &http.Server{
		Handler: &httputil.ReverseProxy{
			Rewrite: func(*httputil.ProxyRequest) {}, Transport: p, FlushInterval: -1,
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
			ErrorLog:     log.New(io.Discard, "", 0),
		},
		BaseContext: func(net.Listener) context.Context { return n.ctx },
		ErrorLog:    log.New(io.Discard, "", 0),
	}
	context.AfterFunc(n.ctx, func() { _ = server.Close(); p.base.CloseIdleConnections() })
	n.group.Go(func() { _ = server.Serve(listener) }) // ends by Close
	return "http://" + listener.Addr().String()
}

// RoundTrip implements [http.RoundTripper].
func (p *peers) RoundTrip(r *http.Request) (*http.Response, error) {
	host, _, _ := strings.Cut(r.URL.Host, ":")
	l, ok := p.links[host]
	if !ok {
		return nil, errRefused
	}
	ctx, cancel := context.WithCancel(r.Context())
	done := l.use(cancel)
	end := func() { done(); cancel() }
	if err := l.pass(ctx); err != nil {
		end()
		return nil, err
	}
	r = r.Clone(ctx)
	r.URL.Host = p.to[host].get()
	answer, err := p.base.RoundTrip(r)
	if err != nil {
		end()
		return nil, err
	}
	answer.Body = &gatedBody{answer.Body, ctx, l, end}
	return answer, nil
}

// gatedBody is a body whose Read waits until its link is open.
type gatedBody struct {
	io.ReadCloser
	ctx  context.Context
	link *link
	end  func()
}

// Read implements [io.Reader].
func (b *gatedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if failed := b.link.pass(b.ctx); failed != nil {
		return 0, failed
	}
	return n, err
}

// Close implements [io.Closer].
func (b *gatedBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}
