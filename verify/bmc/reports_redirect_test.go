// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// slashed redirects a request whose path does not end in a slash to the one that does, as Location has it.
func slashed(status int, method, location string) bmctest.Fault {
	return bmctest.Fault{
		Method: method, If: func(r *http.Request) bool { return !strings.HasSuffix(r.URL.Path, "/") },
		Do: bmctest.Handle(fmt.Sprint("redirect ", status), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", strings.ReplaceAll(location, "PATH", r.URL.Path))
			w.WriteHeader(status)
		}),
	}
}

func TestARedirectThatKeepsTheMethodIsFollowedWithinTheBMC(t *testing.T) {
	for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, location := range []string{"PATH/", "https://HOST/PATH/"} {
			server := startRedfish(t)
			location = strings.ReplaceAll(location, "HOST/", server.Addr)
			for _, method := range []string{http.MethodPost, http.MethodPatch, http.MethodDelete} {
				server.AddFault(slashed(status, method, location))
			}
			d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
			power, err := d.PowerState(t.Context(), "node")
			require.NoError(t, err)
			require.Equal(t, states.PowerOn, power)
			require.Equal(t, 1, server.Logins().Succeeded)
			require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOff))
			require.Equal(t, "Off", server.Power("1"))
			require.NoError(t, d.SetBootDevice(t.Context(), "node", "pxe", false))
			require.Equal(t, "Pxe Once UEFI", server.Boot("1"))
			require.NoError(t, d.Close(t.Context()))
			require.Empty(t, server.Sessions())
		}
	}
}

func TestNoOtherRedirectOfALogInIsFollowed(t *testing.T) {
	const sessions = "/redfish/v1/SessionService/Sessions"
	for name, fault := range map[string]bmctest.Fault{
		"without its body": slashed(http.StatusFound, http.MethodPost, "PATH/"),
		"as a GET":         slashed(http.StatusSeeOther, http.MethodPost, "PATH/"),
		"to another host":  slashed(http.StatusTemporaryRedirect, http.MethodPost, "https://other.invalid/PATH/"),
		"to plain HTTP":    slashed(http.StatusPermanentRedirect, http.MethodPost, "http://127.0.0.1/PATH/"),
		"nowhere":          slashed(http.StatusPermanentRedirect, http.MethodPost, ""),
		"to itself":        {On: sessions, Do: effect("RedirectLoop")},
	} {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Faults = []bmctest.Fault{fault} })
		_, err := newVerifier(t, configOf(server)).Verify(t.Context())
		require.ErrorIs(t, err, verify.Protocol, name)
		require.Equal(t, 1, count(server, "POST", sessions), name)
		require.Zero(t, server.Logins().Succeeded, name)
	}
}
