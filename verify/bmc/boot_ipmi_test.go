// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bmc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// ipmitoolSays replaces ipmitool by a program that answers raw requests. The returned
// function returns the raw requests that the program has received.
func ipmitoolSays(t *testing.T, answer string) (requests func() string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "requests")
	wrapper(t, `case "$*" in
*"chassis power status") echo Chassis Power is on ;;
*) echo "$*" | sed 's/.*-E //' >>`+file+`; echo "`+answer+`" ;;
esac`)
	return func() string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(text)
	}
}

func TestTheBootFlagsOfIPMIAreIronics(t *testing.T) {
	tests := []struct {
		name       string
		set        func(*bmc.Config)
		device     string
		persistent bool
		want       string
	}{
		{"UEFI once", nil, "pxe", false, "raw 0x00 0x08 0x03 0x08\nraw 0x00 0x08 0x05 0xa0 0x04 0x00 0x00 0x00\n"},
		{"UEFI persistent", nil, "disk", true, "raw 0x00 0x08 0x03 0x08\nraw 0x00 0x08 0x05 0xe0 0x08 0x00 0x00 0x00\n"},
		{"BIOS once", func(c *bmc.Config) { c.BootMode = "bios" }, "bios", false,
			"raw 0x00 0x08 0x03 0x08\nraw 0x00 0x08 0x05 0x80 0x18 0x00 0x00 0x00\n"},
		{"BIOS persistent", func(c *bmc.Config) { c.BootMode = "bios" }, "safe", true,
			"raw 0x00 0x08 0x03 0x08\nraw 0x00 0x08 0x05 0xc0 0x0c 0x00 0x00 0x00\n"},
		{"UEFI of Supermicro", func(c *bmc.Config) { c.Vendor = "supermicro" }, "disk", true,
			"raw 0x00 0x08 0x03 0x08\nraw 0x00 0x08 0x05 0xe0 0x24 0x00 0x00 0x00\n"},
		{"UEFI of Super Micro", func(c *bmc.Config) { c.BootMode, c.Vendor = "uefi", "Super Micro Computer Inc." }, "disk", false,
			"raw 0x00 0x08 0x03 0x08\nraw 0x00 0x08 0x05 0xa0 0x24 0x00 0x00 0x00\n"},
		{"another device of Supermicro", func(c *bmc.Config) { c.Vendor = "supermicro" }, "pxe", false,
			"raw 0x00 0x08 0x03 0x08\nraw 0x00 0x08 0x05 0xa0 0x04 0x00 0x00 0x00\n"},
		{"BIOS of Supermicro", func(c *bmc.Config) { c.BootMode, c.Vendor = "bios", "supermicro" }, "disk", true,
			"raw 0x00 0x08 0x03 0x08\nraw 0x00 0x08 0x05 0xc0 0x08 0x00 0x00 0x00\n"},
		{"with the BMC's timeout", func(c *bmc.Config) { c.KeepBootTimeout = true }, "cdrom", false,
			"raw 0x00 0x08 0x05 0xa0 0x14 0x00 0x00 0x00\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config := answering(t)
			if test.set != nil {
				test.set(&config)
			}
			said := ipmitoolSays(t, "")
			d := newDriver(t, 0, map[string]bmc.Config{"node": config})
			require.NoError(t, d.SetBootDevice(t.Context(), "node", test.device, test.persistent))
			require.Equal(t, test.want, said())
		})
	}
}

func TestIPMIHasNoBootByHTTP(t *testing.T) {
	config := answering(t)
	ipmitoolSays(t, "")
	d := newDriver(t, 0, map[string]bmc.Config{"node": config})
	err := d.SetBootDevice(t.Context(), "node", "uefihttp", false)
	require.ErrorIs(t, err, verify.Unsupported)
	require.ErrorContains(t, err, `IPMI has no boot device "uefihttp"`)
}

func TestTheBootFlagsOfIPMIAreRead(t *testing.T) {
	tests := []struct {
		answer     string
		vendor     string
		device     string
		persistent bool
		bad        bool
	}{
		{answer: " 01 05 e0 04 00 00 00", device: "pxe", persistent: true},
		{answer: " 01 05 00 08 00 00 00", device: "disk"},
		{answer: " 01 05 a0 24 00 00 00"},
		{answer: " 01 05 e0 24 00 00 00", vendor: "Supermicro", device: "disk", persistent: true},
		{answer: " 01 05 e0 08 00 00 00", vendor: "Supermicro", device: "disk", persistent: true},
		{answer: " 01 05 a0 14 00 00 00", device: "cdrom"},
		{answer: " 01 05 a0 4c 00 00 00", device: "safe"},
		{answer: " 01 05 a0 1b 00 00 00", device: "bios"},
		{answer: " 01 05 e0 00 00 00 00"},
		{answer: " 01 05 e0 3c 00 00 00"},
		{answer: " 01 05 e0 04", device: "pxe", persistent: true},
		{answer: " 01 05 e0 04 0", bad: true},
		{answer: "", bad: true},
		{answer: " 01 05 e0", bad: true},
		{answer: " 01 05 e0 0", bad: true},
		{answer: "correct+horse/1", bad: true},
	}
	for _, test := range tests {
		t.Run(test.answer, func(t *testing.T) {
			config := answering(t)
			config.Vendor = test.vendor
			ipmitoolSays(t, test.answer)
			d := newDriver(t, 0, map[string]bmc.Config{"node": config})
			device, persistent, err := d.BootDevice(t.Context(), "node")
			if test.bad {
				require.ErrorIs(t, err, verify.Protocol)
				requireNoSecret(t, config, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.device, device)
			require.Equal(t, test.persistent, persistent)
		})
	}
}

func TestTheManufacturerOfAnIPMIBMCIsTheVendor(t *testing.T) {
	for answer, want := range map[string]string{
		"Device ID : 32\nManufacturer Name         : Super Micro Computer Inc.\nProduct ID : 1": "super micro computer inc.",
		"Manufacturer Name         : Unknown (0x168B)":                                          "unknown (0x168b)",
		"Device ID : 32": "",
	} {
		config := answering(t)
		said := ipmitoolSays(t, answer)
		d := newDriver(t, 0, map[string]bmc.Config{"node": config})
		firmware, machine, err := d.Vendor(t.Context(), "node")
		require.NoError(t, err)
		require.Empty(t, firmware)
		require.Equal(t, want, machine)
		require.Equal(t, "mc info\n", said())
	}
}
