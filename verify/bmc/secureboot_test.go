// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestSecureBootIsReadAndSet(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	for _, want := range []bool{true, true, false} {
		require.NoError(t, d.SetSecureBoot(t.Context(), "node", want))
		got, err := d.SecureBoot(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.NoError(t, d.SetBootMode(t.Context(), "node", "bios"))
	require.NoError(t, d.SetSecureBoot(t.Context(), "node", false))
	require.ErrorIs(t, d.SetSecureBoot(t.Context(), "node", true), verify.Unsupported)

	for name, fault := range map[string]bmctest.Fault{
		"none":       {On: systemPath, Do: bmctest.WithoutProperty("SecureBoot")},
		"null":       {On: systemPath, Do: bmctest.Property("SecureBoot", nil)},
		"unknown":    {On: systemPath + "/SecureBoot", Do: bmctest.Property("SecureBootEnable", nil)},
		"wrong type": {On: systemPath + "/SecureBoot", Do: bmctest.Property("SecureBootEnable", "yes")},
	} {
		require.NoError(t, server.ClearFaults())
		server.AddFault(fault)
		_, err := d.SecureBoot(t.Context(), "node")
		require.ErrorIs(t, err, verify.Unsupported, name)
		require.ErrorIs(t, d.SetSecureBoot(t.Context(), "node", true), verify.Unsupported, name)
	}
}
