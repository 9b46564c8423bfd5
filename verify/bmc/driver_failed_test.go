// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// A BMC that refuses every request for a while, or cannot be reached, is not logged out of: its sessions would be open
// for another half hour.
func TestASessionIsKeptWhileTheBMCIsBusyOrCannotBeReached(t *testing.T) {
	for _, effect := range []bmctest.Effect{
		bmctest.Status(http.StatusTooManyRequests), bmctest.Status(http.StatusServiceUnavailable), bmctest.Refuse(),
	} {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.MaxSessions = 1 })
		d := newDriver(t, 1, map[string]bmc.Config{"node-1": configOf(server)})
		for range 3 {
			_, err := d.PowerState(t.Context(), "node-1")
			require.NoError(t, err, effect)
			server.AddFault(bmctest.Fault{Do: effect})
			for range 3 {
				_, err = d.PowerState(t.Context(), "node-1")
				require.ErrorIs(t, err, verify.Unreachable, effect)
			}
			require.NoError(t, server.ClearFaults())
		}
		require.NoError(t, d.Close(t.Context()))
		require.Equal(t, 1, server.Logins().Attempts, effect)
		require.Empty(t, server.Sessions(), effect)
	}
}

// The session whose user may do nothing more is ended before another one is opened: BMCs have few.
func TestASessionThatIsRefusedIsClosed(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.MaxSessions = 1 })
		d := newDriver(t, 1, map[string]bmc.Config{"node-1": configOf(server)})
		_, err := d.PowerState(t.Context(), "node-1")
		require.NoError(t, err)
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Status(status)})
		_, err = d.PowerState(t.Context(), "node-1")
		require.ErrorIs(t, err, verify.Credentials, status)
		require.Equal(t, status == http.StatusForbidden, len(server.Sessions()) == 1, "a new session is kept if the user lacks a permission")
		require.Equal(t, bmctest.Logins{Attempts: 2, Succeeded: 2}, server.Logins(), status)
	}
}

// A caller that waits for BIOS settings reads them again and again. Another call, which the BMC forbids as well, may
// have found a session that has ended.
func TestACallThatTheBMCForbidsLogsInOnce(t *testing.T) {
	forbids := bmctest.Fault{On: systemPath + "/Bios", Do: bmctest.Status(http.StatusForbidden)}
	for name, before := range map[string]int{"the first call": 0, "with a kept session": 1} {
		d, server := vendorDriver(t)
		for range before {
			_, err := d.PowerState(t.Context(), "node")
			require.NoError(t, err)
		}
		server.AddFault(forbids)
		for range 5 {
			_, err := d.BIOS(t.Context(), "node")
			require.ErrorIs(t, err, verify.Forbidden, name)
			_, err = d.PowerState(t.Context(), "node")
			require.NoError(t, err, name)
		}
		require.Equal(t, 1+before, server.Logins().Attempts, name)
		require.Len(t, server.Sessions(), 1, name)

		for range 3 { // two things that are forbidden, in turn
			_, err := d.PendingBIOS(t.Context(), "node")
			require.ErrorIs(t, err, verify.Forbidden, name)
			_, err = d.BIOS(t.Context(), "node")
			require.ErrorIs(t, err, verify.Forbidden, name)
		}
		require.Equal(t, 2+before, server.Logins().Attempts, name)
		require.NoError(t, server.ClearFaults())
		_, err := d.BIOS(t.Context(), "node")
		require.NoError(t, err, name)
		require.Equal(t, 2+before, server.Logins().Attempts, name)
	}
}

// Some BMCs answer 403 for a session that has ended.
func TestASessionThatHasEndedIsFoundAfterACallThatTheBMCForbids(t *testing.T) {
	for name, call := range map[string]func(*bmc.Driver) error{
		"another call":         func(d *bmc.Driver) error { _, err := d.PowerState(t.Context(), "node"); return err },
		"a call that was done": func(d *bmc.Driver) error { return d.SetPower(t.Context(), "node", states.PowerOn) },
	} {
		d, server := vendorDriver(t)
		require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOn))
		server.AddFault(bmctest.Fault{On: systemPath + "/Bios", Do: bmctest.Status(http.StatusForbidden)})
		_, err := d.BIOS(t.Context(), "node")
		require.ErrorIs(t, err, verify.Forbidden)
		server.AddFault(bmctest.Fault{On: systemPath, Times: 1, Do: bmctest.Status(http.StatusForbidden)})
		logins := server.Logins().Attempts
		require.NoError(t, call(d), name)
		require.Equal(t, logins+1, server.Logins().Attempts, name)
	}
}

func TestAWrongPasswordIsTriedOnceWhateverTheBMCAnswers(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		for auth, on := range map[string]string{"session": sessionsPath, "auto": sessionsPath, "basic": systemsPath} {
			server := startRedfish(t)
			server.AddFault(bmctest.Fault{On: on, Do: bmctest.Status(status)})
			config := configOf(server)
			config.Auth = auth
			d := newDriver(t, 1, map[string]bmc.Config{"node": config})
			_, err := d.PowerState(t.Context(), "node")
			require.Equal(t, verify.Credentials, verify.KindOf(err), auth)
			require.True(t, verify.LoginRefused(err), auth)
			require.Equal(t, 1, count(server, "POST", sessionsPath)+count(server, "GET", systemsPath), auth)
		}
	}
}

// An account that is locked stays so for a while, whoever logs in.
func TestNobodyLogsInAgainWithALockedAccount(t *testing.T) {
	d, server := vendorDriver(t)
	require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOn))
	server.AddFault(bmctest.Fault{On: systemPath, Do: new(refusing).effect(func(*http.Request, string) (int, string) {
		return http.StatusForbidden, "The account is locked."
	})})
	_, err := d.PowerState(t.Context(), "node")
	require.ErrorIs(t, err, verify.Locked)
	require.Equal(t, 1, server.Logins().Attempts)
	require.Empty(t, server.Sessions())
}

func TestASessionIsKeptAfterACallThatTheBMCCannotDo(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("SecureBoot")})
	d := newDriver(t, 1, map[string]bmc.Config{"node-1": configOf(server)})
	for range 3 {
		_, err := d.SecureBoot(t.Context(), "node-1")
		require.ErrorIs(t, err, verify.Unsupported)
		_, err = d.PowerState(t.Context(), "node-1")
		require.NoError(t, err)
	}
	require.Equal(t, 1, server.Logins().Attempts)
}

// BMCs have few sessions.
func TestASessionIsNotKeptAfterAFailureWhereNoneIsAllowed(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("SecureBoot")})
	d := newDriver(t, 0, map[string]bmc.Config{"node-1": configOf(server)})
	_, err := d.SecureBoot(t.Context(), "node-1")
	require.ErrorIs(t, err, verify.Unsupported)
	require.Empty(t, server.Sessions())
}

// Some BMCs answer 401 for any path that they do not have, and only AMI's have boot overrides in one that nothing
// links.
func TestTheBootDeviceIsReadInNoPathThatTheBMCDoesNotHave(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) {
		c.Faults = []bmctest.Fault{{On: systemPath + "/SD", Do: bmctest.Status(http.StatusUnauthorized)}}
	})
	config := configOf(server)
	config.Auth = "basic"
	d := newDriver(t, 1, map[string]bmc.Config{"node": config})
	for range 2 {
		_, _, err := d.BootDevice(t.Context(), "node")
		require.NoError(t, err)
	}
	require.Zero(t, count(server, "GET", systemPath+"/SD"))
}

// The permission of the conductor's fence is asked within a call.
func TestAPanicWithinACallLeavesNoSession(t *testing.T) {
	d, server := vendorDriver(t)
	_, err := d.PowerState(t.Context(), "node")
	require.NoError(t, err)
	require.Len(t, server.Sessions(), 1)
	require.PanicsWithValue(t, "permit", func() {
		_ = d.SetBootDevice(fence.With(t.Context(), func(context.Context) error { panic("permit") }), "node", "pxe", false)
	})
	require.Empty(t, server.Sessions())
	_, err = d.PowerState(t.Context(), "node")
	require.NoError(t, err)
	require.Len(t, server.Sessions(), 1)
}
