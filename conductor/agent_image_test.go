// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"maps"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

func TestTheAgentIsSentTheImageOfTheInstance(t *testing.T) {
	const source = "http://images.example/x.raw"
	for name, c := range map[string]struct {
		info map[string]any
		want map[string]any // of image_info, beside what all have
	}{
		"qcow2": {
			map[string]any{"image_disk_format": "qcow2", "image_os_hash_algo": "sha512", "image_os_hash_value": "5f"},
			map[string]any{"disk_format": "qcow2", "os_hash_algo": "sha512", "os_hash_value": "5f"},
		},
		"a checksum by its URL, a configuration drive by its URL": {
			map[string]any{"image_checksum": "http://images.example/SHA256SUMS", "configdrive": "http://images.example/drive"},
			map[string]any{"disk_format": nil, "checksum": "http://images.example/SHA256SUMS", "configdrive": "http://images.example/drive"},
		},
		"a partition image": {
			map[string]any{"image_checksum": "d41d", "image_type": "partition", "root_gb": 10},
			map[string]any{
				"disk_format": nil, "checksum": "d41d", "image_type": "partition", "kernel": nil, "ramdisk": nil, "root_gb": 10.0, "root_mb": 10240.0, "swap_mb": 0.0,
				"ephemeral_mb": 0.0, "ephemeral_format": nil, "preserve_ephemeral": false, "deploy_boot_mode": "uefi", "boot_option": "local",
			},
		},
		"a partition image with a kernel, swap and an ephemeral partition": {
			map[string]any{
				"image_checksum": "d41d", "kernel": "http://images.example/k", "ramdisk": "http://images.example/r", "root_gb": "10", "swap_mb": 512, "ephemeral_gb": "2",
				"preserve_ephemeral": "True", "capabilities": `{"boot_mode": "bios"}`,
			},
			map[string]any{
				"disk_format": nil, "checksum": "d41d", "image_type": "partition", "kernel": "http://images.example/k", "ramdisk": "http://images.example/r", "root_gb": "10",
				"root_mb": 10240.0, "swap_mb": 512.0, "ephemeral_mb": 2048.0, "ephemeral_format": "ext4", "preserve_ephemeral": true, "deploy_boot_mode": "bios", "boot_option": "local",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := startMachine(t, states.Available, nil)
				_, err := m.UpdateNode(m.ctx, m.n.UUID, func(n *conductor.Node) error {
					n.InstanceInfo = map[string]any{"image_source": source}
					maps.Copy(n.InstanceInfo, c.info)
					return nil
				})
				require.NoError(t, err)
				m.request(m.n, "active")
				m.requireState(m.settle(m.n), states.DeployWait, "")
				m.requireState(m.boot(), states.DeployWait, "")
				args := m.agent.params[1]["step"].(map[string]any)["args"].(map[string]any)
				want := map[string]any{"id": "x.raw", "urls": []any{source}, "container_format": nil, "stream_raw_images": true, "node_uuid": m.n.UUID}
				maps.Copy(want, c.want)
				require.Equal(t, want, args["image_info"])
				require.Equal(t, c.info["configdrive"], args["configdrive"])
			})
		})
	}
}

func TestAnImageThatTheAgentCannotWriteIsRefused(t *testing.T) {
	partition := map[string]any{"is_whole_disk_image": false}
	for want, c := range map[string]struct{ info, driver, internal map[string]any }{
		"Missing are: ['instance_info.image_source']": {info: map[string]any{"image_source": nil}},
		"is not an http or https URL":                 {info: map[string]any{"image_source": "file:///x.raw"}},
		`"image_os_hash_value" must be provided`:      {info: map[string]any{"image_checksum": nil}},
		`has the image_download_source "local"`:       {info: map[string]any{"image_download_source": "local"}},
		`has the image_download_source "swift"`:       {driver: map[string]any{"image_download_source": "swift"}},
		`has the image_download_source "7"`:           {info: map[string]any{"image_download_source": 7}, driver: map[string]any{"image_download_source": "http"}},
		"Missing are: ['root_gb']":                    {internal: partition},
		"Invalid parameter root_gb: ten is not":       {info: map[string]any{"root_gb": "ten"}, internal: partition},
		"Invalid parameter swap_mb: -1 is not":        {info: map[string]any{"root_gb": 1, "swap_mb": -1}, internal: partition},
		"Invalid parameter ephemeral_gb: map[] is":    {info: map[string]any{"root_gb": 1, "ephemeral_gb": map[string]any{}}, internal: partition},
		"Invalid parameter preserve_ephemeral: maybe": {info: map[string]any{"root_gb": 1, "preserve_ephemeral": "maybe"}, internal: partition},
		"": {info: map[string]any{"image_download_source": ""}, driver: map[string]any{"image_download_source": "http"}},
	} {
		n := &conductor.Node{InstanceInfo: map[string]any{"image_source": "https://images.example/x", "image_checksum": "d41d"}, DriverInfo: c.driver, DriverInternalInfo: c.internal}
		maps.Copy(n.InstanceInfo, c.info)
		err := conductor.ValidateImage(n)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, conductor.Invalid)
		require.ErrorContains(t, err, want)
	}
}
