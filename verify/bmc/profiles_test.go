// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// family is a machine whose BMC has the profile of a family, and a driver for it.
type family struct {
	*testing.T
	bmctest.Profile
	server *bmctest.Redfish
	driver *bmc.Driver
	boots  []string // the source and the image of each boot
}

// eachFamily runs a test on the machine of each family, which is on.
func eachFamily(t *testing.T, run func(f *family), set ...func(*bmctest.RedfishConfig)) {
	for _, p := range bmctest.Profiles() {
		t.Run(p.Name, func(t *testing.T) { run(startFamily(t, p, set...)) })
	}
}

func startFamily(t *testing.T, p bmctest.Profile, set ...func(*bmctest.RedfishConfig)) *family {
	t.Helper()
	f := &family{T: t, Profile: p}
	f.server = startRedfish(t, append([]func(*bmctest.RedfishConfig){func(c *bmctest.RedfishConfig) {
		c.Profile = p
		c.Systems = []bmctest.System{{Power: "On", OnPower: func(on bool, source, image string) {
			if on {
				f.boots = append(f.boots, source+" "+image)
			}
		}}}
	}}, set...)...)
	f.driver = newDriver(t, 1, map[string]bmc.Config{"node": configOf(f.server)})
	return f
}

func (f *family) power(power states.Power) {
	f.Helper()
	require.NoError(f, f.driver.SetPower(f.Context(), "node", power))
}

// keeps reports whether the BMCs of the family keep a boot device.
func (f *family) keeps() bool {
	return f.BootEnabled == nil || slices.Contains(f.BootEnabled, "Continuous")
}

func TestEachFamilyIsVerifiedAndSwitched(t *testing.T) {
	eachFamily(t, func(f *family) {
		power, err := newVerifier(t, configOf(f.server)).Verify(f.Context())
		require.NoError(f, err)
		require.Equal(f, states.PowerOn, power)
		for _, test := range []struct {
			power states.Power
			want  string
		}{
			{states.PowerOff, "Off"}, {states.PowerRebooting, "On"}, {states.PowerSoftOff, "Off"}, {states.PowerOn, "On"},
			{states.PowerRebooting, "On"},
		} {
			f.power(test.power)
			require.Equal(f, test.want, f.server.Power(f.SystemID), test.power)
		}
		err = f.driver.InjectNMI(f.Context(), "node")
		has := f.ResetTypes == nil || slices.Contains(f.ResetTypes, "Nmi")
		require.Equal(f, has, err == nil, "%v", err)
	})
}

func TestEachFamilyBootsFromEachDevice(t *testing.T) {
	eachFamily(t, func(f *family) {
		for device, target := range map[string]string{"pxe": "Pxe", "disk": "Hdd", "cdrom": cmp.Or(f.CDTarget, "Cd"), "bios": "BiosSetup"} {
			require.NoError(f, f.driver.SetBootDevice(f.Context(), "node", device, false))
			require.Equal(f, target+" Once UEFI", f.server.Boot(f.SystemID))
			now, persistent, err := f.driver.BootDevice(f.Context(), "node")
			require.NoError(f, err)
			require.Equal(f, device, now)
			require.False(f, persistent)

			kept, err := f.driver.KeepBootDevice(f.Context(), "node", device)
			require.NoError(f, err)
			require.Equal(f, f.keeps(), kept)
			now, persistent, err = f.driver.BootDevice(f.Context(), "node")
			require.NoError(f, err)
			require.Equal(f, device, now)
			require.Equal(f, f.keeps(), persistent)
		}
	})
}

func TestEachFamilyBootsFromAnInsertedCD(t *testing.T) {
	const other = "http://images.example/other.iso"
	eachFamily(t, func(f *family) {
		for _, url := range []string{other, image} { // the second one in place of the first
			require.NoError(f, f.driver.InsertMedia(f.Context(), "node", "cdrom", url))
			require.Equal(f, url, f.server.Media(""))
			slots, err := f.driver.VirtualMedia(f.Context(), "node")
			require.NoError(f, err)
			require.True(f, slices.ContainsFunc(slots, func(s bmc.VirtualMedia) bool { return s.Has(url) }))
		}
		require.NoError(f, f.driver.SetBootDevice(f.Context(), "node", "cdrom", false))
		f.power(states.PowerRebooting)
		f.power(states.PowerRebooting)
		require.Equal(f, []string{"Cd " + image, "None "}, f.boots)
		require.NoError(f, f.driver.EjectMedia(f.Context(), "node", "cdrom"))
		require.NoError(f, f.driver.EjectMedia(f.Context(), "node"), "nothing is inserted")
		require.Empty(f, f.server.Media(""))
		slots, err := f.driver.VirtualMedia(f.Context(), "node")
		require.NoError(f, err)
		require.False(f, slices.ContainsFunc(slots, func(s bmc.VirtualMedia) bool { return s.Inserted }))
	})
}

func TestEachFamilyIsInspected(t *testing.T) {
	eachFamily(t, func(f *family) {
		found, err := f.driver.Inspect(f.Context(), "node")
		require.NoError(f, err)
		require.Equal(f, 65536, found.Memory.PhysicalMB)
		require.Equal(f, 32, found.CPU.Count)
		require.Equal(f, "x86_64", found.CPU.Architecture)
		require.Len(f, found.Disks, 2)
		require.Len(f, found.Interfaces, 2)
		require.Equal(f, f.Manufacturer, found.SystemVendor.Manufacturer)
		versions, err := f.driver.Firmware(f.Context(), "node")
		require.NoError(f, err)
		want := cmp.Or(f.BMCVersion, "2.14.0")
		require.Equal(f, []bmc.FirmwareComponent{{Component: "bios", Version: "1.8.2"},
			{Component: "bmc", Version: want, Model: "bmctest"}}, versions)
		health, err := f.driver.Health(f.Context(), "node")
		require.NoError(f, err)
		require.Equal(f, "OK", health)
	})
}

func TestEachFamilyIsInspectedFromItsSummaries(t *testing.T) {
	for _, p := range bmctest.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			p.Missing = []string{"Memory", "Processors"}
			f := startFamily(t, p)
			found, err := f.driver.Inspect(t.Context(), "node")
			require.NoError(t, err)
			require.Equal(t, 65536, found.Memory.PhysicalMB)
			threads := 32
			if slices.Contains(p.Without, "LogicalProcessorCount") { // the summary has the number of processors alone
				threads = 2
			}
			require.Equal(t, bmc.CPU{Count: threads, ModelName: "bmctest 8-core"}, found.CPU)
		})
	}
}

func TestEachFamilyTakesBIOSSettings(t *testing.T) {
	eachFamily(t, func(f *family) {
		settings, err := f.driver.BIOS(f.Context(), "node")
		require.NoError(f, err)
		passwords := 0
		for _, s := range settings {
			require.NotEmpty(f, s.AttributeType, "%s is not in the registry", s.Name)
			switch s.Name {
			case "PowerProfile":
				require.Equal(f, []string{"Performance", "Balanced", "PowerSaving"}, s.AllowableValues)
			case f.BIOSPassword:
				require.Nil(f, s.Value)
				passwords++
			}
		}
		require.Equal(f, f.BIOSPassword != "", passwords == 1)
		require.Len(f, settings, 6+passwords)
		wanted := map[string]any{"PowerProfile": "Performance", "BootTimeout": "30"}
		for _, sent := range []bool{true, false} {
			got, err := f.driver.SetBIOS(f.Context(), "node", wanted)
			require.NoError(f, err)
			require.Equal(f, sent, got)
			f.power(states.PowerRebooting)
			require.Equal(f, "Performance", f.server.BIOS(f.SystemID)["PowerProfile"])
			require.Equal(f, 30, f.server.BIOS(f.SystemID)["BootTimeout"])
		}
		_, err = f.driver.SetBIOS(f.Context(), "node", map[string]any{"PowerProfile": "Enabledx"})
		require.ErrorIs(f, err, verify.Misconfigured)
		require.NoError(f, f.driver.ResetBIOS(f.Context(), "node"))
		f.power(states.PowerRebooting)
		require.Equal(f, "Balanced", f.server.BIOS(f.SystemID)["PowerProfile"])
	})
}

func TestEachFamilyHasABootModeAndSecureBoot(t *testing.T) {
	eachFamily(t, func(f *family) {
		require.NoError(f, f.driver.SetSecureBoot(f.Context(), "node", true))
		f.power(states.PowerRebooting)
		require.True(f, f.server.SecureBoot(f.SystemID))
		enabled, err := f.driver.SecureBoot(f.Context(), "node")
		require.NoError(f, err)
		require.True(f, enabled)

		err = f.driver.SetBootMode(f.Context(), "node", "bios")
		mode, unread := f.driver.BootMode(f.Context(), "node")
		require.NoError(f, unread)
		if slices.Contains(f.Without, "BootSourceOverrideMode") {
			require.ErrorIs(f, err, verify.Unsupported)
			require.Empty(f, mode)
			return
		}
		require.NoError(f, err)
		require.Equal(f, "bios", mode)
		require.Equal(f, "None Disabled Legacy", f.server.Boot(f.SystemID))
	})
}

// A request that a busy BMC refuses is repeated.
func TestEachFamilyIsBusyForAWhile(t *testing.T) {
	for _, p := range bmctest.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			f := startFamily(t, p, func(c *bmctest.RedfishConfig) { c.Faults = p.Quirks })
			f.power(states.PowerOff)
			require.NoError(f, f.driver.InsertMedia(t.Context(), "node", "cdrom", image))
			require.NoError(f, f.driver.SetBootDevice(t.Context(), "node", "cdrom", false))
			f.power(states.PowerOn)
			require.Equal(f, []string{"Cd " + image}, f.boots)
		})
	}
}

// The boot mode is changed where the BMC has it, and with all of the boot override where the vendor wants that.
func TestABootModeIsSetAsTheVendorWantsIt(t *testing.T) {
	settings := bmctest.Profile{Name: "settings", Settings: "SD", BootInSettings: true}
	whole := bmctest.Profile{Name: "whole", Manufacturer: "AMI", Refusals: []bmctest.Effect{bmctest.WholeBoot()}}
	both := settings
	both.Name, both.Manufacturer, both.Refusals = "both", whole.Manufacturer, whole.Refusals
	for _, p := range []bmctest.Profile{{Name: "none"}, {Name: "pending", Settings: "Pending"}, settings, whole, both} {
		t.Run(p.Name, func(t *testing.T) {
			p.SystemID = "1"
			f := startFamily(t, p)
			require.NoError(t, f.driver.SetBootMode(t.Context(), "node", "bios"))
			require.Equal(t, "None Disabled Legacy", f.server.Boot("1"))
			require.NoError(t, f.driver.SetBootDevice(t.Context(), "node", "pxe", false))
			require.NoError(t, f.driver.SetBootMode(t.Context(), "node", "uefi"))
			require.Equal(t, "Pxe Once UEFI", f.server.Boot("1"))
			require.NoError(t, f.driver.SetBootMode(t.Context(), "node", "uefi"))
			require.Equal(t, 3, patches(f.server), "nothing is sent for the mode that it has")

			if p.Settings != "" {
				f.server.AddFault(bmctest.Fault{On: systemPath + "/" + p.Settings, Do: bmctest.CloseAfter(0)})
				require.ErrorIs(t, f.driver.SetBootMode(t.Context(), "node", "bios"), verify.Protocol)
				require.Equal(t, 3, patches(f.server))
			}
		})
	}
}
