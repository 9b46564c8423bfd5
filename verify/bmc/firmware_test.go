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

func TestFirmwareHasIronicsComponents(t *testing.T) {
	server := startRedfish(t)
	for _, fault := range withAdapters(t, linkTo(adaptersPath+"/1"), linkTo(adaptersPath+"/2"), linkTo(adaptersPath+"/3"),
		linkTo(adaptersPath+"/4"), linkTo(adaptersPath+"/5")) {
		server.AddFault(fault)
	}
	server.AddFault(serving(t, adaptersPath+"/1", map[string]any{"Id": "1", "SerialNumber": "S1", "Manufacturer": "M", "Model": "10G",
		"Controllers": []any{map[string]any{"FirmwarePackageVersion": "22.1"}}}))
	server.AddFault(serving(t, adaptersPath+"/2",
		map[string]any{"Id": "2", "Controllers": []any{map[string]any{"FirmwarePackageVersion": "22.2"}, map[string]any{}}}))
	for id, version := range map[string]any{"4": nil, "5": ""} { // adapters without a version are no components
		server.AddFault(serving(t, adaptersPath+"/"+id,
			map[string]any{"Id": id, "Controllers": []any{map[string]any{"FirmwarePackageVersion": version}}}))
	}
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	got, err := d.Firmware(t.Context(), "node")
	require.ErrorIs(t, err, verify.Unsupported, "the third adapter cannot be read")
	require.Equal(t, []bmc.FirmwareComponent{
		{Component: "bios", Version: "1.8.2"}, {Component: "bmc", Version: "2.14.0", Model: "bmctest"},
		{Component: "nic:S1", Version: "22.1", Vendor: "M", Model: "10G", SerialNumber: "S1"}, {Component: "nic:2", Version: "22.2"},
	}, got)
}

func TestNoFirmwareVersionIsAnError(t *testing.T) {
	const manager = "/redfish/v1/Managers/bmc"
	d, server := vendorDriver(t,
		bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("BiosVersion")},
		bmctest.Fault{On: manager, Do: bmctest.WithoutProperty("FirmwareVersion")})
	got, err := d.Firmware(t.Context(), "node")
	require.ErrorIs(t, err, verify.Unsupported)
	require.ErrorContains(t, err, "the BMC reports no firmware versions")
	require.Empty(t, got)

	require.NoError(t, server.ClearFaults())
	server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("BiosVersion")})
	server.AddFault(bmctest.Fault{On: manager, Do: bmctest.Status(http.StatusInternalServerError)})
	_, err = d.Firmware(t.Context(), "node")
	require.ErrorIs(t, err, verify.Protocol, "why it has not been read")
}

func TestTheFirstManagerWithAVersionIsTheBMC(t *testing.T) {
	const manager = "/redfish/v1/Managers/"
	managers := []any{}
	var faults []bmctest.Fault
	for id, version := range []string{"", "2.1", "3.1"} {
		path := manager + string(rune('1'+id))
		managers = append(managers, map[string]any{"@odata.id": path})
		manager := bmctest.Body(`{"Model": "model ` + version + `", "FirmwareVersion": "` + version + `"}`)
		faults = append(faults, bmctest.Fault{On: path, Do: manager})
	}
	faults = append(faults, bmctest.Fault{On: systemPath, Do: bmctest.Property("Links", map[string]any{"ManagedBy": managers})})
	d, _ := vendorDriver(t, faults...)
	got, err := d.Firmware(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, bmc.FirmwareComponent{Component: "bmc", Version: "2.1", Model: "model 2.1"}, got[1])
}
