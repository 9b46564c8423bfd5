// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardwaretest"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestTheTypesKeepThePromisesOfHardware(t *testing.T) {
	for name, effect := range map[string]bmctest.Effect{"redfish": bmctest.Refuse(), "redfish, other password": bmctest.Status(401)} {
		t.Run(name, func(t *testing.T) { checkRedfish(t, effect) })
	}
	t.Run("ipmi", func(t *testing.T) {
		server := startIPMI(t)
		ipmi, err := hardware.NewIPMI(hardware.Config{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, ipmi.Close(context.Background())) })
		require.NoError(t, hardwaretest.Check(hardwaretest.Config{
			Hardware: &simulated{Type: ipmi}, Node: &conductor.Node{Driver: "ipmi", DriverInfo: ipmiInfo(server)},
			Changes: func() int { return server.Logins().Attempts }, Secrets: []string{password}, Break: server.Kill,
		}))
	})
}

// simulated is the hardware type ipmi on a simulator that reports every boot device as one for the next boot. That the
// flag is set and read is tested in verify/bmc.
type simulated struct {
	*hardware.Type
	persistent bool
}

func (s *simulated) SetBootDevice(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
	s.persistent = persistent
	return s.Type.SetBootDevice(ctx, n, device, persistent)
}

func (s *simulated) BootDevice(ctx context.Context, n *conductor.Node) (device string, persistent bool, err error) {
	device, _, err = s.Type.BootDevice(ctx, n)
	return device, s.persistent, err
}

func checkRedfish(t *testing.T, broken bmctest.Effect) {
	server := startRedfish(t)
	changes := func() (count int) {
		for _, r := range server.Requests() { // a log-out needs no permission
			if r.Method == http.MethodPost || r.Method == http.MethodPatch {
				count++
			}
		}
		return count
	}
	require.NoError(t, hardwaretest.Check(hardwaretest.Config{
		Hardware: newRedfish(t, hardware.Config{}), Node: &conductor.Node{Driver: "redfish", DriverInfo: redfishInfo(t, server)},
		Changes: changes, Secrets: []string{password}, Break: func() { server.AddFault(bmctest.Fault{Do: broken}) },
	}))
}
