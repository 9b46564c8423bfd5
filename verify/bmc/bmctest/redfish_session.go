// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/ironstate/ironstate/verify/secret"
)

// session is an open Redfish session.
type session struct {
	id, user      string
	token         secret.Text
	created, used time.Time
}

// login checks credentials, and returns the answer to wrong ones.
func (b *Redfish) login(user, password, path string) (refusal *reply) {
	want, known := b.config.Users[user]
	if b.config.LockAfter > 0 && b.failures[user] >= b.config.LockAfter {
		b.logins.Failed++
		return locked()
	}
	if !known || password != want.Reveal() {
		b.logins.Failed++
		if known {
			b.failures[user]++
		}
		return wrongCredentials(path)
	}
	b.logins.Succeeded++
	b.failures[user] = 0
	return nil
}

// authenticate checks the token or the Basic authentication of a request, and returns the answer to a wrong one.
func (b *Redfish) authenticate(r *http.Request) (refusal *reply) {
	token := r.Header.Get("X-Auth-Token")
	user, password, basic := r.BasicAuth()
	switch {
	case token != "" && b.touchSession(token):
		return nil
	case token == "" && basic:
		return b.login(user, password, r.URL.Path)
	}
	return noSession()
}

// touchSession reports whether a token is valid, and renews its session.
func (b *Redfish) touchSession(token string) bool {
	b.expireSessions()
	for _, s := range b.sessions {
		if s.token.Reveal() == token {
			s.used = time.Now()
			return true
		}
	}
	return false
}

func (b *Redfish) expireSessions() {
	oldest := time.Now().Add(-b.config.SessionTimeout)
	b.sessions = slices.DeleteFunc(b.sessions, func(s *session) bool { return s.used.Before(oldest) })
}

// openSession handles a POST to the collection of sessions.
func (b *Redfish) openSession(c *call) *reply {
	body, ok := members(c.body)
	if !ok {
		return badJSON()
	}
	user, ok := textOf(body["UserName"])
	if !ok {
		return member{name: "UserName"}.missing()
	}
	password, ok := textOf(body["Password"])
	if !ok {
		return member{name: "Password"}.missing()
	}
	if refusal := b.login(user, password, c.URL.Path); refusal != nil {
		return refusal
	}
	b.expireSessions()
	if len(b.sessions) >= b.config.MaxSessions {
		return problem(http.StatusServiceUnavailable, "Base.1.18.SessionLimitExceeded",
			"The session establishment failed due to the number of simultaneous sessions exceeding the limit of the implementation.")
	}
	b.opened++
	now := time.Now()
	s := &session{id: strconv.Itoa(b.opened), user: user, token: secret.New(rand.Text()), created: now, used: now}
	b.sessions = append(b.sessions, s)
	r := show(http.StatusCreated, s.object())
	r.header.Set("Location", s.path())
	r.header.Set("X-Auth-Token", s.token.Reveal())
	return r
}

// sessionResource returns the resource of a session, nil if no session has that ID.
func (b *Redfish) sessionResource(id string) *resource {
	b.expireSessions()
	i := slices.IndexFunc(b.sessions, func(s *session) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	s := b.sessions[i]
	return &resource{
		get: showing(s.object),
		del: func(*call) *reply {
			b.sessions = slices.DeleteFunc(b.sessions, func(other *session) bool { return other == s })
			return noContent()
		},
	}
}

func (s *session) path() string { return sessionsPath + "/" + s.id }

func (s *session) object() object {
	return object{
		"@odata.id":   s.path(),
		"@odata.type": "#Session.v1_7_0.Session",
		"Id":          s.id,
		"Name":        "User Session",
		"UserName":    s.user,
		"Password":    nil,
		"SessionType": "Redfish",
		"CreatedTime": s.created.UTC().Format(time.RFC3339),
	}
}
