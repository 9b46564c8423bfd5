// SPDX-License-Identifier: Apache-2.0

// Package powersync_test tests package powersync with the Driver of package bmc and
// BMCs. It is in the module of package bmc, because the module of powersync must not
// require that.
package powersync_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// fixture is a Syncer, its store, and the one node "a" in it.
type fixture struct {
	*powersync.Syncer
	store powersync.Memory
	last  powersync.Event
}

// newFixture makes a fixture of a node whose BMC has the configuration that c points to.
func newFixture(t *testing.T, c *bmc.Config, power states.Power) *fixture {
	t.Helper()
	driver, err := bmc.NewDriver(bmc.DriverConfig{
		Sessions: 1,
		Lookup:   func(context.Context, string) (bmc.Config, error) { return *c, nil },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, driver.Close(context.Background())) })
	h := new(fixture)
	h.store.Put(powersync.Record{ID: "a", ProvisionState: states.Active, Power: power})
	h.Syncer, err = powersync.New(powersync.Config{
		Store: &h.store, Driver: driver, Policy: powersync.Policy{MaxRetries: 1}, Timeout: time.Hour, Poll: 10 * time.Millisecond,
		OnEvent: func(e powersync.Event) { h.last = e },
	})
	require.NoError(t, err)
	return h
}

// sync does a round and returns the outcome of the node.
func (h *fixture) sync(t *testing.T) powersync.Outcome { return outcomeOf(t, h.Sync) }

// recovery does a recovery round and returns the outcome of the node.
func (h *fixture) recovery(t *testing.T) powersync.Outcome { return outcomeOf(t, h.Recover) }

func outcomeOf(t *testing.T, round func(context.Context) (powersync.Report, error)) powersync.Outcome {
	t.Helper()
	report, err := round(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, report.Seen)
	for o := range report.Nodes {
		return o
	}
	return powersync.Outcome("")
}

func (h *fixture) record(t *testing.T) powersync.Record {
	t.Helper()
	r, err := h.store.Load(t.Context(), "a")
	require.NoError(t, err)
	return r
}

func startRedfish(t *testing.T, power string) (*bmctest.Redfish, *bmc.Config) {
	t.Helper()
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1", Power: power}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server, &bmc.Config{
		Host: server.Host, RedfishPort: server.Port, RootCAs: server.CertPool, Protocol: "redfish",
		User: bmctest.DefaultUser, Password: secret.New(bmctest.DefaultPassword), Timeout: time.Hour, Pause: time.Millisecond,
	}
}

func TestRedfishSwitchedBehindOurBackIsSwitchedBack(t *testing.T) {
	server, config := startRedfish(t, "On")
	h := newFixture(t, config, states.NoPower)
	require.Equal(t, powersync.Recorded, h.sync(t))
	require.Equal(t, powersync.Equal, h.sync(t))
	require.NoError(t, server.SetPower("1", "Off"))
	require.Equal(t, powersync.Forced, h.sync(t))
	require.Equal(t, "On", server.Power("1"))
	require.Equal(t, powersync.Equal, h.sync(t))
	require.Equal(t, 1, server.Logins().Attempts, "all rounds over one session")
}

func TestRedfishFaultsEndInMaintenanceAndRecovery(t *testing.T) {
	const system = "/redfish/v1/Systems/1"
	for _, fault := range []bmctest.Fault{
		{Do: bmctest.Refuse()},
		{On: system, Method: http.MethodGet, Do: bmctest.HangAfter(20)},
		{On: system, Method: http.MethodGet, Do: bmctest.Property("PowerState", "Off")},
		{On: system, Method: http.MethodGet, Do: bmctest.Property("PowerState", nil)},
		{Do: bmctest.Status(http.StatusUnauthorized)},
	} {
		t.Run(fault.Do.String(), func(t *testing.T) {
			t.Parallel()
			server, config := startRedfish(t, "On")
			h := newFixture(t, config, states.PowerOn)
			server.AddFault(fault)
			if strings.HasPrefix(fault.Do.String(), "HangAfter") {
				config.Timeout = 2 * time.Second
			}
			first := h.sync(t)
			require.True(t, first == powersync.ReadFailed || first == powersync.Forced, "%v", first)
			require.Equal(t, powersync.IntoMaintenance, h.sync(t))
			require.NotContains(t, h.record(t).LastError, bmctest.DefaultPassword)
			require.NoError(t, server.ClearFaults())
			config.Timeout = time.Hour
			require.Equal(t, powersync.Recovered, h.recovery(t))
			require.Equal(t, states.PowerOn, h.record(t).Power)
			require.False(t, h.record(t).Maintenance)
		})
	}
}

func TestRedfishPowerIsSetOnPurpose(t *testing.T) {
	server, config := startRedfish(t, "Off")
	h := newFixture(t, config, states.PowerOff)
	for _, step := range []struct {
		asked states.Power
		want  string
	}{
		{states.PowerOn, "On"},
		{states.PowerRebooting, "On"},
		{states.PowerSoftOff, "Off"},
		{states.PowerRebooting, "On"},
		{states.PowerOff, "Off"},
	} {
		require.NoError(t, h.Set(t.Context(), "a", step.asked, 0))
		require.Equal(t, step.want, server.Power("1"))
		require.Equal(t, step.asked.Target(), h.record(t).Power)
	}
}

func startIPMI(t *testing.T, power string) (*bmctest.IPMI, *bmc.Config) {
	t.Helper()
	needs.Programs(t, "ipmi_sim", "ipmitool")
	server, err := bmctest.NewIPMI(t.Context(), bmctest.IPMIConfig{Power: power})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server, &bmc.Config{
		Host: server.Host, IPMIPort: server.Port, Protocol: "ipmi",
		User: bmctest.DefaultUser, Password: secret.New(bmctest.DefaultPassword), Timeout: time.Hour,
	}
}

func TestIPMISwitchedOffKilledAndRestarted(t *testing.T) {
	server, config := startIPMI(t, "on")
	h := newFixture(t, config, states.NoPower)
	require.Equal(t, powersync.Recorded, h.sync(t))

	require.NoError(t, server.SetPower("off"))
	require.Equal(t, powersync.Forced, h.sync(t))
	require.Equal(t, "on", server.Power())
	require.Equal(t, powersync.Equal, h.sync(t))

	server.Kill()
	config.Timeout = time.Second
	require.Equal(t, powersync.ReadFailed, h.sync(t))
	require.Equal(t, powersync.IntoMaintenance, h.sync(t))
	require.Equal(t, states.PowerOn, h.record(t).Power)
	require.Equal(t, powersync.ReadFailed, h.recovery(t))
	require.ErrorIs(t, h.last.Err, verify.Timeout)

	require.NoError(t, server.Restart(t.Context()))
	config.Timeout = time.Hour
	require.Equal(t, powersync.Recovered, h.recovery(t))
	require.Equal(t, states.PowerOn, h.record(t).Power)
	require.Equal(t, powersync.Equal, h.sync(t))

	require.NoError(t, h.Set(t.Context(), "a", states.PowerOff, 0))
	require.Equal(t, "off", server.Power())
}
