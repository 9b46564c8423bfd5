// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bmctest_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// TestRefuseKeepsThePort asks for the port as the local one of another connection.
func TestRefuseKeepsThePort(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]", "localhost"} {
		bmc := newRedfish(t, bmctest.RedfishConfig{Addr: host + ":0"})
		other := newRedfish(t, bmctest.RedfishConfig{Addr: host + ":0"})
		for range 3 {
			bmc.AddFault(bmctest.Fault{Do: bmctest.Refuse()})
			_, err := net.Dial("tcp", bmc.Addr)
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
			local, err := net.ResolveTCPAddr("tcp", bmc.Addr)
			require.NoError(t, err)
			_, err = (&net.Dialer{LocalAddr: local}).Dial("tcp", other.Addr)
			require.ErrorIs(t, err, syscall.EADDRINUSE, host)
			require.NoError(t, bmc.ClearFaults())
			require.Equal(t, 200, ask(t, bmc, "GET", "/redfish/v1/", "").StatusCode)
		}
		require.NoError(t, bmc.Close())
		again, err := bmctest.NewRedfish(bmctest.RedfishConfig{Addr: bmc.Addr})
		for errors.Is(err, syscall.EADDRINUSE) { // by a connection of another process, which was faster
			again, err = bmctest.NewRedfish(bmctest.RedfishConfig{Addr: bmc.Addr})
		}
		require.NoError(t, err, "Close gives the port back")
		require.Equal(t, bmc.Addr, again.Addr)
		require.NoError(t, again.Close())
	}
}

func TestAPortInUseIsAnError(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	_, err := bmctest.NewRedfish(bmctest.RedfishConfig{Addr: bmc.Addr})
	require.ErrorIs(t, err, syscall.EADDRINUSE)
}
