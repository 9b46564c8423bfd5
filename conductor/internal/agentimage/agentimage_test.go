// SPDX-License-Identifier: Apache-2.0

package agentimage_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/internal/agentimage"
)

func TestAnImageThatTheAgentCannotWriteIsRefused(t *testing.T) {
	type object = map[string]any
	long := strings.Repeat("a", 63)
	host := func(length int) string { return strings.Repeat("a.", length)[:length-1] + "b" }
	for want, cases := range map[string][]struct {
		info, driver object
		partition    bool
	}{
		"Missing are: ['instance_info.image_source']": {{info: object{"image_source": nil}}},
		"is not an http, https or file URL": {
			{info: object{"image_source": "1be26c0b"}},
			{info: object{"image_source": "glance://x"}},
			{info: object{"image_source": "oci://x/y"}},
		},
		`"image_os_hash_value" must be provided in`: {
			{info: object{"image_checksum": nil}}, {info: object{"image_os_hash_algo": "sha256"}}, {info: object{"image_os_hash_value": "5f"}},
			{info: object{"image_checksum": nil, "image_download_source": "local"}},
		},
		`Invalid image_type "floppy", valid are partition, whole-disk`: {{info: object{"image_type": "floppy"}}},
		`Invalid image_type "7", valid are`:                            {{info: object{"image_type": 7}}},
		`Invalid value for image_download_source: "ftp". Valid values are swift, http or local.`: {{
			driver: object{"image_download_source": "ftp"},
		}},
		`Invalid value for image_download_source: "7"`: {{
			info:   object{"image_download_source": 7},
			driver: object{"image_download_source": "http"},
		}},
		"the following URLs are invalid: image_http_proxy, image_https_proxy.": {{driver: object{
			"image_http_proxy":  "ftp://u:hunter2@h",
			"image_https_proxy": 7,
		}}},
		"the following URLs are invalid: image_http_proxy.": {{driver: object{"image_http_proxy": "proxy.example:3128"}}},
		"the following URLs are invalid: image_https_proxy.": {{driver: object{
			"image_http_proxy":  "",
			"image_https_proxy": "ftp://h",
		}}},
		"the specified list " + host(254) + " is incorrect":  {{driver: object{"image_no_proxy": host(254)}}},
		"the specified list ." + host(252) + " is incorrect": {{driver: object{"image_no_proxy": "." + host(252)}}},
		"the specified list *.example is incorrect":          {{driver: object{"image_no_proxy": "*.example"}}},
		"the specified list 7 is incorrect":                  {{driver: object{"image_no_proxy": 7}}},
		"the specified list x," + long + "a is incorrect":    {{driver: object{"image_no_proxy": "x," + long + "a"}}},
		"the specified list -x is incorrect":                 {{driver: object{"image_no_proxy": "-x"}}},
		"Missing are: ['root_gb']":                           {{partition: true}},
		"Invalid parameter root_gb: ten is not": {{
			info:      object{"root_gb": "ten"},
			partition: true,
		}},
		"Invalid parameter swap_mb: -1 is not": {{
			info:      object{"root_gb": 1, "swap_mb": -1},
			partition: true,
		}},
		"Invalid parameter ephemeral_gb: map[] is": {{
			info:      object{"root_gb": 1, "ephemeral_gb": object{}},
			partition: true,
		}},
		"Invalid parameter preserve_ephemeral: maybe": {{
			info:      object{"root_gb": 1, "preserve_ephemeral": "maybe"},
			partition: true,
		}},
		"": {
			{info: object{"image_download_source": ""}, driver: object{"image_download_source": "http"}},
			{info: object{"image_source": "file:///x", "image_checksum": nil}},
			{driver: object{
				"image_http_proxy":  "https://u:p@h:1",
				"image_https_proxy": "//h",
				"image_no_proxy":    ".example, 192.0.2.1:80,, h," + long + ".b",
			}},
			{driver: object{"image_http_proxy": "", "image_no_proxy": ""}}, {driver: object{"image_no_proxy": host(253) + ",." + host(251)}},
		},
	} {
		for _, c := range cases {
			n := agentimage.Node{
				InstanceInfo: object{"image_source": "https://images.example/x", "image_checksum": "d41d"}, DriverInfo: c.driver,
			}
			maps.Copy(n.InstanceInfo, c.info)
			wholeDisk := !c.partition
			n.WholeDisk = &wholeDisk
			_, err := agentimage.Check(n, "")
			if want == "" {
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "hunter2")
		}
	}
}

func TestWhoDownloadsAnImage(t *testing.T) {
	for _, c := range []struct {
		source                       string
		instance, driver, configured string
		local                        bool
	}{
		{source: "http://h/x"},
		{source: "https://h/x", configured: "http"},
		{source: "http://h/x", configured: "local", local: true},
		{source: "http://h/x", configured: "swift"},
		{source: "http://h/x", driver: "http", configured: "local"}, {source: "http://h/x", driver: "local", configured: "http", local: true},
		{source: "http://h/x", instance: "http", driver: "local", configured: "local"},
		{source: "http://h/x", instance: "local", driver: "http", local: true},
		{source: "file:///x", local: true}, {source: "file:///x", instance: "http", local: true},
	} {
		local, err := agentimage.Check(agentimage.Node{
			InstanceInfo: map[string]any{"image_source": c.source, "image_checksum": "d41d", "image_download_source": c.instance},
			DriverInfo:   map[string]any{"image_download_source": c.driver},
		}, c.configured)
		require.NoError(t, err)
		require.Equal(t, c.local, local)
	}
}

func TestTheTypeOfAnImage(t *testing.T) {
	type object = map[string]any
	for want, infos := range map[string][]object{
		"": {
			nil, {"image_source": "1be26c0b"}, {"image_source": "glance://x", "image_type": "partition"},
			{"image_source": "http://h/", "image_type": "partition"}, {"image_source": 7},
		},
		"whole-disk": {{"image_source": "http://h/x"}, {"image_source": "file:///x", "image_type": "whole-disk", "kernel": "k"}},
		"partition": {
			{"image_source": "http://h/x", "image_type": "partition"}, {"image_source": "http://h/x", "kernel": "k"},
			{"image_source": "http://h/x", "ramdisk": "r", "image_type": ""},
		},
	} {
		for _, info := range infos {
			require.Equal(t, want, agentimage.Type(info), info)
		}
	}
}

func TestWhatAnAgentIsToldOfAnImage(t *testing.T) {
	type object = map[string]any
	always := object{
		"id": "x.raw", "urls": []any{"http://conductor/x"}, "disk_format": nil, "container_format": nil, "stream_raw_images": true,
		"node_uuid": "1be26c0b", "checksum": "d41d",
	}
	ofPartition := object{
		"image_type": nil, "kernel": nil, "ramdisk": nil, "root_gb": 1, "root_mb": int64(1024), "swap_mb": int64(0), "ephemeral_mb": int64(0),
		"ephemeral_format": nil, "preserve_ephemeral": false, "deploy_boot_mode": "", "boot_option": "local",
	}
	with := func(parts ...object) object {
		all := maps.Clone(always)
		for _, part := range parts {
			maps.Copy(all, part)
		}
		return all
	}
	yes, no := true, false
	for name, c := range map[string]struct {
		node agentimage.Node
		want object
	}{
		"a whole-disk image": {agentimage.Node{WholeDisk: &yes, BootMode: "uefi", DiskLabel: "gpt"}, always},
		"with a format and a checksum by an algorithm": {
			agentimage.Node{WholeDisk: &yes, InstanceInfo: object{
				"image_disk_format": "qcow2", "image_container_format": "bare", "image_os_hash_algo": "sha512", "image_os_hash_value": "5f",
			}},
			with(object{"disk_format": "qcow2", "container_format": "bare", "os_hash_algo": "sha512", "os_hash_value": "5f"}),
		},
		"without a list of hosts": {
			agentimage.Node{WholeDisk: &yes, DriverInfo: object{"image_http_proxy": "http://p", "image_https_proxy": ""}},
			with(object{"proxies": object{"http": "http://p"}}),
		},
		"with a list of hosts": {
			agentimage.Node{WholeDisk: &yes, DriverInfo: object{"image_https_proxy": "https://p", "image_no_proxy": "h"}},
			with(object{"proxies": object{"https": "https://p"}, "no_proxy": "h"}),
		},
		"a list of hosts without a proxy": {agentimage.Node{WholeDisk: &yes, DriverInfo: object{"image_no_proxy": "h"}}, always},
		"a partition image":               {agentimage.Node{WholeDisk: &no}, with(ofPartition)},
		"of unknown type":                 {agentimage.Node{BootMode: "bios"}, with(ofPartition, object{"deploy_boot_mode": "bios"})},
		"that boots by UEFI": {
			agentimage.Node{BootMode: "uefi"}, with(ofPartition, object{"deploy_boot_mode": "uefi", "disk_label": "gpt"}),
		},
		"with a disk label": {
			agentimage.Node{DiskLabel: "msdos", BootMode: "bios"},
			with(ofPartition, object{"deploy_boot_mode": "bios", "disk_label": "msdos"}),
		},
		"with other partitions": {
			agentimage.Node{InstanceInfo: object{
				"image_type": "partition", "kernel": "k", "ramdisk": "r", "swap_mb": "512", "ephemeral_gb": 2.0, "preserve_ephemeral": "True",
			}},
			with(ofPartition, object{
				"image_type": "partition", "kernel": "k", "ramdisk": "r", "swap_mb": int64(512), "ephemeral_mb": int64(2048),
				"ephemeral_format": "ext4", "preserve_ephemeral": true,
			}),
		},
		"with a file system": {
			agentimage.Node{InstanceInfo: object{"ephemeral_gb": 1, "ephemeral_format": "xfs"}},
			with(ofPartition, object{"ephemeral_mb": int64(1024), "ephemeral_format": "xfs"}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := c.node
			n.UUID = "1be26c0b"
			n.InstanceInfo = object{"image_source": "http://h/x.raw", "image_url": "http://conductor/x", "image_checksum": "d41d", "root_gb": 1}
			maps.Copy(n.InstanceInfo, c.node.InstanceInfo)
			got, err := agentimage.Info(n)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := agentimage.Info(agentimage.Node{})
	require.ErrorContains(t, err, "Missing are: ['root_gb']")
	_, err = agentimage.Info(agentimage.Node{WholeDisk: &yes})
	require.NoError(t, err, "a whole-disk image has no partitions")
}
