// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// newDriver makes a driver of nodes by their configuration.
func newDriver(t *testing.T, sessions int, nodes map[string]bmc.Config, set ...func(*bmc.DriverConfig)) *bmc.Driver {
	t.Helper()
	var mu sync.Mutex
	config := bmc.DriverConfig{
		Sessions: sessions,
		Lookup: func(_ context.Context, id string) (bmc.Config, error) {
			mu.Lock()
			defer mu.Unlock()
			c, ok := nodes[id]
			if !ok {
				return c, errors.New("unknown node")
			}
			return c, nil
		},
	}
	for _, s := range set {
		s(&config)
	}
	d, err := bmc.NewDriver(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close(context.Background())) })
	return d
}

func TestADriverSetsPower(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 1, map[string]bmc.Config{"node-1": configOf(server)})
	for _, step := range []struct {
		power states.Power
		want  string
	}{
		{states.PowerOff, "Off"}, {states.PowerOff, "Off"},
		{states.PowerRebooting, "On"}, {states.PowerRebooting, "On"},
		{states.PowerSoftOff, "Off"}, {states.PowerSoftRebooting, "On"}, {states.PowerSoftRebooting, "On"},
	} {
		require.NoError(t, d.SetPower(t.Context(), "node-1", step.power), "%v", step.power)
		require.Equal(t, step.want, server.Power("1"), "%v", step.power)
		power, err := d.PowerState(t.Context(), "node-1")
		require.NoError(t, err)
		require.Equal(t, step.want == "On", power == states.PowerOn)
	}
	for _, power := range []states.Power{states.PowerError, states.NoPower, 99} {
		require.ErrorIs(t, d.SetPower(t.Context(), "node-1", power), errors.ErrUnsupported)
	}
	require.Equal(t, 1, server.Logins().Attempts, "all over one session")
	require.NoError(t, d.Close(t.Context()))
	require.Empty(t, server.Sessions())

	_, err := d.PowerState(t.Context(), "node-1")
	require.NoError(t, err)
	require.Empty(t, server.Sessions(), "a closed driver keeps no session")
}

func TestADriverOverIPMI(t *testing.T) {
	server := startIPMI(t)
	d := newDriver(t, 1, map[string]bmc.Config{"node-1": ipmiConfigOf(server)})
	for _, power := range []states.Power{states.PowerOff, states.PowerOn, states.PowerOff} {
		require.NoError(t, d.SetPower(t.Context(), "node-1", power))
		got, err := d.PowerState(t.Context(), "node-1")
		require.NoError(t, err)
		require.Equal(t, power, got)
	}
	require.NoError(t, d.SetPower(t.Context(), "node-1", states.PowerRebooting))
	require.Equal(t, "on", server.Power())
}

// startFleet starts BMCs of nodes named in order.
func startFleet(t *testing.T, ids ...string) (map[string]bmc.Config, map[string]*bmctest.Redfish) {
	t.Helper()
	nodes, servers := map[string]bmc.Config{}, map[string]*bmctest.Redfish{}
	for _, id := range ids {
		servers[id] = startRedfish(t)
		nodes[id] = configOf(servers[id])
	}
	return nodes, servers
}

func TestAFleetLargerThanTheSessionsGainsFromThemInEveryRound(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "e"}
	nodes, servers := startFleet(t, ids...)
	d := newDriver(t, 2, nodes)
	const rounds = 4
	for range rounds {
		for _, id := range ids {
			_, err := d.PowerState(t.Context(), id)
			require.NoError(t, err)
		}
	}
	var logins []int
	for _, id := range ids {
		logins = append(logins, servers[id].Logins().Attempts)
	}
	require.Equal(t, []int{1, 1, rounds, rounds, rounds}, logins)
	require.Len(t, servers["a"].Sessions(), 1)
	require.Empty(t, servers["c"].Sessions())
}

func TestIdleAndFailedSessionsAreReplaced(t *testing.T) {
	nodes, servers := startFleet(t, "a", "b")
	read := func(d *bmc.Driver, id string) {
		t.Helper()
		_, err := d.PowerState(t.Context(), id)
		require.NoError(t, err)
	}
	aged := newDriver(t, 1, nodes, func(c *bmc.DriverConfig) { c.Idle = time.Nanosecond })
	read(aged, "a")
	read(aged, "b")
	require.Empty(t, servers["a"].Sessions(), "it was too long unused")
	require.Len(t, servers["b"].Sessions(), 1)
	require.NoError(t, aged.Close(t.Context()))

	failing := newDriver(t, 1, nodes)
	read(failing, "a")
	servers["a"].AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.Status(500)})
	for range 2 {
		_, err := failing.PowerState(t.Context(), "a")
		require.Error(t, err)
	}
	read(failing, "b")
	require.Empty(t, servers["a"].Sessions(), "what failed twice in a row is not kept")
	require.Len(t, servers["b"].Sessions(), 1)
}

func TestNoSessionIsKeptWhereNoneIsAllowed(t *testing.T) {
	nodes, servers := startFleet(t, "a")
	d := newDriver(t, 0, nodes)
	for range 2 {
		_, err := d.PowerState(t.Context(), "a")
		require.NoError(t, err)
		require.Empty(t, servers["a"].Sessions())
	}
	require.Equal(t, 2, servers["a"].Logins().Attempts)
}

// endSessions ends all sessions of a BMC, as an administrator can.
func endSessions(t *testing.T, server *bmctest.Redfish) {
	t.Helper()
	client := server.Client()
	defer client.CloseIdleConnections()
	for _, id := range server.Sessions() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete,
			"https://"+server.Addr+"/redfish/v1/SessionService/Sessions/"+id, nil)
		require.NoError(t, err)
		r.SetBasicAuth(user, password)
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusNoContent, answer.StatusCode)
	}
}

func TestASessionThatIsNoMoreIsOpenedAnew(t *testing.T) {
	server := startRedfish(t)
	nodes := map[string]bmc.Config{"node-1": configOf(server)}
	d := newDriver(t, 1, nodes)
	for _, session := range []string{"1", "2", "3"} {
		_, err := d.PowerState(t.Context(), "node-1")
		require.NoError(t, err)
		require.Equal(t, []string{session}, server.Sessions())
		endSessions(t, server)
	}

	idle := newDriver(t, 1, nodes, func(c *bmc.DriverConfig) { c.Idle = time.Nanosecond })
	for _, session := range []string{"4", "5"} {
		require.NoError(t, idle.SetPower(t.Context(), "node-1", states.PowerOn))
		require.Equal(t, []string{session}, server.Sessions(), "the session before was unused for too long")
	}
}

// A log-in more is no help for a BMC that has too much to do.
func TestABusyBMCIsNotAskedToOpenAnotherSession(t *testing.T) {
	for status, attempts := range map[int]int{http.StatusTooManyRequests: 1, http.StatusServiceUnavailable: 10} {
		server := startRedfish(t)
		d := newDriver(t, 1, map[string]bmc.Config{"node-1": configOf(server)})
		_, err := d.PowerState(t.Context(), "node-1")
		require.NoError(t, err)
		before := count(server, http.MethodGet, systemPath)
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Status(status)})
		_, err = d.PowerState(t.Context(), "node-1")
		require.ErrorIs(t, err, verify.Unreachable)
		require.Equal(t, attempts, count(server, http.MethodGet, systemPath)-before)
		require.Equal(t, 1, server.Logins().Attempts)
	}
}

func TestASessionIsNotUsedWithAnotherConfiguration(t *testing.T) {
	server := startRedfish(t)
	nodes := map[string]bmc.Config{"node-1": configOf(server)}
	d := newDriver(t, 1, nodes)
	_, err := d.PowerState(t.Context(), "node-1")
	require.NoError(t, err)
	changed := nodes["node-1"]
	changed.Password = secret.New(wrong)
	nodes["node-1"] = changed
	_, err = d.PowerState(t.Context(), "node-1")
	require.ErrorIs(t, err, verify.Credentials)
	require.Equal(t, bmctest.Logins{Attempts: 2, Succeeded: 1, Failed: 1}, server.Logins())
	require.Empty(t, server.Sessions())
}

func TestAPoolMadeAnewIsTheSameConfiguration(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 1, nil, func(c *bmc.DriverConfig) {
		c.Lookup = func(context.Context, string) (bmc.Config, error) {
			config := configOf(server)
			config.RootCAs = x509.NewCertPool()
			config.RootCAs.AppendCertsFromPEM(server.CAPEM)
			return config, nil
		}
	})
	for range 3 {
		_, err := d.PowerState(t.Context(), "node-1")
		require.NoError(t, err)
	}
	require.Equal(t, 1, server.Logins().Attempts)
}

func TestADriverRefusesWrongConfigurations(t *testing.T) {
	for name, config := range map[string]bmc.DriverConfig{
		"negative sessions": {Sessions: -1, Lookup: func(context.Context, string) (bmc.Config, error) { return bmc.Config{}, nil }},
		"a negative time":   {Idle: -1, Lookup: func(context.Context, string) (bmc.Config, error) { return bmc.Config{}, nil }},
	} {
		_, err := bmc.NewDriver(config)
		require.ErrorIs(t, err, verify.Misconfigured, name)
	}
	d := newDriver(t, 1, map[string]bmc.Config{"no-host": {}})
	for _, id := range []string{"no-host", "unknown"} {
		require.ErrorIs(t, d.Validate(t.Context(), id), verify.Misconfigured)
		_, err := d.PowerState(t.Context(), id)
		require.ErrorIs(t, err, verify.Misconfigured)
	}
}

// The Drivers of With have the sessions of their Driver, which needs no Lookup.
func TestDriversWithAConfigurationShareTheirSessions(t *testing.T) {
	server := startRedfish(t)
	d, err := bmc.NewDriver(bmc.DriverConfig{Sessions: 1})
	require.NoError(t, err)
	require.ErrorIs(t, d.Validate(t.Context(), "node-1"), verify.Misconfigured)
	_, err = d.PowerState(t.Context(), "node-1")
	require.ErrorIs(t, err, verify.Misconfigured)
	_, err = d.With(bmc.Config{})
	require.ErrorIs(t, err, verify.Misconfigured)
	for range 3 {
		with, err := d.With(configOf(server))
		require.NoError(t, err)
		require.NoError(t, with.Validate(t.Context(), "node-1"))
		_, err = with.PowerState(t.Context(), "node-1")
		require.NoError(t, err)
	}
	require.Equal(t, 1, server.Logins().Attempts)
	require.Len(t, server.Sessions(), 1)
	require.NoError(t, d.Close(t.Context()))
	require.Empty(t, server.Sessions())
}

func TestCallsForOneNodeShareItsSession(t *testing.T) {
	for _, sessions := range []int{0, 1, 3} {
		// The BMC has no room for a second session.
		server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.MaxSessions = 1 })
		d := newDriver(t, sessions, map[string]bmc.Config{"node-1": configOf(server)})
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				for range 3 {
					_, err := d.PowerState(t.Context(), "node-1")
					assert.NoError(t, err)
				}
			})
		}
		calls.Wait()
		want := 24
		if sessions > 0 {
			want = 1
		}
		require.Equal(t, want, server.Logins().Succeeded)
		require.NoError(t, d.Close(t.Context()))
		require.Empty(t, server.Sessions())
	}
}

func TestADriversErrorsSayWhichOperationFailed(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.Status(500)})
	d := newDriver(t, 0, map[string]bmc.Config{"node-1": configOf(server)})
	var failed *verify.Error
	require.ErrorAs(t, d.SetPower(t.Context(), "node-1", states.PowerOff), &failed)
	require.Equal(t, "set power off", failed.Op)
	require.Equal(t, verify.Protocol, failed.Kind)
	require.Equal(t, "redfish", failed.Protocol)
	require.Equal(t, server.Addr, failed.Host)
	require.EqualError(t, failed, "set power off: redfish "+server.Addr+": protocol error: "+
		"GET /redfish/v1/Systems/1: 500 Internal Server Error Internal Server Error")

	server.AddFault(bmctest.Fault{Do: bmctest.Refuse()})
	_, err := d.PowerState(t.Context(), "node-1")
	require.ErrorContains(t, err, "log in: redfish "+server.Addr+": unreachable: ")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.NoError(t, server.ClearFaults())
}

func TestTheStepTimeoutBoundsACall(t *testing.T) {
	config := configOf(startRedfish(t))
	config.Timeout, config.StepTimeout = time.Hour, time.Minute
	d := newDriver(t, 1, map[string]bmc.Config{"node-1": config})
	_, err := d.PowerState(t.Context(), "node-1") // a log-in continues after its context
	require.NoError(t, err)
	var deadline time.Time
	ctx := fence.With(t.Context(), func(ctx context.Context) error {
		deadline, _ = ctx.Deadline()
		return nil
	})
	require.NoError(t, d.SetPower(ctx, "node-1", states.PowerOff))
	require.False(t, deadline.IsZero())
	require.False(t, deadline.After(time.Now().Add(time.Minute)), deadline)
	for name, call := range map[string]func() error{
		"boot device": func() error { return d.SetBootDevice(ctx, "node-1", "pxe", false) },
		"boot mode":   func() error { return d.SetBootMode(ctx, "node-1", "bios") },
		"power on":    func() error { return d.SetPower(ctx, "node-1", states.PowerOn) },
		"reset":       func() error { return d.ResetBIOS(ctx, "node-1") },
		"BIOS": func() error {
			_, err := d.SetBIOS(ctx, "node-1", map[string]any{"BootTimeout": 30})
			return err
		},
	} {
		start := time.Now()
		require.NoError(t, call(), name)
		require.True(t, deadline.After(start.Add(time.Minute)), "a call of %s has more time: %v", name, deadline)
	}
}

func TestACallWaitsForItsNodeNoLongerThanItsContext(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node-1": configOf(server)})
	hangs := make(chan struct{})
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.HangAfter(0),
		If: func(*http.Request) bool { close(hangs); return true }})
	first, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	calls.Go(func() {
		_, err := d.PowerState(first, "node-1")
		assert.ErrorIs(t, err, verify.Cancelled)
	})
	<-hangs
	second, cancelSecond := context.WithCancel(t.Context())
	cancelSecond()
	_, err := d.PowerState(second, "node-1")
	require.ErrorIs(t, err, verify.Cancelled)
	require.ErrorContains(t, err, "waiting for another call for node node-1")
	cancel()
	calls.Wait()
	require.Empty(t, server.Sessions())
	require.Equal(t, 1, server.Logins().Attempts)
}

func TestADriverClosedWhileItIsUsedLeavesNoSession(t *testing.T) {
	nodes, servers := startFleet(t, "a", "b", "c")
	d := newDriver(t, 2, nodes)
	var calls sync.WaitGroup
	for id := range nodes {
		calls.Go(func() {
			for range 5 {
				_, err := d.PowerState(t.Context(), id)
				assert.NoError(t, err)
			}
		})
	}
	require.NoError(t, d.Close(t.Context()))
	calls.Wait()
	for id, server := range servers {
		require.Empty(t, server.Sessions(), id)
	}
}
