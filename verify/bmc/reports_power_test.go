// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestARefusedOrUnansweredPowerRequestHasSucceededIfTheMachineIsInItsState(t *testing.T) {
	for _, test := range []struct {
		power       states.Power
		before, now string
		status      int
		ok          bool
		sent        int
	}{
		{states.PowerOff, "On", "Off", 409, true, 1},
		{states.PowerOff, "On", "Off", 400, true, 1},
		{states.PowerOff, "On", "Off", 500, true, 1},
		{states.PowerOff, "On", "Off", 503, true, 1},
		{states.PowerOff, "On", "Off", 0, true, 1},
		{states.PowerOff, "On", "PoweringOff", 409, true, 1},
		{states.PowerSoftOff, "On", "Off", 409, true, 1},
		{states.PowerOn, "Off", "On", 400, true, 1},
		{states.PowerOn, "Off", "On", 409, true, 3},
		{states.PowerOn, "Off", "PoweringOn", 0, true, 1},
		{states.PowerOff, "On", "On", 409, false, 1},
		{states.PowerOff, "On", "On", 0, false, 1},
		{states.PowerOff, "On", "Paused", 409, false, 1},
		{states.PowerRebooting, "On", "On", 409, false, 1}, // a power state shows no reboot
		{states.PowerRebooting, "On", "On", 0, false, 1},
		{states.PowerRebooting, "Off", "On", 409, true, 3}, // a power on
		{states.PowerSoftRebooting, "On", "On", 0, false, 1},
	} {
		for _, sessions := range []int{0, 1} { // without and with a kept session
			name := fmt.Sprintf("%+v %d", test, sessions)
			server := startRedfish(t)
			d := newDriver(t, sessions, map[string]bmc.Config{"node": configOf(server)})
			require.NoError(t, server.SetPower("1", test.before))
			_, err := d.PowerState(t.Context(), "node")
			require.NoError(t, err)
			server.AddFault(bmctest.Fault{Do: bmctest.Meanwhile(test.now, test.status)})
			err = d.SetPower(t.Context(), "node", test.power)
			require.Equal(t, test.ok, err == nil, "%s: %v", name, err)
			require.Equal(t, test.sent, count(server, "POST", resetPath), name)
			require.NoError(t, d.Close(t.Context()))
			require.Empty(t, server.Sessions())
		}
	}
}

func TestAPowerRequestWhoseSessionIsLostBeforeItIsSentIsSentOverANewOne(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	_, err := d.PowerState(t.Context(), "node")
	require.NoError(t, err)
	server.AddFault(bmctest.Fault{On: systemPath, Times: 1, Do: bmctest.Status(http.StatusUnauthorized)})
	require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOff))
	require.Equal(t, "Off", server.Power("1"))
	require.Equal(t, 1, count(server, "POST", resetPath))
}

func TestAnNMIIsSentOnce(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	_, err := d.PowerState(t.Context(), "node")
	require.NoError(t, err)
	server.AddFault(bmctest.Fault{Do: bmctest.Meanwhile("On", 0)})
	require.Error(t, d.InjectNMI(t.Context(), "node"))
	require.Equal(t, 1, count(server, "POST", resetPath))
}

func TestRefusedCredentialsOfAPowerRequestAreNotSentAgain(t *testing.T) {
	server := startRedfish(t)
	config := configOf(server)
	config.Auth = "basic"
	d := newDriver(t, 0, map[string]bmc.Config{"node": config})
	server.AddFault(bmctest.Fault{Do: bmctest.Meanwhile("Off", http.StatusUnauthorized)})
	require.ErrorIs(t, d.SetPower(t.Context(), "node", states.PowerOff), verify.Credentials)
	requests := server.Requests()
	require.Equal(t, resetPath, requests[len(requests)-1].Path, "no request follows")
}

// Machines of IBM list ForceRestart, and their BMC refuses it.
func TestARestartThatIsListedAndRefusedIsUnsupported(t *testing.T) {
	for id, unsupported := range map[string]bool{
		"Base.1.8.1.ActionParameterUnknown": true, "Base.1.8.1.ActionParameterNotSupported": true, "Base.1.8.1.InternalError": false,
		"Base.1.8.1.ActionNotSupported": false, // in the state of the machine
	} {
		var seen refusing
		d, _ := vendorDriver(t, bmctest.Fault{On: resetPath, Method: http.MethodPost,
			Do: seen.effect(func(*http.Request, string) (int, string) {
				return http.StatusBadRequest, `{"error": {"code": "` + id + `"}}`
			})})
		err := d.SetPower(t.Context(), "node", states.PowerRebooting)
		require.Error(t, err)
		require.Equal(t, unsupported, errors.Is(err, errors.ErrUnsupported), "%s: %v", id, err)
		require.Equal(t, []string{`{"ResetType":"ForceRestart"}`}, seen.bodies)
		err = d.SetPower(t.Context(), "node", states.PowerOff)
		require.ErrorIs(t, err, verify.Protocol, "only a restart has another way: %s", id)
		require.ErrorIs(t, d.InjectNMI(t.Context(), "node"), verify.Protocol, id)
	}
}

// A DGX without a system's ID: the board of its GPUs cannot be read while the machine is off.
func TestABoardThatHasNoPowerHoldsUpNoCall(t *testing.T) {
	var seen refusing
	const board = "/redfish/v1/Systems/HGX_Baseboard_0"
	d, server := profileDriver(t, bmctest.NVIDIA(), bmctest.Fault{On: board, Do: seen.effect(func(*http.Request, string) (int, string) {
		return http.StatusServiceUnavailable, `{"error": {"code": "Ami.1.0.HMCCommuicationFailed"}}`
	})})
	require.NoError(t, server.SetPower("1", "Off"))
	power, err := d.PowerState(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, states.PowerOff, power)
	require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOn))
	require.Equal(t, "On", server.Power("1"))
	require.Equal(t, 1, count(server, "GET", board))
}

// An iDRAC 10 compares the If-Match of an action with another ETag than the system's.
func TestOnlyAChangeOfTheResourceHasACondition(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile.ETags = bmctest.WeakETags })
	server.AddFault(bmctest.Fault{Do: bmctest.RefuseActionIfMatch()})
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	for _, power := range []states.Power{
		states.PowerOff, states.PowerOn, states.PowerRebooting, states.PowerSoftRebooting, states.PowerSoftOff, states.PowerOn,
	} {
		require.NoError(t, d.SetPower(t.Context(), "node", power), "%v", power)
	}
	require.NoError(t, d.InjectNMI(t.Context(), "node"))
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", "http://images.example/a.iso"))
	require.NoError(t, d.EjectMedia(t.Context(), "node", "cdrom"))
	require.NoError(t, d.ResetBIOS(t.Context(), "node"))
}

func TestAResetThatTheSystemLacksIsUnsupported(t *testing.T) {
	for place, p := range map[string]bmctest.Profile{
		"system": {}, "info": {ActionInfo: true}, "refusal": {Without: []string{"ResetType@Redfish.AllowableValues"}},
	} {
		p.ResetTypes = []string{"ForceOff"}
		d, server := profileDriver(t, p)
		for _, power := range []states.Power{states.PowerRebooting, states.PowerSoftRebooting, states.PowerSoftOff} {
			err := d.SetPower(t.Context(), "node", power)
			require.ErrorIs(t, err, verify.Unsupported, "%s: %v", place, power)
			require.ErrorIs(t, err, errors.ErrUnsupported, "%s: %v", place, power)
			require.Equal(t, "On", server.Power("1"))
		}
		require.ErrorIs(t, d.InjectNMI(t.Context(), "node"), verify.Unsupported, place)
		require.Equal(t, place == "refusal", slices.ContainsFunc(server.Requests(), func(r bmctest.Request) bool { return r.Path == resetPath }))
		require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOff), place)
		require.Equal(t, "Off", server.Power("1"))
	}
}
