// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
)

func TestFakeHardwareBuildsConfigurationDrives(t *testing.T) {
	var fake conductor.Hardware = fakeHardware{Fake: &conductor.Fake{}}
	builder, ok := fake.(conductor.ConfigDriveBuilder)
	require.True(t, ok, "a real agent receives the drive that a client describes by an object")
	image, err := builder.BuildConfigDrive(t.Context(), map[string][]byte{"openstack/latest/user_data": []byte("#cloud-config")})
	require.NoError(t, err)
	require.Contains(t, string(image), "#cloud-config")
	require.Equal(t, "CD001", string(image[16*2048+1:16*2048+6]), "the volume descriptor of ISO 9660")
}
