package bmc_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
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
		{states.PowerOff, bmctest.PowerOff}, {states.PowerOff, bmctest.PowerOff},
		{states.PowerRebooting, bmctest.PowerOn}, {states.PowerRebooting, bmctest.PowerOn},
		{states.PowerSoftOff, bmctest.PowerOff}, {states.PowerOn, bmctest.PowerOn},
	} {
		require.NoError(t, d.SetPower(t.Context(), "node-1", step.power), "%v", step.power)
		require.Equal(t, step.want, server.Power("1"), "%v", step.power)
		power, err := d.PowerState(t.Context(), "node-1")
		require.NoError(t, err)
		require.Equal(t, step.want == bmctest.PowerOn, power == states.PowerOn)
	}
	for _, power := range []states.Power{states.PowerSoftRebooting, states.PowerError, states.NoPower, 99} {
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

func TestSessionsAreKeptUpToTheirNumber(t *testing.T) {
	nodes, servers := map[string]bmc.Config{}, map[string]*bmctest.Redfish{}
	for _, id := range []string{"a", "b", "c"} {
		servers[id] = startRedfish(t)
		nodes[id] = configOf(servers[id])
	}
	d := newDriver(t, 2, nodes)
	read := func(id string) {
		t.Helper()
		_, err := d.PowerState(t.Context(), id)
		require.NoError(t, err)
	}
	for _, id := range []string{"a", "b", "a", "c", "a"} {
		read(id)
	}
	require.Empty(t, servers["b"].Sessions(), "it was the longest unused when one too many came")
	require.Len(t, servers["a"].Sessions(), 1)
	require.Equal(t, 1, servers["a"].Logins().Attempts)

	none := newDriver(t, 0, nodes)
	for range 2 {
		_, err := none.PowerState(t.Context(), "b")
		require.NoError(t, err)
		require.Empty(t, servers["b"].Sessions())
	}
	require.Equal(t, 3, servers["b"].Logins().Attempts)
}

func TestASessionThatIsNoMoreIsOpenedAnew(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.SessionTimeout = 30 * time.Millisecond })
	nodes := map[string]bmc.Config{"node-1": configOf(server)}
	d := newDriver(t, 1, nodes)
	for range 3 {
		_, err := d.PowerState(t.Context(), "node-1")
		require.NoError(t, err)
		time.Sleep(60 * time.Millisecond)
	}
	require.Equal(t, 3, server.Logins().Attempts)

	idle := newDriver(t, 1, nodes, func(c *bmc.DriverConfig) { c.Idle = time.Nanosecond })
	for range 2 {
		require.NoError(t, idle.SetPower(t.Context(), "node-1", states.PowerOn))
	}
	require.Equal(t, 5, server.Logins().Attempts)
}

func TestASessionIsNotUsedWithAnotherConfiguration(t *testing.T) {
	server := startRedfish(t)
	nodes := map[string]bmc.Config{"node-1": configOf(server)}
	d := newDriver(t, 1, nodes)
	_, err := d.PowerState(t.Context(), "node-1")
	require.NoError(t, err)
	changed := nodes["node-1"]
	changed.Password = wrong
	nodes["node-1"] = changed
	_, err = d.PowerState(t.Context(), "node-1")
	require.ErrorIs(t, err, verify.Credentials)
	require.Equal(t, bmctest.Logins{Attempts: 2, Succeeded: 1, Failed: 1}, server.Logins())
	require.Empty(t, server.Sessions())
}

func TestADriverToldWrongRefuses(t *testing.T) {
	for name, config := range map[string]bmc.DriverConfig{
		"no lookup":         {},
		"negative sessions": {Sessions: -1, Lookup: func(context.Context, string) (bmc.Config, error) { return bmc.Config{}, nil }},
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
	for _, d := range []*bmc.Driver{nil, {}} {
		require.ErrorIs(t, d.SetPower(t.Context(), "x", states.PowerOn), verify.Misconfigured)
	}
}

func TestADriverMayBeShared(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 3, map[string]bmc.Config{"node-1": configOf(server)})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 3 {
				_, err := d.PowerState(t.Context(), "node-1")
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, len(server.Sessions()), 3)
	require.NoError(t, d.Close(t.Context()))
	require.Empty(t, server.Sessions())
}
