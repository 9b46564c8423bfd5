// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
)

func TestANodeThatCannotBootFromVirtualMediaIsRefused(t *testing.T) {
	config, folder, files := serveImages(t)
	plain := hardware.Config{}
	withoutAPI := config
	withoutAPI.APIURL = ""
	withDefaults := config
	withDefaults.DeployKernel, withDefaults.DeployRamdisk, withDefaults.Bootloader = files+"k", files+"r", files+"esp"
	boots := map[string]any{"deploy_kernel": files + "k", "deploy_ramdisk": files + "r", "bootloader": files + "esp"}
	and := func(key string, value any) map[string]any {
		info := map[string]any{key: value}
		for key, value := range boots {
			if _, ok := info[key]; !ok {
				info[key] = value
			}
		}
		return info
	}
	missing := "Error validating Redfish virtual media. Some parameters were missing in node's driver_info. Missing are: "
	for _, test := range []struct {
		config           hardware.Config
		deploy           string
		driver, instance map[string]any
		want             string // empty for none
	}{
		{plain, "custom-agent", map[string]any{"deploy_iso": image}, nil, ""},
		{config, "custom-agent", boots, nil, ""},
		{plain, "custom-agent", nil, nil, missing + "['deploy_kernel', 'deploy_ramdisk']"},
		{config, "custom-agent", map[string]any{"deploy_kernel": files}, nil, missing + "['deploy_kernel', 'deploy_ramdisk']"},
		{withDefaults, "custom-agent", map[string]any{"deploy_kernel": "ftp://images.example/k"}, nil, ""},
		{withDefaults, "custom-agent", map[string]any{"deploy_kernel": "ftp://images.example/k", "deploy_ramdisk": files}, nil,
			"deploy_kernel in driver_info"},
		{withDefaults, "custom-agent", map[string]any{"bootloader": "ftp://images.example/esp"}, nil, "bootloader in driver_info"},
		{withDefaults, "ramdisk", nil, map[string]any{"kernel": files, "ramdisk": files}, ""},
		{plain, "custom-agent", boots, nil,
			"deploy_kernel in driver_info, which the boot interface redfish-virtual-media of driver redfish cannot realise: " +
				"the URL at which agents reach the API is not configured"},
		{withoutAPI, "custom-agent", boots, nil, "the URL at which agents reach the API is not configured"},
		{hardware.Config{APIURL: config.APIURL}, "custom-agent", boots, nil, "no images are built and served"},
		{plain, "custom-agent", map[string]any{"deploy_iso": "file:///a.iso"}, nil,
			"it must be an http or https URL that the BMC can load, since no images are served"},
		{config, "custom-agent", map[string]any{"deploy_iso": "file:///etc/passwd"}, nil, "the file passwd is not one in the folder of images"},
		{config, "custom-agent", and("deploy_ramdisk", "8c9a4f12-8f9a-4a1f-8f1e-0a4d0f1d2c3b"), nil, "deploy_ramdisk in driver_info"},
		{config, "custom-agent", and("bootloader", nil), nil, "driver_info has no bootloader"},
		{config, "custom-agent", boots, map[string]any{"capabilities": map[string]any{"boot_mode": "bios"}},
			"the folder of images has no isolinux.bin"},
		{config, "custom-agent", and("kernel_append_params", "a=b\nc"), nil, "kernel_append_params in driver_info, which"},
		{config, "custom-agent", and("config_via_removable", "true"), nil, "Invalid config_via_removable"},
		{config, "custom-agent", and("external_http_url", "http://192.0.2.9"), nil, "Invalid external_http_url"},
		{plain, "ramdisk", nil, map[string]any{"boot_iso": image}, ""},
		{plain, "ramdisk", nil, map[string]any{"boot_iso": image, "ramdisk_image_download_source": "http"}, ""},
		{plain, "ramdisk", nil, map[string]any{"boot_iso": image, "ramdisk_image_download_source": "local"},
			"ramdisk_image_download_source in instance_info"},
		{plain, "ramdisk", nil, map[string]any{"boot_iso": image, "image_source": image},
			"An 'image_source' and 'boot_iso' parameter may not be specified at the same time."},
		{plain, "ramdisk", nil, map[string]any{"boot_iso": image, "configdrive": "H4sI"}, "it writes no configuration drive"},
		{plain, "ramdisk", nil, nil,
			"because one or more parameters are missing from its instance_info " +
				"and insufficient information is present to boot from a remote volume. Missing are: ['kernel', 'ramdisk']"},
		{config, "ramdisk", map[string]any{"bootloader": files}, map[string]any{"kernel": files, "ramdisk": files}, ""},
		{config, "ramdisk", map[string]any{"bootloader": files}, map[string]any{"kernel": files, "ramdisk": "file://" + folder + "/r"},
			"ramdisk in instance_info"},
		{config, "ramdisk", nil, map[string]any{"kernel": files, "ramdisk": files}, "driver_info has no bootloader"},
	} {
		b := newRedfish(t, test.config)
		n := with("redfish", nil)
		withMedia(states.Available, test.deploy, test.driver, test.instance)(n)
		problems := b.Validate(n)
		if test.want == "" {
			require.NoError(t, problems["deploy"])
			require.NoError(t, problems["boot"])
			continue
		}
		require.ErrorIs(t, problems["deploy"], conductor.Invalid)
		require.ErrorContains(t, problems["deploy"], test.want)
		if !strings.Contains(test.want, "configuration drive") {
			require.Equal(t, problems["deploy"], problems["boot"])
		}
	}
}

// kvm has virtual media without Redfish.
type kvm struct{ hardware.MediaManager }

func TestABootInterfaceOfOnesOwnIsRefusedByItsName(t *testing.T) {
	node := func(driverInfo map[string]any) *conductor.Node {
		return &conductor.Node{
			UUID: uuid, Driver: "kvm", DriverInfo: driverInfo, Properties: map[string]any{"vendor": "Dell Inc."},
			Firmware: []conductor.FirmwareComponent{{Component: "bmc", CurrentVersion: "5.10.50.00"}},
		}
	}
	boots := func(media func(redfish hardware.Interfaces) hardware.MediaManager) *hardware.Type {
		return newComposed(t, func(redfish hardware.Interfaces) hardware.Interfaces {
			redfish.Boot = []hardware.Boot{hardware.VirtualMedia("kvm-virtual-media", media(redfish))}
			return redfish
		})
	}
	own := boots(func(hardware.Interfaces) hardware.MediaManager { return kvm{} })
	require.EqualError(t, own.Validate(node(nil))["boot"], "Error validating kvm-virtual-media. "+
		"Some parameters were missing in node's driver_info. Missing are: ['deploy_kernel', 'deploy_ramdisk']")
	ready := map[string]any{"deploy_iso": image}
	require.NoError(t, own.Validate(node(ready))["boot"], "the limits of an iDRAC's Redfish are not its own")
	named := boots(func(redfish hardware.Interfaces) hardware.MediaManager {
		return redfish.Management[0].(hardware.MediaManager)
	})
	require.EqualError(t, named.Validate(node(ready))["boot"], "The kvm-virtual-media boot interface is not suitable for node "+uuid+
		" with vendor Dell Inc. and BMC version 5.10.50.00: an iDRAC 9 needs 6.00.00.00 or later")
}

func TestAnIDRAC9BootsVirtualMediaSinceItsVersion6(t *testing.T) {
	b := newRedfish(t, hardware.Config{})
	for _, test := range []struct {
		vendor, version, model string
		refused                bool
	}{
		{"Dell Inc.", "5.10.50.00", "", true}, {"Dell Inc.", "3.36.36.36", "", true}, {"Dell Inc.", "6.00.00.00", "", false},
		{"Dell Inc.", "7.20.10.05", "", false}, {"Dell Inc.", "1.20.25.00", "", false}, {"Dell Inc.", "", "", false},
		{"HPE", "3.11", "", false}, {"Dellmann", "5.10.50.00", "", false}, {"", "5.10.50.00", "", false},
		{"Dell Inc.", "2.86.86.86", "13G Monolithic", true}, {"Dell Inc.", "2.65.65.65", "12G Modular", true}, // iDRAC 8 and 7
		{"Dell Inc.", "7.20.10.05", "16G Monolithic", false}, {"Dell Inc.", "2.10.10.10", "17G Monolithic", false},
		{"Contoso", "2.86.86.86", "13G Monolithic", false},
	} {
		n := with("redfish", nil)
		withMedia(states.Manageable, "custom-agent", map[string]any{"deploy_iso": image}, nil)(n)
		n.Properties = map[string]any{"vendor": test.vendor}
		if test.version != "" {
			n.Firmware = []conductor.FirmwareComponent{
				{Component: "bios", CurrentVersion: "2.1"}, {Component: "bmc", CurrentVersion: test.version, Model: test.model},
			}
		}
		err := b.Validate(n)["boot"]
		require.Equal(t, test.refused, err != nil, "%+v: %v", test, err)
		if test.refused {
			require.ErrorIs(t, err, conductor.Invalid)
			require.ErrorContains(t, err, "The redfish-virtual-media boot interface is not suitable for node "+n.UUID+
				" with vendor Dell Inc. and BMC version "+test.version)
		}
	}
}
