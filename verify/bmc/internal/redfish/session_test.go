// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/retry"
)

const sessions = "/redfish/v1/SessionService/Sessions"

// tree is a BMC with sessions, which logs in by login and answers every DELETE by remove. A nil function answers as a
// good BMC does.
func tree(t *testing.T, login, remove http.HandlerFunc) *service {
	t.Helper()
	read := resources(map[string]string{
		Root:                  `{"Systems": {"@odata.id": "/redfish/v1/Systems"}, "Links": {"Sessions": {"@odata.id": "` + sessions + `"}}}`,
		"/redfish/v1/Systems": `{"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]}`,
		sessions:              `{"Members": [{"@odata.id": "` + sessions + `/9"}]}`,
	})
	return start(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && login != nil:
			login(w, r)
		case r.Method == http.MethodPost:
			w.Header().Set("X-Auth-Token", "token")
			w.Header().Set("Location", sessions+"/7")
			w.WriteHeader(http.StatusCreated)
		case r.Method == http.MethodDelete && remove != nil:
			remove(w, r)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		default:
			read(w, r)
		}
	})
}

// opened returns a client that has read the root of a BMC.
func opened(t *testing.T, s *service, set ...func(*Config)) *Client {
	t.Helper()
	c := s.client(set...)
	_, err := c.ReadRoot(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"GET " + Root}, s.seen(), "the root is read without credentials")
	return c
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func refusal(code int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"error": {"message": %q}}`, message)
	}
}

func withAuth(auth string) func(*Config) { return func(c *Config) { c.Auth = auth } }

func TestALogInChoosesSessionsOrBasicAuthentication(t *testing.T) {
	const post, basic = "POST " + sessions, "GET /redfish/v1/Systems (admin)"
	for _, test := range []struct {
		auth  string
		login http.HandlerFunc
		want  []string
		err   string // empty for none
		kind  verify.Kind
	}{
		{AutoAuth, nil, []string{post}, "", 0},
		{SessionAuth, nil, []string{post}, "", 0},
		{BasicAuth, nil, []string{basic}, "", 0},
		{AutoAuth, status(404), []string{post, basic}, "", 0},
		{AutoAuth, status(405), []string{post, basic}, "", 0},
		{AutoAuth, status(501), []string{post, basic}, "", 0},
		{SessionAuth, status(501), []string{post}, "the service has no sessions: 501 Not Implemented", verify.Unsupported},
		{AutoAuth, status(401), []string{post}, "401 Unauthorized", verify.Credentials},
		{AutoAuth, status(503), []string{post}, "503 Service Unavailable", verify.Unreachable},
		{AutoAuth, refusal(503, "Base.1.8.SessionLimitExceeded"), []string{post, basic}, "", 0},
		{AutoAuth, refusal(400, "Base.1.8.CreateLimitReachedForResource"), []string{post, basic}, "", 0},
		{AutoAuth, refusal(503, "IDRAC.2.8.RAC0218"), []string{post, basic}, "", 0},
		{SessionAuth, refusal(503, "IDRAC.2.8.RAC0218"), []string{post}, "503 Service Unavailable IDRAC.2.8.RAC0218", verify.Unreachable},
		{AutoAuth, refusal(401, "Base.1.8.SessionLimitExceeded"), []string{post}, "401 Unauthorized", verify.Credentials},
		{AutoAuth, refusal(403, "Base.1.8.SessionLimitExceeded"), []string{post}, "403 Forbidden", verify.Credentials},
		{AutoAuth, refusal(403, "Not licensed"), []string{post}, "403 Forbidden Not licensed", verify.Credentials},
		{AutoAuth, status(500), []string{post}, "500 Internal Server Error", verify.Protocol},
		{AutoAuth, status(201), []string{post}, "the session has no token", verify.Protocol},
		{AutoAuth, func(w http.ResponseWriter, _ *http.Request) { raw(w, "") }, []string{post}, "unexpected EOF", verify.Protocol},
	} {
		s := tree(t, test.login, nil)
		c := opened(t, s, withAuth(test.auth))
		err := c.Login(t.Context())
		require.Equal(t, test.want, s.seen(), "%v", test)
		require.False(t, c.Absent(errNoRoot), "credentials were sent")
		if test.err == "" {
			require.NoError(t, err)
			require.Equal(t, len(test.want) == 1 && test.auth != BasicAuth, c.HasSession())
			continue
		}
		require.ErrorContains(t, err, test.err)
		require.Equal(t, test.kind, kindOf(t, err))
	}
}

// A password may be wrong until the BMC has accepted it, whatever a refusal says.
func TestARefusalLacksALicenceOnlyOnceThePasswordIsAccepted(t *testing.T) {
	unlicensed := refusal(http.StatusForbidden, "Not licensed")
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a" {
			unlicensed(w, r)
			return
		}
		resources(map[string]string{"/b": "{}"})(w, r)
	})
	for _, basic := range []bool{true, false} {
		c := s.client()
		c.basic = basic
		_, _, err := c.Get(t.Context(), "/a")
		require.Equal(t, !basic, errors.Is(err, ErrUnlicensed), err)
		require.Equal(t, basic, failure.KindOf(err) == verify.Credentials)
		_, _, err = c.Get(t.Context(), "/b")
		require.NoError(t, err)
		_, _, err = c.Get(t.Context(), "/a")
		require.ErrorIs(t, err, ErrUnlicensed)
	}
}

func TestABasicAuthenticationThatFailsSaysWhyItWasTried(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == Root:
			object(w, `{"Systems": {"@odata.id": "/s"}, "Links": {"Sessions": {"@odata.id": "`+sessions+`"}}}`)
		case r.Method == http.MethodPost:
			refusal(503, "RAC0218")(w, r)
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	c := opened(t, s)
	err := c.Login(t.Context())
	require.EqualError(t, err, "GET /s: 401 Unauthorized; before that: POST "+sessions+": 503 Service Unavailable RAC0218")
	require.Equal(t, verify.Credentials, kindOf(t, err))
	require.True(t, c.refused)
}

func TestTheLogInHasTheUserAndThePassword(t *testing.T) {
	var body map[string]string
	s := tree(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.Header().Set("X-Auth-Token", "token")
		w.WriteHeader(http.StatusCreated)
	}, nil)
	c := opened(t, s)
	require.NoError(t, c.Login(t.Context()))
	require.Equal(t, map[string]string{"UserName": "admin", "Password": "a password"}, body)
	cleaned := c.config.Scrubber.Clean(fmt.Errorf("it says token"))
	require.Equal(t, "it says ***", cleaned.Text)
}

func TestAServiceWithoutSessionsGetsBasicAuthentication(t *testing.T) {
	s := start(t, resources(map[string]string{Root: `{"Systems": {"@odata.id": "/s"}}`, "/s": `{"Members": [{"@odata.id": "/s/1"}]}`}))
	c := opened(t, s)
	require.NoError(t, c.Login(t.Context()))
	require.Equal(t, []string{"GET /s (admin)"}, s.seen())
	c = opened(t, s, withAuth(SessionAuth))
	err := c.Login(t.Context())
	require.ErrorIs(t, err, errNoSessions)
	require.EqualError(t, err, "the service has no sessions")
	require.Equal(t, verify.Unsupported, kindOf(t, err))
	require.Empty(t, s.seen())
}

func TestASessionIsClosedUnderTheNameThatTheBMCGives(t *testing.T) {
	const token = " (token)"
	created := func(location, id string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Auth-Token", "token")
			w.Header().Set("Content-Type", "application/json")
			if location != "" {
				w.Header().Set("Location", location)
			}
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, `{"@odata.id": %q}`, id)
		}
	}
	withID := func(id string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Auth-Token", "token")
			object(w, fmt.Sprintf(`{"Id": %q, "Name": "User Session"}`, id))
		}
	}
	del := func(id string) string { return "DELETE " + sessions + "/" + id + token }
	only := []string{"GET " + sessions + token, del("9")}
	for name, test := range map[string]struct {
		login, remove http.HandlerFunc
		want          []string
	}{
		"a path":                    {created(sessions+"/7", ""), nil, []string{del("7")}},
		"a URL with another name":   {created("https://bmc.internal"+sessions+"/7", ""), nil, []string{del("7")}},
		"an ID":                     {created("7", ""), nil, []string{del("7")}},
		"a path from the root":      {created("SessionService/Sessions/7", ""), nil, []string{del("7")}},
		"a path without its slash":  {created("redfish/v1/SessionService/Sessions/7/", ""), nil, []string{del("7")}},
		"a relative path":           {created("Sessions/7", ""), nil, []string{del("7")}},
		"of another resource":       {created("Systems/7", ""), nil, only},
		"in the body":               {created("", sessions+"/8"), nil, []string{del("8")}},
		"the same twice":            {created(sessions+"/7", sessions+"/7"), status(404), append([]string{del("7")}, only...)},
		"two names, the first good": {created(sessions+"/7", sessions+"/8"), nil, []string{del("7")}},
		"two names, both bad":       {created(sessions+"/7", sessions+"/8"), status(404), append([]string{del("7"), del("8")}, only...)},
		"an ID in the body":         {withID("8"), nil, []string{del("8")}}, // Inspur
		"a strange ID in the body":  {withID("8 ?"), nil, []string{del("8%20%3F")}},
		"an ID that is a path":      {withID("../8"), nil, only},
		"an ID that climbs":         {withID(".."), nil, only},
		"a name that climbs":        {created("..", ""), nil, only},
		"an ID that is a dot":       {withID("."), nil, only},
		"a dot that is escaped":     {created("%2e", ""), nil, only},
		"a slash at the end":        {created(sessions+"/7/", ""), nil, []string{del("7/")}},
		"two slashes":               {created(sessions+"//", ""), nil, only},
		"the collection":            {created(sessions+"/", ""), nil, only},
		"another name of it":        {created("/redfish/v1/Sessions/", ""), nil, only},
		"no ID in the body":         {withID(""), nil, only},
		"no name":                   {created("", ""), nil, only},
		"no URL":                    {created("%zz", ""), nil, only},
		"another resource":          {created("/redfish/v1/Systems/1", "/redfish/v1/Chassis/1"), nil, only},
		"a path that climbs":        {created("/a/%2e%2e/Sessions/1", ""), nil, only},
	} {
		t.Run(name, func(t *testing.T) {
			s := tree(t, test.login, test.remove)
			c := opened(t, s)
			require.NoError(t, c.Login(t.Context()))
			require.True(t, c.HasSession())
			s.seen()
			c.budget.requests = 0 // a log-out has its own
			c.Close(t.Context())
			require.Equal(t, test.want, s.seen())
			require.False(t, c.HasSession())
			c.Close(t.Context())
			require.Empty(t, s.seen())
		})
	}
}

func TestASessionWithoutATokenIsClosedWithThePassword(t *testing.T) {
	s := tree(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", sessions+"/7")
		w.WriteHeader(http.StatusCreated)
	}, status(404))
	c := opened(t, s)
	require.Error(t, c.Login(t.Context()))
	s.seen()
	c.Close(t.Context())
	require.Equal(t, []string{"DELETE " + sessions + "/7 (admin)"}, s.seen(), "no other session is looked for")
}

func TestOfSeveralSessionsNoneIsClosed(t *testing.T) {
	for n, want := range map[int]int{0: 1, 1: 2, 2: 1} {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`{"@odata.id": "%s/%d"}`, sessions, i+1))
		}
		s := start(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.Method + " " + r.URL.Path {
			case "GET " + Root:
				object(w, `{"Systems": {"@odata.id": "/s"}, "Links": {"Sessions": {"@odata.id": "`+sessions+`"}}}`)
			case "GET " + sessions:
				object(w, `{"Members": [`+strings.Join(members, ",")+`]}`)
			case "POST " + sessions:
				w.Header().Set("X-Auth-Token", "token")
			}
		})
		c := opened(t, s)
		require.NoError(t, c.Login(t.Context()))
		s.seen()
		c.Close(t.Context())
		require.Len(t, s.seen(), want, "%d sessions", n)
	}
}

func TestTheTokenIsSentInPlaceOfThePassword(t *testing.T) {
	var match string
	s := tree(t, nil, func(_ http.ResponseWriter, r *http.Request) { match = r.Header.Get("If-Match") })
	c := opened(t, s)
	require.NoError(t, c.Login(t.Context()))
	header := http.Header{"If-Match": {"*"}}
	_, err := c.Do(t.Context(), Request{Method: http.MethodDelete, Path: "/a", Header: header})
	require.NoError(t, err)
	require.Equal(t, []string{"POST " + sessions, "DELETE /a (token)"}, s.seen())
	require.Equal(t, "*", match)
	require.Equal(t, http.Header{"If-Match": {"*"}}, header, "the caller's header is unchanged")
}

func TestNoPasswordIsSentAfterTheEnd(t *testing.T) {
	s := tree(t, nil, nil)
	c := opened(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Login(ctx), context.Canceled)
	require.Empty(t, s.seen())
	require.True(t, c.Absent(errNoRoot), "no credentials were sent")
}

func TestASessionThatIsOpenedWhileTheContextEndsIsKnown(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := tree(t, func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		w.Header().Set("X-Auth-Token", "token")
		w.Header().Set("Location", sessions+"/7")
		w.WriteHeader(http.StatusCreated)
	}, nil)
	c := opened(t, s, func(c *Config) { c.LoginGrace = time.Hour })
	require.ErrorIs(t, c.Login(ctx), context.Canceled)
	require.True(t, c.HasSession())
	s.seen()
	c.Close(t.Context())
	require.Equal(t, []string{"DELETE " + sessions + "/7 (token)"}, s.seen())
}

func TestALogInIsAwaitedForTheGraceTimeOnly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	s := tree(t, func(http.ResponseWriter, *http.Request) {
		cancel()
		<-ended
	}, nil)
	c := opened(t, s, func(c *Config) { c.LoginGrace = time.Millisecond })
	err := c.Login(ctx)
	close(ended)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, c.HasSession())
}

func TestALogOutNeedsNoPermission(t *testing.T) {
	s := tree(t, nil, nil)
	c := opened(t, s)
	require.NoError(t, c.Login(t.Context()))
	s.seen()
	c.Close(refusing(t))
	require.Equal(t, []string{"DELETE " + sessions + "/7 (token)"}, s.seen())
}

// The process may live on after a panic, for example of a log handler.
func TestAPanicInTheLogOutLeavesNoConnection(t *testing.T) {
	s := tree(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, "SYS518") // to be repeated
	})
	c := opened(t, s)
	require.NoError(t, c.Login(t.Context()))
	require.PanicsWithValue(t, "the log", func() { c.Close(retry.WithNote(t.Context(), func(int, error) { panic("the log") })) })
	require.Nil(t, c.wire)
	require.False(t, c.HasSession())
}
