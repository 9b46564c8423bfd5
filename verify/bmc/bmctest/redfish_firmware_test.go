// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestFirmwareHasTheVersionsOfTheResources(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	service := read(t, bmc, "/redfish/v1/")["UpdateService"].(map[string]any)["@odata.id"].(string)
	inventory := read(t, bmc, service)["FirmwareInventory"].(map[string]any)["@odata.id"].(string)
	versions := map[any]any{}
	for _, f := range membersOf(t, bmc, read(t, bmc, inventory)["Members"]) {
		versions[f["Id"]] = f["Version"]
		require.NotEmpty(t, membersOf(t, bmc, f["RelatedItem"]))
	}
	require.Len(t, versions, 4)
	require.Equal(t, read(t, bmc, system)["BiosVersion"], versions["BIOS"])
	require.Equal(t, read(t, bmc, "/redfish/v1/Managers/bmc")["FirmwareVersion"], versions["BMC"])
	require.NotEmpty(t, versions["1-NIC1"])
}

func TestGofishReadsTheFirmware(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	service, err := gofishClient(t, bmc).Service.UpdateService()
	require.NoError(t, err)
	inventory, err := service.FirmwareInventories()
	require.NoError(t, err)
	require.Len(t, inventory, 4)
}

func TestBmclibReadsTheInventory(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	ctx := t.Context()
	client := dial(bmc, bmctest.DefaultPassword)
	require.NoError(t, client.Open(ctx))
	device, err := client.Inventory(ctx)
	require.NoError(t, err)
	require.Len(t, device.CPUs, 2)
	require.Len(t, device.Memory, 4)
	require.Len(t, device.Drives, 2)
	require.Equal(t, "1.8.2", device.BIOS.Firmware.Installed)
	require.Equal(t, "2.14.0", device.BMC.Firmware.Installed)
	require.NoError(t, client.Close(ctx))
}
