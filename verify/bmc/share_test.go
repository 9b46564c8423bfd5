// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// propertyReads are the calls that share a read of the system.
var propertyReads = []func(context.Context, *bmc.Driver) error{
	func(ctx context.Context, d *bmc.Driver) error { _, err := d.Health(ctx, "node"); return err },
	func(ctx context.Context, d *bmc.Driver) error { _, _, err := d.Vendor(ctx, "node"); return err },
	func(ctx context.Context, d *bmc.Driver) error { _, err := d.BootMode(ctx, "node"); return err },
	func(ctx context.Context, d *bmc.Driver) error { _, err := d.SecureBoot(ctx, "node"); return err },
}

func TestSharedReadsReadTheSystemOnce(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	_, err := d.PowerState(t.Context(), "node")
	require.NoError(t, err)
	asked := func(ctx context.Context) (reads int) {
		before := len(server.Requests())
		for _, read := range propertyReads {
			require.NoError(t, read(ctx, d))
		}
		for _, r := range server.Requests()[before:] {
			if r.Path == systemPath {
				reads++
			}
		}
		require.Equal(t, before+reads+1, len(server.Requests()), "secure boot is a resource of its own")
		return reads
	}
	require.Equal(t, len(propertyReads), asked(t.Context()))
	ctx := bmc.ShareReads(t.Context())
	require.Equal(t, 1, asked(ctx))
	require.Equal(t, 0, asked(ctx))
	require.Equal(t, 1, asked(bmc.ShareReads(ctx)))
}

func TestWhatIsSharedIsReadAgainAfterAnyOtherCall(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	ctx := bmc.ShareReads(t.Context())
	mode := func() string {
		mode, err := d.BootMode(ctx, "node")
		require.NoError(t, err)
		return mode
	}
	require.Equal(t, "uefi", mode())
	require.NoError(t, d.SetBootMode(ctx, "node", "bios"))
	require.Equal(t, "bios", mode())
	for _, power := range []states.Power{states.PowerOff, states.PowerOn} {
		require.NoError(t, d.SetPower(ctx, "node", power))
		mode()
		now, err := d.PowerState(ctx, "node")
		require.NoError(t, err)
		require.Equal(t, power, now)
	}
}

func TestASharedReadIsOfOneConnection(t *testing.T) {
	servers := []*bmctest.Redfish{startRedfish(t), startRedfish(t)}
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(servers[0]), "other": configOf(servers[1])})
	servers[1].AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Property("Status", map[string]any{"Health": "Critical"})})
	ctx := bmc.ShareReads(t.Context())
	for range 2 {
		for id, want := range map[string]string{"node": "OK", "other": "CRITICAL"} {
			health, err := d.Health(ctx, id)
			require.NoError(t, err)
			require.Equal(t, want, health)
		}
	}
}

func TestASharedReadThatFailsCostsNoOtherOne(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	ctx := bmc.ShareReads(t.Context())
	server.AddFault(bmctest.Fault{On: systemPath, Times: 1, Do: bmctest.Status(http.StatusNotFound)})
	require.ErrorIs(t, propertyReads[0](ctx, d), verify.Unsupported)
	for _, read := range propertyReads {
		require.NoError(t, read(ctx, d))
	}
	endSessions(t, server)
	require.NoError(t, propertyReads[3](ctx, d), "with a new session")
}
