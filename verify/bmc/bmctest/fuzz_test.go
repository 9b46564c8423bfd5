// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzHandler sends random requests to the handler, with correct or random credentials, and expects a valid response.
func FuzzHandler(f *testing.F) {
	f.Add("GET", "/redfish/v1/Systems/1", "", "", true)
	f.Add("POST", sessionsPath, `{"UserName":"admin","Password":"bmctest-password"}`, "", false)
	f.Add("POST", "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", `{"ResetType":"On"}`, "*", true)
	f.Add("PATCH", "/redfish/v1/Systems/1", `{"Boot":{"BootSourceOverrideTarget":"Pxe"}}`, `"a", "b"`, true)
	f.Add("DELETE", sessionsPath+"/1", "", "", true)
	f.Add("", "", "null", ",", true)
	f.Fuzz(func(t *testing.T, method, path, body, match string, known bool) {
		bmc, err := newRedfish(RedfishConfig{})
		require.NoError(t, err)
		bmc.build()
		r := &http.Request{
			Method: method,
			URL:    &url.URL{Path: path},
			Header: http.Header{"If-Match": {match}, "X-Auth-Token": {match}},
			Body:   io.NopCloser(strings.NewReader(body)),
		}
		if known {
			r.Header.Del("X-Auth-Token")
			r.SetBasicAuth(DefaultUser, DefaultPassword)
		}
		w := httptest.NewRecorder()
		bmc.serveHTTP(w, r)
		require.NotEqual(t, http.StatusInternalServerError, w.Code)
		require.NotEmpty(t, http.StatusText(w.Code), "status %d", w.Code)
		require.Equal(t, w.Body.Len() > 0, w.Header().Get("Content-Type") != "")
	})
}

// FuzzRelayPacket passes random packets to a relay, in a session. The refusal of a message is an answer to it.
func FuzzRelayPacket(f *testing.F) {
	f.Add([]byte{0x06, 0x00, 0xff, 0x07, 0x06, rakp1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0})
	f.Add([]byte{0x06, 0x00, 0xff, 0x07, 0x06, rakp4, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0})
	f.Add([]byte{0x06, 0x00, 0xff, 0x07, 0x06, openRequest, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(presencePing)
	session := inSession()
	f.Add(session.keys().seal(session.console[:], 1, []byte{0x20, 0, 0xe0, 0x81, 4, 1, 0x7a}))
	f.Fuzz(func(t *testing.T, packet []byte) {
		r := &relay{}
		r.countLogin(&flow{}, packet)
		logins := r.count()
		require.LessOrEqual(t, logins.Attempts+logins.Succeeded+logins.Failed, 1)

		talk := inSession()
		if m, known := talk.read(packet); known {
			answered, known := talk.read(talk.refusal(m, NodeBusy))
			require.True(t, known)
			require.Equal(t, m.kind, answered.kind)
		}
		talk = inSession()
		require.Len(t, talk.answer(packet), len(packet))
	})
}

// inSession returns a conversation in which a session is open.
func inSession() conversation {
	talk := newConversation(usersOrDefault(nil))
	talk.rakp1 = append(make([]byte, 27), append([]byte{byte(len(DefaultUser))}, DefaultUser...)...)
	talk.rakp2 = make([]byte, 40)
	return talk
}
