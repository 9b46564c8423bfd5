// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestMembersAreMultiplied(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	bmc.AddFault(bmctest.Fault{On: "/redfish/v1/Systems", Do: bmctest.Members(3)})
	var collection struct {
		Members []struct {
			ID string `json:"@odata.id"`
		}
	}
	require.NoError(t, json.Unmarshal(ask(t, bmc, http.MethodGet, "/redfish/v1/Systems", "").body, &collection))
	require.Len(t, collection.Members, 3)
	require.Equal(t, 404, ask(t, bmc, http.MethodGet, collection.Members[0].ID, "").StatusCode)
	require.Equal(t, system, collection.Members[2].ID)
}

func TestAGzipBombIsLongOnceItIsDecompressed(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	bmc.AddFault(bmctest.Fault{Do: bmctest.GzipBomb(8 << 20)})
	body := ask(t, bmc, http.MethodGet, system, "").body
	require.True(t, json.Valid(body))
	require.InDelta(t, 8<<20, len(body), 1<<20)
}

func TestASessionsLocationIsWrittenOtherwise(t *testing.T) {
	for _, tt := range []struct {
		do   bmctest.Effect
		want string
	}{
		{bmctest.EscapedLocation(), "https://bmc.invalid" + sessions + "/%31"},
		{bmctest.BareLocation(), "1"},
		{bmctest.WithoutHeader("Location"), ""},
		{bmctest.NamelessSession(), ""},
	} {
		bmc := newRedfish(t, bmctest.RedfishConfig{})
		bmc.AddFault(bmctest.Fault{Method: http.MethodPost, Do: tt.do})
		opened := ask(t, bmc, http.MethodPost, sessions, login, "Authorization", "")
		require.Equal(t, 201, opened.StatusCode)
		require.Equal(t, tt.want, opened.Header.Get("Location"))
		require.NotEmpty(t, opened.Header.Get("X-Auth-Token"))
	}
}

func TestABMCWithoutSessionsTakesBasicAuthentication(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{NoSessions: true})
	root := ask(t, bmc, http.MethodGet, "/redfish/v1/", "", "Authorization", "")
	require.Equal(t, 200, root.StatusCode)
	require.NotContains(t, string(root.body), "Session")
	require.NotContains(t, string(ask(t, bmc, http.MethodGet, "/redfish/v1/odata", "").body), "Session")
	require.Equal(t, 404, ask(t, bmc, http.MethodPost, sessions, login).StatusCode)
	require.Equal(t, 404, ask(t, bmc, http.MethodGet, "/redfish/v1/SessionService", "").StatusCode)
	require.Equal(t, 200, ask(t, bmc, http.MethodGet, system, "").StatusCode)
}
