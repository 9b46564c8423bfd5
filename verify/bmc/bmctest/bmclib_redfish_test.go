// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"net/http"
	"strconv"
	"testing"

	bmclib "github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers/redfish"
	"github.com/go-logr/logr"
	"github.com/jacobweinstock/registrar"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func newRedfish(t *testing.T, config bmctest.RedfishConfig) *bmctest.Redfish {
	t.Helper()
	bmc, err := bmctest.NewRedfish(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bmc.Close()) })
	return bmc
}

// dial returns a bmclib client of bmc that uses Redfish only.
func dial(bmc *bmctest.Redfish, password string, options ...redfish.Option) *bmclib.Client {
	options = append([]redfish.Option{
		redfish.WithPort(strconv.Itoa(bmc.Port)),
		redfish.WithHttpClient(bmc.Client()),
	}, options...)
	driver := redfish.New(bmc.Host, bmctest.DefaultUser, password, logr.Discard(), options...)
	registry := registrar.NewRegistry(registrar.WithLogger(logr.Discard()))
	registry.Register(driver.Name(), redfish.ProviderProtocol, redfish.Features, nil, driver)
	return bmclib.NewClient(bmc.Host, bmctest.DefaultUser, password,
		bmclib.WithLogger(logr.Discard()), bmclib.WithRegistry(registry))
}

func TestBmclibControlsPower(t *testing.T) {
	tests := []struct {
		name, before, set, after string
		refused                  bool
	}{
		{name: "on from off", before: "Off", set: "on", after: "On"},
		{name: "on from on", before: "On", set: "on", after: "On"},
		{name: "off from on", before: "On", set: "off", after: "Off"},
		{name: "off from off", before: "Off", set: "off", after: "Off"},
		{name: "soft from on", before: "On", set: "soft", after: "Off"},
		{name: "reset from on", before: "On", set: "reset", after: "On"},
		{name: "cycle from on", before: "On", set: "cycle", after: "On"},
		{name: "cycle from off", before: "Off", set: "cycle", after: "Off", refused: true},
		{name: "off from an odd state", before: "Paused", set: "off", after: "Off"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bmc := newRedfish(t, bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1", Power: tt.before}}})
			ctx := t.Context()
			client := dial(bmc, bmctest.DefaultPassword)
			require.NoError(t, client.Open(ctx))
			require.Len(t, bmc.Sessions(), 1)

			power, err := client.GetPowerState(ctx)
			require.NoError(t, err)
			require.Equal(t, tt.before, power)
			_, err = client.SetPowerState(ctx, tt.set)
			// bmclib v2.3.5 reports a successful soft shutdown as a failure.
			require.Equal(t, tt.refused || tt.set == "soft", err != nil, "error: %v", err)
			require.Equal(t, tt.after, bmc.Power("1"))

			require.NoError(t, client.Close(ctx))
			require.Empty(t, bmc.Sessions())
			require.Equal(t, bmctest.Logins{Attempts: 1, Succeeded: 1}, bmc.Logins())
		})
	}
}

func TestBmclibSetsBootDevice(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	ctx := t.Context()
	client := dial(bmc, bmctest.DefaultPassword)
	require.NoError(t, client.Open(ctx))
	ok, err := client.SetBootDevice(ctx, "pxe", false, true)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "Pxe Once UEFI", bmc.Boot("1"))

	_, err = client.SetPowerState(ctx, "on")
	require.NoError(t, err)
	require.Equal(t, "None Disabled UEFI", bmc.Boot("1"), "once is over")
	require.NoError(t, client.Close(ctx))
	require.Empty(t, bmc.Sessions())
}

func TestBmclibChoosesSystemByName(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{Systems: []bmctest.System{
		{ID: "left", Name: "node-1", Power: "On"},
		{ID: "right", Name: "node-2", Power: "Off"},
	}})
	ctx := t.Context()
	for name, want := range map[string]string{"node-1": "On", "node-2": "Off"} {
		client := dial(bmc, bmctest.DefaultPassword, redfish.WithSystemName(name))
		require.NoError(t, client.Open(ctx))
		power, err := client.GetPowerState(ctx)
		require.NoError(t, err)
		require.Equal(t, want, power)
		require.NoError(t, client.Close(ctx))
	}
	require.Empty(t, bmc.Sessions())
}

func TestBmclibUsesBasicAuth(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	ctx := t.Context()
	client := dial(bmc, bmctest.DefaultPassword, redfish.WithUseBasicAuth(true))
	require.NoError(t, client.Open(ctx))
	power, err := client.GetPowerState(ctx)
	require.NoError(t, err)
	require.Equal(t, "Off", power)
	require.Empty(t, bmc.Sessions())
	logins := bmc.Logins()
	require.Positive(t, logins.Attempts, "each request is an attempt")
	require.Equal(t, logins.Attempts, logins.Succeeded)
	require.NoError(t, client.Close(ctx))
}

func TestBmclibWithWrongPasswordTriesOnce(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	client := dial(bmc, "not the password")
	require.Error(t, client.Open(t.Context()))
	require.Equal(t, bmctest.Logins{Attempts: 1, Failed: 1}, bmc.Logins())
	require.Contains(t, bmc.Requests(), bmctest.Request{
		Method: http.MethodPost, Path: "/redfish/v1/SessionService/Sessions", Status: http.StatusUnauthorized,
	})
}
