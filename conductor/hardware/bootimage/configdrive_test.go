// SPDX-License-Identifier: Apache-2.0

package bootimage_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
)

func TestAConfigurationDriveHasItsLabelAndLeavesNothingBehind(t *testing.T) {
	folder := t.TempDir()
	image, err := bootimage.ConfigDrive(map[string][]byte{"openstack/latest/user_data": []byte("#cloud-config")}, folder)
	require.NoError(t, err)
	require.Equal(t, "config-2", string(image[32768+40:32768+48]), "the volume identifier of ISO 9660")
	require.Contains(t, string(image), "#cloud-config")
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestConfigurationDrivesAreBounded(t *testing.T) {
	for _, files := range []map[string][]byte{
		{"../escape": nil}, {"/etc/passwd": nil}, {"a": make([]byte, bootimage.MaxConfigDrive), "b": {1}},
	} {
		_, err := bootimage.ConfigDrive(files, t.TempDir())
		require.ErrorContains(t, err, "build a configuration drive: ")
	}
	_, err := bootimage.ConfigDrive(map[string][]byte{"a": make([]byte, bootimage.MaxConfigDrive-1), "b": {1}}, t.TempDir())
	require.NoError(t, err)
}
