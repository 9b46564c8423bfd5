// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// maxRedirects is more than the redirects of a service that appends a slash to paths.
const maxRedirects = 3

// exchanger sends requests to one BMC, one at a time, within a budget. It follows no
// link to another host.
type exchanger struct {
	config Config
	host   string // with the port
	origin string // scheme and host of URLs
	tls    *tls.Config
	budget budget
	wire   *wire // the open wire; nil if there is none
}

func newExchanger(c Config, host string) *exchanger {
	return &exchanger{config: c, host: host, origin: (&url.URL{Scheme: "https", Host: host}).String(), tls: tlsConfig(c)}
}

// request is a request before it is sent.
type request struct {
	method string
	path   string // escaped, as in a link; without the base path
	header http.Header
	body   []byte
	limit  int64 // bytes of the answer's body, if more than Config.MaxAnswerBytes
}

func (r request) String() string { return r.method + " " + r.path }

// answer is a response that has been read, with its request.
type answer struct {
	request
	status int
	reason string // the status line's
	header http.Header
	body   []byte
}

// send sends a request and follows the redirects of a GET. The answer is nil if there
// is none, and has the status and the header if only reading its body failed.
func (e *exchanger) send(ctx context.Context, r request) (*answer, error) {
	var a *answer
	for range maxRedirects + 1 {
		var err error
		if a, err = e.sendOnce(ctx, r); a != nil {
			a.request = r
		}
		if err != nil || a.status/100 != 3 {
			return a, e.about(r, err)
		}
		if r.method != http.MethodGet {
			return nil, e.about(r, failure.Protocolf("the BMC redirects a request that is no GET"))
		}
		if r.path, err = e.follow(r.path, a.header.Get("Location")); err != nil {
			return a, e.about(r, err)
		}
	}
	return a, e.about(r, failure.Protocolf("too many redirects"))
}

// about adds the request to an error.
func (e *exchanger) about(r request, err error) error {
	if err == nil {
		return nil
	}
	return failure.Of(fmt.Errorf("%v: %w", r, err))
}

func (e *exchanger) sendOnce(ctx context.Context, r request) (*answer, error) {
	if !e.budget.request() {
		return nil, failure.New(verify.Protocol, errRequests)
	}
	req, err := http.NewRequest(r.method, e.origin+e.config.BasePath+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, failure.Protocolf("the path is malformed")
	}
	maps.Copy(req.Header, r.header)
	req.Header.Set("Accept", "application/json")
	if len(r.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	a, err := e.exchange(ctx, req, max(r.limit, e.config.MaxAnswerBytes))
	if err != nil {
		return a, e.broken(ctx, err)
	}
	return a, nil
}

// exchange sends a request over the open wire or a new one. The BMC may have closed the
// open one silently: then the request is repeated. A POST or a PATCH must not be
// repeated, so it always gets a new wire.
func (e *exchanger) exchange(ctx context.Context, req *http.Request, limit int64) (*answer, error) {
	if changes(req) {
		e.close()
	}
	if e.wire != nil {
		a, err := e.over(ctx, req, limit)
		if err == nil || a != nil || ctx.Err() != nil {
			return a, err
		}
	}
	var err error
	if e.wire, err = dial(ctx, e.host, e.tls, &e.budget); err != nil {
		return nil, err
	}
	return e.over(ctx, req, limit)
}

// changes reports whether a request may change the machine or opens a session. A DELETE
// only closes a session.
func changes(req *http.Request) bool {
	return req.Method == http.MethodPost || req.Method == http.MethodPatch
}

// over sends a request over the open wire, which it closes unless it can be used
// again. A POST or a PATCH needs the context's permission.
func (e *exchanger) over(ctx context.Context, req *http.Request, limit int64) (*answer, error) {
	if changes(req) {
		if err := fence.Check(ctx); err != nil {
			e.close()
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, e.wire.interrupt)
	a, again, err := e.wire.exchange(req, limit)
	if !stop() || !again {
		e.close()
	}
	return a, err
}

// close closes the open wire.
func (e *exchanger) close() {
	if e.wire != nil {
		_ = e.wire.conn.Close()
		e.wire = nil
	}
}

// broken returns why there is no answer: the context's error if the context has ended.
func (e *exchanger) broken(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		err = ended
	} else if e.budget.bytes.Load() < 0 {
		err = errBytes
	}
	return failure.Of(err)
}

// follow returns the path of a link in the answer to a request.
func (e *exchanger) follow(from, link string) (string, error) {
	base, err := url.Parse(e.origin + e.config.BasePath + from)
	if err != nil {
		return "", failure.Protocolf("the path is malformed")
	}
	target, err := base.Parse(link)
	switch {
	case err != nil, link == "", target.Opaque != "":
		return "", failure.Protocolf("the BMC's link is malformed")
	case target.Scheme != base.Scheme || !e.isHost(target) || target.User != nil:
		return "", failure.Protocolf("the BMC sends us to another host")
	}
	for element := range strings.SplitSeq(target.Path, "/") {
		if element == ".." { // escaped; a proxy may unescape it and climb
			return "", failure.Protocolf("the BMC's link is malformed")
		}
	}
	path := target.EscapedPath()
	if base := e.config.BasePath; base != "" { // a proxy may have prepended it
		if rest, ok := strings.CutPrefix(path, base+"/"); ok {
			path = "/" + rest
		}
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if target.RawQuery != "" {
		path += "?" + target.RawQuery
	}
	return path, nil
}

// isHost reports whether a URL has the BMC's host.
func (e *exchanger) isHost(u *url.URL) bool {
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return strings.EqualFold(net.JoinHostPort(u.Hostname(), port), e.host)
}
