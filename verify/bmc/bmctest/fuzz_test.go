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

// FuzzRelayPacket passes random packets to the relay's parser.
func FuzzRelayPacket(f *testing.F) {
	f.Add([]byte{0x06, 0x00, 0xff, 0x07, 0x06, rakp1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0})
	f.Add([]byte{0x06, 0x00, 0xff, 0x07, 0x06, rakp4, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0})
	f.Add(presencePing)
	f.Fuzz(func(t *testing.T, packet []byte) {
		r := &relay{}
		r.note(&flow{}, packet)
		logins := r.count()
		require.LessOrEqual(t, logins.Attempts+logins.Succeeded+logins.Failed, 1)
	})
}
