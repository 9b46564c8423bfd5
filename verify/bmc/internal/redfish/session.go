// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/secret"
)

// session is a Redfish session that is open on the BMC.
type session struct {
	token secret.Text // empty if the BMC sent none
	paths []string    // possible paths of the session; more than one if the BMC's answer is ambiguous
}

// Login opens a session, or chooses HTTP Basic authentication. It then checks the
// credentials of Basic authentication by reading the collection of systems.
//
// Source: SessionOrBasicAuth in sushy/auth.py, which also chooses it after other failures.
func (c *Client) Login(ctx context.Context) error {
	auth := c.config.Auth
	var full error
	if auth != BasicAuth {
		err := c.openSession(ctx)
		switch {
		case auth == SessionAuth:
			return err
		case errors.Is(err, errNoFreeSession):
			full = err
		case !errors.Is(err, errNoSessions):
			return err
		}
	}
	c.basic, c.full = true, full != nil
	_, err := c.System(ctx)
	if err != nil && full != nil {
		return fmt.Errorf("%w; before that: %w", err, full)
	}
	return err
}

var errRefused = &failure.Error{Kind: verify.Credentials, Text: "the BMC has refused the credentials before"}

// authorize adds the credentials to a request: the session's token, or the user and the password.
func (c *Client) authorize(r *Request) error {
	if c.session == nil && !c.basic {
		return nil
	}
	header := make(http.Header)
	maps.Copy(header, r.Header)
	r.Header = header
	if c.HasSession() {
		header.Set("X-Auth-Token", c.session.token.Reveal())
		return nil
	}
	if c.refused {
		return errRefused
	}
	if !c.accepted {
		c.disconnect() // a request over a new connection is sent once
	}
	c.tried = true
	basic := http.Request{Header: header}
	basic.SetBasicAuth(c.config.User, c.config.Password.Reveal())
	return nil
}

const errNoFreeSession = failure.Reason("the BMC has as many sessions as it can have")

// fullMessages are parts of the messages of a BMC that has as many sessions as it can have: two of DMTF's Base
// registry, and an iDRAC's.
var fullMessages = []string{"SessionLimitExceeded", "CreateLimitReachedForResource", "RAC0218"}

// isFull reports whether a log-in was refused with such a message, and not because of the password or the account.
func (a *Answer) isFull() bool {
	return a.Status >= 400 && a.Status != http.StatusUnauthorized && a.Status != http.StatusForbidden && a.Says(fullMessages...)
}

// openSession logs in. If the context ends, openSession waits for the answer during the grace time, so that the session
// can be closed. The error matches errNoSessions if the service has no sessions, and errNoFreeSession if all are in
// use.
func (c *Client) openSession(ctx context.Context) error {
	if c.sessions == "" {
		return &failure.Error{Kind: verify.Unsupported, Text: errNoSessions.Error(), Cause: errNoSessions}
	}
	body, err := json.Marshal(map[string]string{"UserName": c.config.User, "Password": c.config.Password.Reveal()})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.tried = true
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(c.config.LoginGrace, cancel) })()
	r := Request{Method: http.MethodPost, Path: c.sessions, Body: body}
	a, err := c.repeat(ctx, r, func() (*Answer, error) { return c.send(late, r) })
	if a == nil {
		return err
	}
	if a.Status/100 == 2 { // the session is open, even if the answer's body is lacking
		token := secret.New(a.Header.Get("X-Auth-Token"))
		c.config.Scrubber.Add(token)
		c.session = &session{token: token, paths: c.sessionPaths(a)}
	}
	switch {
	case c.HasSession():
		return ctx.Err()
	case err != nil:
		return err
	case a.absent():
		return a.fail(verify.Unsupported, a.reason+" "+a.message(), errNoSessions)
	}
	a.unproven = true
	if err := a.refusal(); err != nil {
		if a.isFull() {
			return &failure.Error{Kind: failure.KindOf(err), Text: err.Error(), Cause: errNoFreeSession}
		}
		return err
	}
	return a.fail(verify.Protocol, "the session has no token", nil)
}

// sessionPaths returns the possible paths of a new session, the most likely first: from the Location header (DSP0266),
// which may be a whole URL with a host name that only the BMC knows, or from the resource in the body, which may have
// just the session's ID. It leaves out paths that do not look like a session's, because the paths are deleted on
// log-out.
func (c *Client) sessionPaths(a *Answer) []string {
	var resource struct {
		Link
		Name string `json:"Id"`
	}
	_ = json.Unmarshal(a.Body, &resource) // an incomplete body has no path
	links := []string{a.Header.Get("Location"), resource.ID}
	if links[0] == "" && links[1] == "" {
		links = []string{url.PathEscape(resource.Name)}
	}
	var paths []string
	for _, link := range links {
		if path, ok := c.sessionPath(link); ok {
			paths = append(paths, path)
		}
	}
	return slices.Compact(paths)
}

// sessionPath returns the path of a session from a link, which may be just the session's ID, or lack the beginning of
// the path.
//
// Source: issues 57 and 73 of github.com/DMTF/python-redfish-library.
func (c *Client) sessionPath(link string) (string, bool) {
	u, err := url.Parse(link)
	if err != nil || u.Path == "" {
		return "", false
	}
	link, collection := u.EscapedPath(), strings.TrimSuffix(c.sessions, "/")+"/"
	if folder := path.Dir(strings.TrimSuffix(link, "/")); folder == "." || !path.IsAbs(link) && path.Base(folder) == "Sessions" {
		link = collection + path.Base(link)
	}
	link, err = c.Follow(c.sessions, link)
	if err != nil {
		return "", false
	}
	if name, err := url.PathUnescape(link); err != nil || strings.HasSuffix(path.Clean(name), "/Sessions") {
		return "", false // it is a collection itself
	}
	return link, strings.HasPrefix(link, collection) && link != collection || strings.Contains(link, "/Sessions/")
}

// logout closes the session, if there is one. It needs no permission of the context.
func (c *Client) logout(ctx context.Context) {
	if c.session == nil {
		return
	}
	defer func() { c.session = nil }()
	ctx = fence.With(ctx, func(context.Context) error { return nil })
	c.budget = budget{logoutBytes, logoutRequests}
	for _, path := range c.session.paths {
		if c.Delete(ctx, path) == nil {
			return
		}
	}
	if c.session.token.IsZero() {
		return
	}
	if only, err := c.Members(ctx, c.sessions); err == nil && len(only) == 1 {
		_ = c.Delete(ctx, only[0]) // the BMC has not named the session, and has no other
	}
}
