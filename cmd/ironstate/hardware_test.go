// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log/slog"
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

// closedType is a hardware type that counts how often it is closed.
type closedType struct {
	conductor.Hardware
	times int
}

func (c *closedType) Close(context.Context) error { c.times++; return nil }

func TestEveryHardwareTypeIsClosed(t *testing.T) {
	o, err := parse([]string{"-bmclib"}, io.Discard)
	require.NoError(t, err)
	types, closeAll, err := newHardware(o, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	replaced := map[string]*closedType{}
	for name, each := range types {
		if _, closes := each.(interface{ Close(context.Context) error }); closes {
			replaced[name] = &closedType{Hardware: each}
			types[name] = replaced[name]
		}
	}
	require.Len(t, replaced, 3, "redfish, ipmi and bmclib")
	closeAll()
	for name, each := range replaced {
		require.Equal(t, 1, each.times, name)
	}
}
