// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
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

func TestTheBootModeIsReadAndSet(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	for _, mode := range []string{"bios", "uefi", "uefi"} {
		require.NoError(t, d.SetBootMode(t.Context(), "node", mode))
		got, err := d.BootMode(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, mode, got)
	}
	patches := 0
	for _, asked := range server.Requests() {
		if asked.Method == "PATCH" {
			patches++
		}
	}
	require.Equal(t, 2, patches, "the mode that the system has is not sent")
	require.ErrorIs(t, d.SetBootMode(t.Context(), "node", "coreboot"), verify.Misconfigured)

	boot := func(boot map[string]any) {
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Property("Boot", boot)})
	}
	boot(map[string]any{"BootSourceOverrideMode": "UEFI", "BootSourceOverrideMode@Redfish.AllowableValues": []string{"UEFI"}})
	require.ErrorIs(t, d.SetBootMode(t.Context(), "node", "bios"), verify.Unsupported)
	require.NoError(t, server.ClearFaults())
	boot(map[string]any{"BootSourceOverrideTarget": "Pxe"})
	require.ErrorIs(t, d.SetBootMode(t.Context(), "node", "bios"), verify.Unsupported)
	got, err := d.BootMode(t.Context(), "node")
	require.NoError(t, err)
	require.Empty(t, got)
}

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

func TestIPMIHasNMIsOnly(t *testing.T) {
	server := startIPMI(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": ipmiConfigOf(server)})
	_, err := d.BootMode(t.Context(), "node")
	require.ErrorIs(t, err, verify.Unsupported)
	require.ErrorIs(t, d.SetBootMode(t.Context(), "node", "uefi"), verify.Unsupported)
	require.ErrorIs(t, d.SetSecureBoot(t.Context(), "node", true), verify.Unsupported)
	require.ErrorIs(t, d.InsertMedia(t.Context(), "node", "cdrom", image), verify.Unsupported)
	require.ErrorIs(t, d.EjectMedia(t.Context(), "node"), verify.Unsupported)
	require.ErrorContains(t, d.InjectNMI(t.Context(), "node"), "Set Chassis Power Control to Diag failed", "ipmi_sim has no NMIs")
}
