// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestAnNMIIsInjected(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	require.NoError(t, d.InjectNMI(t.Context(), "node"))
	require.Equal(t, 1, server.NMIs("1"))

	server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Property("Actions", map[string]any{"#ComputerSystem.Reset": map[string]any{
		"target": systemPath + "/Actions/ComputerSystem.Reset", "ResetType@Redfish.AllowableValues": []string{"On", "ForceOff"},
	}})})
	require.ErrorIs(t, d.InjectNMI(t.Context(), "node"), verify.Unsupported)
	require.ErrorIs(t, d.SetPower(t.Context(), "node", states.PowerSoftOff), verify.Unsupported)
	require.Equal(t, 1, server.NMIs("1"))
}

func TestARefusalOfASystemThatNamesNoResetTypesIsNotUnsupported(t *testing.T) {
	d, server := vendorDriver(t,
		bmctest.Fault{On: systemPath, Do: bmctest.Property("Actions",
			map[string]any{"#ComputerSystem.Reset": map[string]any{"target": resetPath}})},
		bmctest.Fault{On: resetPath, Times: 1, Do: bmctest.Status(http.StatusInternalServerError)})
	err := d.SetPower(t.Context(), "node", states.PowerOff)
	require.ErrorIs(t, err, verify.Protocol)
	require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOff))
	require.Equal(t, "Off", server.Power("1"))
}

func TestARefusedResetTypeThatTheSystemListsIsNotUnsupported(t *testing.T) {
	for _, test := range []struct {
		listed bool
		status int
		want   error
	}{
		{listed: true, status: http.StatusBadRequest, want: verify.Protocol},
		{listed: false, status: http.StatusBadRequest, want: verify.Unsupported},
		{listed: false, status: http.StatusOK},
	} {
		var p bmctest.Profile
		if !test.listed {
			p.Without = []string{"ResetType@Redfish.AllowableValues"}
		}
		d, server := profileDriver(t, p)
		server.AddFault(bmctest.Fault{On: resetPath, Do: bmctest.Handle("answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(test.status)
			fmt.Fprint(w, `{"error": {"code": "Base.1.0.ActionParameterValueNotInList"}}`)
		})})
		require.ErrorIs(t, d.SetPower(t.Context(), "node", states.PowerSoftOff), test.want, "%+v", test)
	}
}

func TestAMachineThatIsInThePowerStateGetsNoReset(t *testing.T) {
	for power, now := range map[states.Power]string{
		states.PowerOn: "On", states.PowerOff: "Off", states.PowerSoftOff: "Off",
	} {
		d, server := vendorDriver(t)
		require.NoError(t, server.SetPower("1", now))
		require.NoError(t, d.SetPower(t.Context(), "node", power))
		require.Zero(t, count(server, "POST", resetPath), "%v", power)
	}
}

func TestAPowerRequestThatWasNotSentHasFailed(t *testing.T) {
	d, server := vendorDriver(t)
	_, err := d.PowerState(t.Context(), "node")
	require.NoError(t, err)
	// A read is repeated twice.
	server.AddFault(bmctest.Fault{On: systemPath, Method: http.MethodGet, Times: 3, Do: bmctest.Status(http.StatusInternalServerError)})
	require.ErrorIs(t, d.SetPower(t.Context(), "node", states.PowerOn), verify.Protocol, "though the machine is on")
	require.Zero(t, count(server, "POST", resetPath))
}
