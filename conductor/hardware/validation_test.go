// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
)

func TestValidationIsByInterface(t *testing.T) {
	for driver, b := range types(t) {
		unsupported := []string{"console", "raid", "rescue"}
		if driver == "ipmi" {
			unsupported = append(unsupported, "bios", "firmware", "inspect")
		}
		for _, info := range []map[string]any{good[driver], nil} {
			got := b.Validate(&conductor.Node{UUID: uuid, Driver: driver, DriverInfo: info, Interfaces: map[string]string{"deploy": "ramdisk"}})
			for kind, err := range got {
				switch {
				case slices.Contains(unsupported, kind):
					require.ErrorIs(t, err, conductor.Unsupported)
					require.EqualError(t, err, "Driver "+driver+" does not support "+kind+" (disabled or not implemented).")
				case info == nil && slices.Contains([]string{"power", "management", "inspect", "bios", "firmware"}, kind):
					require.ErrorIs(t, err, conductor.Invalid)
				default:
					require.NoError(t, err, kind)
				}
			}
			require.Len(t, got, 12)
		}
		noop := b.Validate(&conductor.Node{UUID: uuid, Driver: driver, Interfaces: map[string]string{"management": "noop"}})
		require.NoError(t, noop["management"])
		require.Error(t, noop["power"])
	}
}

func TestAnInspectionByAnAgentNeedsItsRamdisk(t *testing.T) {
	b := newRedfish(t, hardware.Config{})
	for _, boot := range []string{"redfish-virtual-media", "ipxe"} {
		n := with("redfish", nil)
		n.Interfaces = map[string]string{"boot": boot, "inspect": "agent", "deploy": "ramdisk"}
		if err := b.Validate(n)["inspect"]; boot == "ipxe" {
			require.NoError(t, err, "the network decides what the machine boots")
		} else {
			require.ErrorContains(t, err, "['deploy_kernel', 'deploy_ramdisk']")
		}
		n.Interfaces["inspect"] = "redfish"
		require.NoError(t, b.Validate(n)["inspect"])
		n.Interfaces["inspect"], n.DriverInfo["redfish_address"] = "agent", nil
		problems := b.Validate(n)
		require.ErrorContains(t, problems["inspect"], "redfish_address")
		require.Equal(t, problems["power"], problems["inspect"])
	}
}

func TestWhatAManagementInterfaceLacksIsRefused(t *testing.T) {
	all := types(t)
	for _, c := range []struct{ driver, management string }{{"redfish", "noop"}, {"ipmi", "noop"}, {"ipmi", "ipmitool"}} {
		n, b := with(c.driver, nil), all[c.driver]
		n.Interfaces = map[string]string{"management": c.management}
		errs := map[string]error{
			"set_boot_mode":         b.SetBootMode(t.Context(), n, "uefi"),
			"set_secure_boot_state": b.SetSecureBoot(t.Context(), n, true),
		}
		if c.management == "noop" {
			errs["inject_nmi"] = b.InjectNMI(t.Context(), n)
		}
		for function, err := range errs {
			require.ErrorIs(t, err, conductor.Unsupported)
			require.EqualError(t, err, "Driver "+c.driver+" does not support "+function+" (disabled or not implemented).")
		}
	}
}

func TestAnInstanceThatTheDeployInterfaceCannotRealiseIsRefused(t *testing.T) {
	const url = "http://images.example/1"
	disk, network := "it boots the instance from its disk", "the network decides what the machine boots"
	for _, test := range []struct {
		instance        map[string]any
		ramdisk, custom string // parts of the errors; empty for none
	}{
		{nil, "", ""},
		{map[string]any{"root_gb": 10, "capabilities": map[string]any{"boot_option": "local", "secure_boot": "false"}}, "", ""},
		{map[string]any{"boot_iso": "", "image_source": nil}, "", ""},
		{map[string]any{"boot_iso": url}, network, disk},
		{map[string]any{"boot_iso": url, "image_source": url}, "boot_iso in instance_info", "boot_iso in instance_info"},
		{map[string]any{"image_source": url}, "it writes no image", ""},
		{map[string]any{"kernel": url, "ramdisk": url}, network, ""},
		{map[string]any{"ramdisk": url}, network, ""},
		{map[string]any{"kernel_append_params": "quiet"}, "are ramdisk_kernel_arguments", ""},
		{map[string]any{"ramdisk_kernel_arguments": "quiet"}, network, ""},
		{map[string]any{"configdrive": map[string]any{"user_data": "x"}}, "it writes no configuration drive", ""},
		{map[string]any{"capabilities": `{"boot_mode": "uefi"}`}, "", ""},
		{map[string]any{"capabilities": `{"boot_mode": "fast"}`}, "it must be bios or uefi", "it must be bios or uefi"},
	} {
		for driver, b := range types(t) {
			for deploy, want := range map[string]string{"ramdisk": test.ramdisk, "custom-agent": test.custom} {
				n := with(driver, nil)
				n.InstanceInfo, n.Interfaces = test.instance, map[string]string{"deploy": deploy}
				err := b.Validate(n)["deploy"]
				if want == "" {
					require.NoError(t, err, "%v", test.instance)
					continue
				}
				require.ErrorIs(t, err, conductor.Invalid, "%v", test.instance)
				require.ErrorContains(t, err, want)
				require.NotContains(t, err.Error(), url)
			}
		}
	}
}

func TestSecureBootNeedsTheManagementInterfaceRedfish(t *testing.T) {
	for driver, b := range types(t) {
		for _, capabilities := range []any{`{"secure_boot": "true"}`, map[string]any{"secure_boot": true}} {
			n := with(driver, nil)
			n.InstanceInfo, n.Interfaces = map[string]any{"capabilities": capabilities}, map[string]string{"deploy": "ramdisk"}
			if err := b.Validate(n)["deploy"]; driver == "redfish" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "does not change secure boot")
			}
			n.Interfaces["management"] = "noop"
			require.ErrorContains(t, b.Validate(n)["deploy"], "the management interface noop of driver "+driver+" does not change secure boot")
		}
	}
}
