// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"bytes"
	"context"
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

// exchanger sends requests to one BMC, one at a time, within a budget. It follows no link to another host.
type exchanger struct {
	config Config
	origin string // scheme and host of URLs
	budget budget
	wire   *wire // the open wire; nil if there is none
	rsa    bool  // the last wire has RSA key exchange, see dial
}

// Request is a request before it is sent.
type Request struct {
	Method string
	Path   string // escaped, as in a link; without the base path
	Header http.Header
	Body   []byte
	Limit  int64 // bytes of the answer's body, if more than Config.MaxAnswerBytes
	Repeat []int // statuses after which the request is sent again, see repeat.go
}

func (r Request) String() string { return r.Method + " " + r.Path }

// send sends a request and follows redirects within the BMC: any of a GET, and of another request those that keep its
// method and body (RFC 9110, sections 15.4.8 and 15.4.9), to another path, and a permanent one (section 15.4.2) that
// only appends a slash. The answer is nil if there is none, and has the status and the header if only reading its body
// failed.
//
// Source: pull request 187 of github.com/bb-Ricardo/check_redfish, for the slash.
func (e *exchanger) send(ctx context.Context, r Request) (*Answer, error) {
	var a *Answer
	for range maxRedirects + 1 {
		var err error
		if a, err = e.sendOnce(ctx, r); a != nil {
			a.Request = r
		}
		if err != nil || a.Status/100 != 3 {
			return a, e.about(r, err)
		}
		path, err := e.Follow(r.Path, a.Header.Get("Location"))
		kept := a.Status == http.StatusTemporaryRedirect || a.Status == http.StatusPermanentRedirect ||
			a.Status == http.StatusMovedPermanently && path == r.Path+"/"
		if r.Method != http.MethodGet && !kept {
			return nil, e.about(r, failure.Protocolf("the BMC redirects a request that is no GET"))
		}
		if err == nil && r.Method != http.MethodGet && path == r.Path {
			err = failure.Protocolf("the BMC redirects the request to its own path")
		}
		if err != nil {
			return a, e.about(r, err)
		}
		r.Path = path
	}
	return a, e.about(r, failure.Protocolf("too many redirects"))
}

// about adds the request to an error.
func (e *exchanger) about(r Request, err error) error {
	if err == nil {
		return nil
	}
	return failure.Of(fmt.Errorf("%v: %w", r, err))
}

func (e *exchanger) sendOnce(ctx context.Context, r Request) (*Answer, error) {
	if !e.budget.request() {
		return nil, failure.New(verify.Protocol, errRequests)
	}
	req, err := http.NewRequest(r.Method, e.origin+e.config.BasePath+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, failure.Protocolf("the path is malformed")
	}
	maps.Copy(req.Header, r.Header)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("OData-Version", "4.0")
	req.Host = strings.TrimSuffix(req.Host, ":443") // some BMCs know themselves without the port only
	if len(r.Body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	a, err := e.exchange(ctx, req, max(r.Limit, e.config.MaxAnswerBytes))
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case e.budget.bytes < 0:
		err = errBytes
	}
	return a, failure.Of(classify(err))
}

// exchange sends a request over the open wire or a new one. The BMC may have closed the open one silently: then the
// request is repeated. A POST or a PATCH must not be repeated, so it always gets a new wire. A DELETE is idempotent.
func (e *exchanger) exchange(ctx context.Context, req *http.Request, limit int64) (*Answer, error) {
	if req.Method == http.MethodPost || req.Method == http.MethodPatch {
		e.disconnect()
	}
	if e.wire != nil {
		a, err := e.over(ctx, req, limit)
		if err == nil || a != nil || ctx.Err() != nil {
			return a, err
		}
	}
	var err error
	if e.wire, err = e.dial(ctx); err != nil {
		return nil, err
	}
	return e.over(ctx, req, limit)
}

// over sends a request over the open wire, which it closes unless it can be used
// again. Any request but a GET needs the context's permission.
func (e *exchanger) over(ctx context.Context, req *http.Request, limit int64) (*Answer, error) {
	if req.Method != http.MethodGet {
		if err := fence.Check(ctx); err != nil {
			e.disconnect()
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, e.wire.interrupt)
	a, reusable, err := e.wire.exchange(req, limit)
	if !stop() || !reusable {
		e.disconnect()
	}
	return a, err
}

// disconnect closes the open wire.
func (e *exchanger) disconnect() {
	if e.wire != nil {
		_ = e.wire.conn.Close()
		e.wire = nil
	}
}

// Follow returns the path of a link in the answer to a request.
func (e *exchanger) Follow(from, link string) (string, error) {
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
	return strings.EqualFold(net.JoinHostPort(u.Hostname(), port), e.config.Address)
}
