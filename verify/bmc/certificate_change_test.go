// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// crossing forwards connections to one of several servers.
type crossing struct {
	net.Listener
	to atomic.Pointer[net.TCPAddr]

	mu   sync.Mutex
	open []net.Conn
}

func startCrossing(t *testing.T) *crossing {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &crossing{Listener: l}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.DialTCP("tcp", nil, c.to.Load())
			if err != nil {
				_ = client.Close()
				continue
			}
			c.mu.Lock()
			c.open = append(c.open, client, server)
			c.mu.Unlock()
			for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
				running.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					_ = way[0].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.cut()
		running.Wait()
	})
	return c
}

// lead leads new connections to a server.
func (c *crossing) lead(server *bmctest.Redfish) {
	c.to.Store(&net.TCPAddr{IP: net.ParseIP(server.Host), Port: server.Port})
}

// cut closes all connections.
func (c *crossing) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.open = nil
}

// An attacker in the network path, or a BMC that was exchanged, has another certificate at the second call. A Driver
// that has a session sends neither its password nor its token there.
//
// SECURITY.md: Certificates are verified for each new connection, unless the node's `redfish_verify_ca` is false.
func TestACertificateThatChangesBetweenTwoCallsIsRefused(t *testing.T) {
	own, other := startRedfish(t), startRedfish(t)
	way := startCrossing(t)
	config := configOf(own)
	config.Host, config.RedfishPort = "127.0.0.1", way.Addr().(*net.TCPAddr).Port
	driver, err := bmc.NewDriver(bmc.DriverConfig{Lookup: func(context.Context, string) (bmc.Config, error) { return config, nil },
		Sessions: 10})
	require.NoError(t, err)
	way.lead(own)
	power, err := driver.PowerState(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, states.PowerOn, power)

	way.lead(other)
	way.cut()
	for range 2 {
		_, err = driver.PowerState(t.Context(), "node")
		require.ErrorIs(t, err, verify.TLS)
	}
	require.Error(t, driver.SetPower(t.Context(), "node", states.PowerOff))
	require.Zero(t, other.Logins().Attempts, "no password")
	require.Empty(t, other.Requests(), "no token, no request")
	require.Equal(t, "On", other.Power("1"))

	way.lead(own)
	way.cut()
	power, err = driver.PowerState(t.Context(), "node")
	require.NoError(t, err, "the right certificate is back")
	require.Equal(t, states.PowerOn, power)
	require.NoError(t, driver.Close(t.Context()))
}
