// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestHealth(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	health, err := d.Health(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, "OK", health)
	for _, c := range []struct {
		status any
		want   string
	}{
		{map[string]any{"Health": "Warning"}, "WARNING"}, {map[string]any{"Health": "Critical"}, "CRITICAL"},
		{map[string]any{"Health": "Splendid"}, ""},
		{map[string]any{"Health": nil}, ""}, {map[string]any{}, ""}, {nil, ""},
	} {
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Property("Status", c.status)})
		health, err := d.Health(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, c.want, health, "%v", c.status)
		require.NoError(t, server.ClearFaults())
	}
	server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Property("Status", "fine")})
	_, err = d.Health(t.Context(), "node")
	require.ErrorIs(t, err, verify.Protocol)
}

func TestTheVendorOfABMCAndOfItsMachine(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	for _, c := range []struct {
		root, system      any
		firmware, machine string
		err               error
	}{
		{"AMI", "Lovelace Works", "AMI", "Lovelace Works", nil},
		{nil, "Lovelace Works", "", "Lovelace Works", nil},
		{7, nil, "", "", nil},
		{"AMI", 7, "AMI", "", verify.Protocol},
	} {
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Property("Manufacturer", c.system)})
		server.AddFault(bmctest.Fault{On: "/redfish/v1/", Do: bmctest.Property("Vendor", c.root)})
		known := len(server.Requests())
		firmware, machine, err := d.Vendor(t.Context(), "node")
		require.ErrorIs(t, err, c.err, "%v", c)
		require.Equal(t, c.firmware, firmware)
		require.Equal(t, c.machine, machine)
		roots := 0
		for _, r := range server.Requests()[known:] {
			if r.Path == "/redfish/v1/" {
				roots++
			}
		}
		require.Equal(t, 1, roots, "the root is read to log in, and not again")
		require.NoError(t, server.ClearFaults())
	}
	server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Status(http.StatusInternalServerError)})
	_, _, err := d.Vendor(t.Context(), "node")
	require.ErrorIs(t, err, verify.Protocol)
}

func TestTheBootProgressOfAMachine(t *testing.T) {
	for progress, want := range map[any]string{"OSRunning": "OSRunning", nil: "", 7: ""} {
		d, _ := vendorDriver(t, bmctest.Fault{On: systemPath, Do: bmctest.Property("BootProgress", map[string]any{"LastState": progress})})
		got, err := d.BootProgress(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	d, _ := vendorDriver(t)
	got, err := d.BootProgress(t.Context(), "node")
	require.NoError(t, err)
	require.Empty(t, got)
}
