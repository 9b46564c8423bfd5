// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestARedirectThatKeepsTheMethodIsFollowedWithinTheBMC(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, whole := range []bool{false, true} {
			server := startRedfish(t)
			location := "*/"
			if whole {
				location = "https://" + server.Addr + location
			}
			for _, method := range []string{http.MethodPost, http.MethodPatch, http.MethodDelete} {
				server.AddFault(bmctest.Fault{Method: method, Do: bmctest.Redirect(status, location)})
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
	for name, redirect := range map[string]bmctest.Effect{
		"without its body": bmctest.Redirect(http.StatusFound, "*/"),
		"moved elsewhere":  bmctest.Redirect(http.StatusMovedPermanently, "/redfish/v1/Sessions"),
		"as a GET":         bmctest.Redirect(http.StatusSeeOther, "*/"),
		"to another host":  bmctest.Redirect(http.StatusTemporaryRedirect, "https://other.invalid*/"),
		"to plain HTTP":    bmctest.Redirect(http.StatusPermanentRedirect, "http://127.0.0.1*/"),
		"nowhere":          bmctest.Redirect(http.StatusPermanentRedirect, ""),
		"to itself":        bmctest.Redirect(http.StatusTemporaryRedirect, "*"),
	} {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Faults = []bmctest.Fault{{Method: http.MethodPost, Do: redirect}} })
		_, err := newVerifier(t, configOf(server)).Verify(t.Context())
		require.ErrorIs(t, err, verify.Protocol, name)
		require.Equal(t, 1, count(server, "POST", sessions), name)
		require.Zero(t, server.Logins().Succeeded, name)
	}
}
