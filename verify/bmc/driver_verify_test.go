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
	"github.com/ironstate/ironstate/verify/secret"
)

func TestAVerificationByADriverUsesTheKeptSession(t *testing.T) {
	server := startRedfish(t)
	config := configOf(server)
	config.CheckManagement = true
	all := newDriver(t, 1, nil)
	with := func(c bmc.Config) *bmc.Driver {
		d, err := all.With(c)
		require.NoError(t, err)
		return d
	}
	for range 2 {
		power, err := with(config).Verify(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, states.PowerOn, power)
	}
	require.Equal(t, bmctest.Logins{Attempts: 1, Succeeded: 1}, server.Logins())

	changed := config
	changed.Password = secret.New("wrong")
	_, err := with(changed).Verify(t.Context(), "node")
	require.ErrorIs(t, err, verify.Credentials)
	require.ErrorContains(t, err, "power interface: redfish ")
	require.True(t, bmc.RefusedAtLogin(err))
	require.Equal(t, bmctest.Logins{Attempts: 2, Succeeded: 1, Failed: 1}, server.Logins())

	_, err = with(config).Verify(t.Context(), "node")
	require.NoError(t, err)
	endSessions(t, server)
	before := server.Logins().Succeeded
	_, err = with(config).Verify(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, before+1, server.Logins().Succeeded)
}

func TestAVerificationByADriverSaysWhichStepFailed(t *testing.T) {
	server := startRedfish(t)
	config := configOf(server)
	config.CheckManagement = true
	d := newDriver(t, 1, map[string]bmc.Config{"node": config})
	for property, op := range map[string]string{"Boot": "management interface", "PowerState": "power state"} {
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty(property)})
		_, err := d.Verify(t.Context(), "node")
		var failed *verify.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, op, failed.Op)
		require.NoError(t, server.ClearFaults())
	}
	_, err := d.Verify(t.Context(), "unknown")
	require.ErrorIs(t, err, verify.Misconfigured)
}

// Many BMCs give a user at the log-in what it is permitted to do.
func TestAVerificationThatFailsLeavesNoSession(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	for _, status := range []int{http.StatusForbidden, http.StatusInternalServerError} {
		before := server.Logins().Succeeded
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Status(status)})
		_, err := d.Verify(t.Context(), "node")
		require.Error(t, err)
		require.Zero(t, server.Sessions(), status)
		require.NoError(t, server.ClearFaults())
		_, err = d.Verify(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, before+2, server.Logins().Succeeded, status)
		endSessions(t, server)
		require.NoError(t, d.Close(t.Context()))
		d = newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	}
}

func TestAPasswordIsRefusedAtTheLoginAndNotAtAResource(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	for path, want := range map[string]bool{systemPath: false, "/redfish/v1/SessionService/Sessions": true} {
		server.AddFault(bmctest.Fault{On: path, Do: bmctest.Status(http.StatusUnauthorized)})
		_, err := d.PowerState(t.Context(), "node")
		require.ErrorIs(t, err, verify.Credentials)
		require.Equal(t, want, bmc.RefusedAtLogin(err), path)
		require.NoError(t, server.ClearFaults())
		endSessions(t, server)
	}
}
