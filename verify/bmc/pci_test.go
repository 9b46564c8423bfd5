// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const pciPath = systemPath + "/PCIeDevices/"

func TestThePCIDevicesAreAsIronicWritesThem(t *testing.T) {
	d, _ := vendorDriver(t)
	got, err := d.PCIDevices(t.Context(), "node")
	require.NoError(t, err)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"class": "MassStorageController", "product_id": "0x00e6", "vendor_id": "0x1000", "subsystem_id": "0x40a0",
			"subsystem_vendor_id": "0x1000", "revision": "0x01"},
		{"class": "NetworkController", "product_id": "0x1015", "vendor_id": "0x15b3", "subsystem_id": "0x0069",
			"subsystem_vendor_id": "0x15b3", "revision": "0x00"}
	]`, string(text))
}

func TestThePCIDevicesOfABMCThatReportsThemOtherwise(t *testing.T) {
	link := func(path string) any { return map[string]any{"@odata.id": path} }
	const function = pciPath + "NIC/PCIeFunctions/0"
	only := func(f bmctest.Fault) []bmctest.Fault {
		return []bmctest.Fault{f, {On: systemPath, Do: bmctest.Property("PCIeDevices", []any{link(pciPath + "NIC")})}}
	}
	nic := bmc.PCIDevice{
		Class: "NetworkController", ProductID: "0x1015", VendorID: "0x15b3", SubsystemID: "0x0069", SubsystemVendorID: "0x15b3", Revision: "0x00",
	}
	empty := func(o map[string]any) {
		for _, name := range []string{"DeviceClass", "DeviceId", "VendorId", "SubsystemId", "SubsystemVendorId", "RevisionId"} {
			o[name] = nil
		}
	}
	for name, test := range map[string]struct {
		faults []bmctest.Fault
		want   []bmc.PCIDevice
		kind   error // nil if it is no error
	}{
		"it has none":  {[]bmctest.Fault{{On: systemPath, Do: bmctest.WithoutProperty("PCIeDevices")}}, nil, nil},
		"a collection": {[]bmctest.Fault{{On: systemPath, Do: bmctest.Property("PCIeDevices", link(pciPath))}}, nil, nil},
		"one twice": {[]bmctest.Fault{{On: systemPath, Do: bmctest.Property("PCIeDevices", []any{link(pciPath + "NIC"), link(pciPath + "NIC")})}},
			[]bmc.PCIDevice{nic}, nil},
		"an iDRAC's links": {only(bmctest.Fault{On: pciPath + "NIC", Do: changeObject("links", func(o map[string]any) {
			delete(o, "PCIeFunctions")
			o["Links"] = map[string]any{"PCIeFunctions": []any{link(function)}}
		})}), []bmc.PCIDevice{nic}, nil},
		"no functions": {only(bmctest.Fault{On: pciPath + "NIC", Do: bmctest.WithoutProperty("PCIeFunctions")}), nil, nil},
		"no values":    {only(bmctest.Fault{On: function, Do: changeObject("empty", empty)}), nil, nil},
		"a class of another type": {only(bmctest.Fault{On: function, Do: bmctest.Property("DeviceClass", 7)}),
			[]bmc.PCIDevice{{ProductID: "0x1015", VendorID: "0x15b3", SubsystemID: "0x0069", SubsystemVendorID: "0x15b3", Revision: "0x00"}}, nil},
		"a function elsewhere": {only(bmctest.Fault{On: pciPath + "NIC",
			Do: bmctest.Property("PCIeFunctions", link("https://other.invalid/x"))}), nil, nil},
		"one cannot be read": {[]bmctest.Fault{{On: pciPath + "HBA", Do: bmctest.Status(http.StatusInternalServerError)}},
			[]bmc.PCIDevice{nic}, verify.Protocol},
	} {
		d, _ := vendorDriver(t, test.faults...)
		got, err := d.PCIDevices(t.Context(), "node")
		if test.kind == nil {
			require.NoError(t, err, name)
		} else {
			require.ErrorIs(t, err, test.kind, name)
		}
		require.Equal(t, test.want, got, name)
	}
}

func TestEachPCIDeviceIsReadOnceIfTheSessionEndsMeanwhile(t *testing.T) {
	d, server := vendorDriver(t)
	want, err := d.PCIDevices(t.Context(), "node")
	require.NoError(t, err)
	server.AddFault(bmctest.Fault{On: pciPath + "NIC", Times: 1, Do: bmctest.Status(http.StatusUnauthorized)})
	got, err := d.PCIDevices(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, want, got)
}
