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

func TestTheMACAddressesAreThoseOfEnabledInterfaces(t *testing.T) {
	server := startRedfish(t, withMACs)
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	got, err := d.MACAddresses(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, []string{"52:54:00:aa:bb:01", "52:54:00:aa:bb:02"}, got)

	server.AddFault(bmctest.Fault{On: systemPath + "/EthernetInterfaces/NIC2", Times: 1, Do: bmctest.Status(http.StatusUnauthorized)})
	got, err = d.MACAddresses(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, []string{"52:54:00:aa:bb:01", "52:54:00:aa:bb:02"}, got, "the session has ended between the two")

	server.AddFault(bmctest.Fault{
		On: systemPath + "/EthernetInterfaces/NIC1", Do: bmctest.Property("Status", map[string]any{"State": "Disabled"}),
	})
	got, err = d.MACAddresses(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, []string{"52:54:00:aa:bb:02"}, got)

	server.AddFault(bmctest.Fault{On: systemPath + "/EthernetInterfaces", Do: bmctest.Status(http.StatusInternalServerError)})
	_, err = d.MACAddresses(t.Context(), "node")
	require.ErrorIs(t, err, verify.Protocol)
}
