// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
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

func TestManufacturer(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	for _, c := range []struct {
		reported any
		want     string
		err      error
	}{{"Lovelace Works", "Lovelace Works", nil}, {nil, "", nil}, {7, "", verify.Protocol}} {
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Property("Manufacturer", c.reported)})
		manufacturer, err := d.Manufacturer(t.Context(), "node")
		require.ErrorIs(t, err, c.err, "%v", c.reported)
		require.Equal(t, c.want, manufacturer)
		require.NoError(t, server.ClearFaults())
	}
}
