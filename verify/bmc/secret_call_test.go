// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestAShortSecretOfACallIsRemovedFromItsErrorsAlone(t *testing.T) {
	const short, withheld = "abc", "details are withheld"
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile.BIOSPassword = "AdminPassword" })
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	refused := bmctest.Status(http.StatusBadRequest)
	for name, call := range map[string]func() error{
		"a header of a subscription": func() error {
			_, err := d.Subscribe(t.Context(), "node", bmc.Subscription{Destination: "https://events.example/", Protocol: "Redfish",
				EventTypes: []string{"Alert"}, Headers: []map[string]string{{"X-Token": short}}})
			return err
		},
		"a password of the BIOS": func() error {
			_, err := d.SetBIOS(t.Context(), "node", map[string]any{"AdminPassword": short})
			return err
		},
		"a password of an image": func() error {
			return d.InsertMedia(t.Context(), "node", "cdrom", "https://user:"+short+"@images.example/a.iso")
		},
	} {
		next := func() error { // after two failures in a row a session is closed
			_, err := d.PowerState(t.Context(), "node")
			require.NoError(t, err)
			return d.SetBootDevice(t.Context(), "node", "pxe", false)
		}
		require.NoError(t, next(), name)
		server.AddFault(bmctest.Fault{Method: http.MethodPost, Do: refused})
		server.AddFault(bmctest.Fault{Method: http.MethodPatch, Do: refused})
		require.ErrorContains(t, call(), withheld, name)
		err := next()
		require.ErrorContains(t, err, "400", name)
		require.NotContains(t, err.Error(), withheld, name)
		require.NoError(t, server.ClearFaults())
	}
	require.Equal(t, 1, server.Logins().Attempts)
}

func TestASecretOfACallIsInNoErrorOfALaterCall(t *testing.T) {
	const long, destination = "call-secret-", "https://events.example/"
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile.BIOSPassword = "AdminPassword" })
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	for name, call := range map[string]func() error{
		"a header of a subscription": func() error {
			_, err := d.Subscribe(t.Context(), "node", bmc.Subscription{Destination: destination, Protocol: "Redfish",
				EventTypes: []string{"Alert"}, Headers: []map[string]string{{"X-Token": long + "header"}}})
			return err
		},
		"a password of the BIOS": func() error {
			_, err := d.SetBIOS(t.Context(), "node", map[string]any{"AdminPassword": long + "bios"})
			return err
		},
		"a password of an image": func() error {
			return d.InsertMedia(t.Context(), "node", "cdrom", "https://user:"+long+"image@images.example/a.iso")
		},
	} {
		require.NoError(t, call(), name)
	}
	server.AddFault(bmctest.Fault{Method: http.MethodPatch, Do: new(refusing).effect(func(*http.Request, string) (int, string) {
		return http.StatusBadRequest, "busy with " + long + "header, " + long + "bios, " + long + "image"
	})})
	for range 2 {
		require.ErrorContains(t, d.SetBootDevice(t.Context(), "node", "pxe", false), "busy with ***, ***, ***")
		_, err := d.PowerState(t.Context(), "node") // after two failures in a row a session is closed
		require.NoError(t, err)
	}
	require.Equal(t, 1, server.Logins().Attempts)
}
