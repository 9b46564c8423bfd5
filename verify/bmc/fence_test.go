// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
)

// permits returns a context that permits a number of requests. It calls asked, if not nil, each time
// that it is asked.
func permits(t *testing.T, count int, asked func()) context.Context {
	return fence.With(t.Context(), func(context.Context) error {
		if asked != nil {
			asked()
		}
		if count--; count < 0 {
			return errors.New("no longer permitted")
		}
		return nil
	})
}

// rebootFrom does what a step does to boot a machine from another device.
func rebootFrom(ctx context.Context, d *bmc.Driver, device string) error {
	if err := d.SetPower(ctx, "1", states.PowerOff); err != nil {
		return err
	}
	if err := d.SetBootDevice(ctx, "1", device, false); err != nil {
		return err
	}
	return d.SetPower(ctx, "1", states.PowerOn)
}

func TestEachRedfishRequestThatChangesTheMachineNeedsPermission(t *testing.T) {
	for count := range 5 { // a log-in, power off, boot device, power on
		server := startRedfish(t)
		d := newDriver(t, 1, map[string]bmc.Config{"1": configOf(server)})
		begun := []int{}
		err := rebootFrom(permits(t, count, func() { begun = append(begun, len(server.Requests())) }), d, "pxe")
		require.Equal(t, count == 4, err == nil, "%d: %v", count, err)
		changes := []int{}
		for i, r := range server.Requests() {
			if r.Method == http.MethodPost || r.Method == http.MethodPatch {
				changes = append(changes, i)
			}
		}
		require.Len(t, changes, count)
		require.Equal(t, changes, begun[:count], "no request came between the permission and its request")
		require.Equal(t, map[bool]string{true: "On", false: "Off"}[count < 2 || count == 4], server.Power("1"))
		require.NoError(t, d.Close(t.Context()))
		require.Empty(t, server.Sessions(), "a log-out needs no permission")
	}
}

func TestEachRunOfIpmitoolNeedsPermission(t *testing.T) {
	server := startIPMI(t)
	config := ipmiConfigOf(server)
	config.CipherSuite, config.KeepBootTimeout = "3", true
	d := newDriver(t, 0, map[string]bmc.Config{"1": config})
	for runs := range 4 { // the log-in, the power state, power off
		err := d.SetPower(permits(t, runs, nil), "1", states.PowerOff)
		require.Equal(t, runs == 3, err == nil, "%d: %v", runs, err)
		require.Equal(t, map[bool]string{true: "on", false: "off"}[runs < 3], server.Power())
	}
}

func TestTheEndOfASubscriptionNeedsPermission(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"1": configOf(server)})
	made, err := d.Subscribe(t.Context(), "1", bmc.Subscription{Destination: "https://events.example/x", Protocol: "Redfish"})
	require.NoError(t, err)
	require.ErrorContains(t, d.Unsubscribe(permits(t, 0, nil), "1", made.ID), "no longer permitted")
	require.Len(t, server.Subscriptions(), 1)
	require.Empty(t, server.Sessions(), "a log-out needs no permission")
	require.NoError(t, d.Unsubscribe(permits(t, 2, nil), "1", made.ID), "a log-in and the end of the subscription")
	require.Empty(t, server.Subscriptions())
	require.NoError(t, d.Close(t.Context()))
	require.Empty(t, server.Sessions())
}
