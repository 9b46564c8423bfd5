// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestSessions(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{MaxSessions: 2})
	opened := ask(t, bmc, http.MethodPost, sessions, login, "Authorization", "")
	require.Equal(t, sessions+"/1", opened.Header.Get("Location"))
	require.NotContains(t, string(opened.body), bmctest.DefaultPassword)
	token := []string{"Authorization", "", "X-Auth-Token", opened.Header.Get("X-Auth-Token")}
	require.Equal(t, 200, ask(t, bmc, http.MethodGet, system, "", token...).StatusCode)
	require.Equal(t, bmctest.Logins{Attempts: 1, Succeeded: 1}, bmc.Logins(), "a token is no attempt")

	require.Equal(t, 201, ask(t, bmc, http.MethodPost, sessions, login).StatusCode)
	require.Equal(t, []string{"1", "2"}, bmc.Sessions())
	full := ask(t, bmc, http.MethodPost, sessions, login)
	require.Equal(t, 503, full.StatusCode)
	require.Equal(t, "SessionLimitExceeded", full.messageID(t))

	require.Equal(t, 204, ask(t, bmc, http.MethodDelete, sessions+"/1", "", token...).StatusCode)
	require.Equal(t, 401, ask(t, bmc, http.MethodGet, system, "", token...).StatusCode)
	require.Equal(t, []string{"2"}, bmc.Sessions())
}

func TestSessionsExpire(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{SessionTimeout: time.Millisecond})
	opened := ask(t, bmc, http.MethodPost, sessions, login)
	require.Equal(t, 201, opened.StatusCode)
	for len(bmc.Sessions()) > 0 { // for a millisecond
		runtime.Gosched()
	}
	token := []string{"Authorization", "", "X-Auth-Token", opened.Header.Get("X-Auth-Token")}
	require.Equal(t, 401, ask(t, bmc, http.MethodGet, system, "", token...).StatusCode)
}

func TestAccountLocks(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{LockAfter: 2})
	const wrong = `{"UserName":"` + bmctest.DefaultUser + `","Password":"wrong"}`
	require.Equal(t, 401, ask(t, bmc, http.MethodPost, sessions, wrong).StatusCode)
	require.Equal(t, 201, ask(t, bmc, http.MethodPost, sessions, login).StatusCode, "which resets the count")
	require.Equal(t, 401, ask(t, bmc, http.MethodPost, sessions, wrong).StatusCode)
	require.Equal(t, 401, ask(t, bmc, http.MethodPost, sessions, wrong).StatusCode)
	refused := ask(t, bmc, http.MethodPost, sessions, login)
	require.Equal(t, 403, refused.StatusCode)
	require.Equal(t, "AccountLocked", refused.messageID(t))
	require.Equal(t, bmctest.Logins{Attempts: 5, Succeeded: 1, Failed: 4}, bmc.Logins())
}
