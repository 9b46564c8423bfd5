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
