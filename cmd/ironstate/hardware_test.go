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

// closedType counts how often it is closed.
type closedType int

func (c *closedType) Close(context.Context) error { *c++; return nil }

func TestEveryHardwareTypeIsClosed(t *testing.T) {
	o, err := parse([]string{"-bmclib"}, io.Discard)
	require.NoError(t, err)
	types, closers, err := newHardware(o, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer closeAll(closers)
	var closing []closer
	for _, each := range types {
		if c, closes := each.(closer); closes {
			closing = append(closing, c)
		}
	}
	require.Len(t, closing, 3, "redfish, ipmi and bmclib")
	require.ElementsMatch(t, closing, closers)
	var first, second closedType
	closeAll([]closer{&first, &second})
	require.Equal(t, []closedType{1, 1}, []closedType{first, second})
}
