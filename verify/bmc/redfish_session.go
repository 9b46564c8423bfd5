// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/secret"
)

// session is a Redfish session that is open on the BMC.
type session struct {
	token secret.Text // empty if the BMC sent none
	paths []string    // possible paths of the session; more than one if the BMC's answer is ambiguous
}

// login opens a session, or chooses HTTP Basic authentication. It then checks the
// credentials of Basic authentication by reading the collection of systems.
func (s *service) login(ctx context.Context) error {
	auth := s.config.Auth
	if auth != basicAuth {
		err := s.openSession(ctx)
		if auth == sessionAuth || !errors.Is(err, errNoSessions) {
			return err
		}
	}
	s.basic = true
	return s.findSystem(ctx)
}

// authorize adds the credentials to a request: the session's token, or the user
// and the password.
func (s *service) authorize(r *request) error {
	if s.session == nil && !s.basic {
		return nil
	}
	header := make(http.Header)
	maps.Copy(header, r.header)
	r.header = header
	if s.session != nil && !s.session.token.IsZero() {
		header.Set("X-Auth-Token", s.session.token.Reveal())
		return nil
	}
	if s.refused {
		return &failure.Error{Kind: verify.Credentials, Text: "the BMC has refused the credentials before"}
	}
	s.tried = true
	basic := http.Request{Header: header}
	basic.SetBasicAuth(s.config.User, s.config.Password.Reveal())
	return nil
}

// openSession logs in. If the context ends, openSession waits for the answer during the
// grace time, so that the session can be closed. The error matches errNoSessions if the
// service has no sessions.
func (s *service) openSession(ctx context.Context) error {
	if s.sessions == "" {
		return &failure.Error{Kind: verify.Unsupported, Text: errNoSessions.Error(), Cause: errNoSessions}
	}
	body, err := json.Marshal(map[string]string{"UserName": s.config.User, "Password": s.config.Password.Reveal()})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.tried = true
	late, cancel := outlive(ctx, loginGrace)
	defer cancel()
	a, err := s.send(late, request{method: http.MethodPost, path: s.sessions, body: body})
	if a == nil {
		return err
	}
	s.noteSession(a)
	switch {
	case s.session != nil && !s.session.token.IsZero():
		return ctx.Err()
	case err != nil:
		return err
	case a.absent():
		return a.fail(verify.Unsupported, a.reason+" "+a.message(), errNoSessions)
	}
	if err := a.refusal(); err != nil {
		return err
	}
	return a.fail(verify.Protocol, "the session has no token", nil)
}

// noteSession records the session of a log-in's answer, which may lack its body.
func (s *service) noteSession(a *answer) {
	if a.status/100 != 2 {
		return
	}
	token := secret.New(a.header.Get("X-Auth-Token"))
	s.scrub.Add(token)
	s.session = &session{token: token, paths: s.sessionPaths(a)}
}

// sessionPaths returns the possible paths of a new session, the most likely first: from
// the Location header (DSP0266), which may be a whole URL with a host name that only
// the BMC knows, or from the resource in the body. It leaves out paths that do not look
// like a session's, because the paths are deleted on log-out.
func (s *service) sessionPaths(a *answer) []string {
	var resource odataLink
	_ = json.Unmarshal(a.body, &resource) // an incomplete body has no path
	var paths []string
	for _, link := range []string{a.header.Get("Location"), resource.ID} {
		if path, ok := s.sessionPath(link); ok {
			paths = append(paths, path)
		}
	}
	return slices.Compact(paths)
}

// sessionPath returns the path of a session from a link, which may be just the
// session's ID.
func (s *service) sessionPath(link string) (string, bool) {
	u, err := url.Parse(link)
	if err != nil || u.Path == "" {
		return "", false
	}
	path := u.EscapedPath()
	if !strings.Contains(path, "/") {
		return s.sessions + "/" + path, true
	}
	path, err = s.follow(s.sessions, path)
	return path, err == nil && strings.Contains(path, "/Sessions/")
}

// logout closes the session, if there is one.
func (s *service) logout(ctx context.Context) {
	if s.session == nil {
		return
	}
	defer func() { s.session = nil }()
	s.budget.set(logoutBytes, logoutRequests)
	for _, path := range s.session.paths {
		if s.delete(ctx, path) == nil {
			return
		}
	}
	if s.session.token.IsZero() {
		return
	}
	if only, err := s.members(ctx, s.sessions); err == nil && len(only) == 1 {
		_ = s.delete(ctx, only[0]) // the BMC has not named the session, and has no other
	}
}

func (s *service) delete(ctx context.Context, path string) error {
	_, err := s.ask(ctx, request{method: http.MethodDelete, path: path})
	return err
}
