// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"net/http"
	"testing"
	"time"

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

// panel is a management interface of somebody else's.
type panel struct{ hardware.Management }

func (panel) Name() string { return "panel" }

func TestATypeOfTheInterfacesOfRedfishAndOthersKeepsThePromisesOfHardware(t *testing.T) {
	checkRedfishType(t, bmctest.Refuse(), newComposed(t, func(redfish hardware.Interfaces) hardware.Interfaces {
		return hardware.Interfaces{
			Power: redfish.Power, Management: []hardware.Management{panel{hardware.NoManagement()}}, Inspect: redfish.Inspect, BIOS: redfish.BIOS,
		}
	}))
	checkRedfishType(t, bmctest.Refuse(), newComposed(t, func(redfish hardware.Interfaces) hardware.Interfaces {
		redfish.Management = append([]hardware.Management{panel{hardware.NoManagement()}}, redfish.Management...)
		redfish.RAID = []hardware.Interface{hardware.AgentRAID()}
		return redfish
	}))
}

func newComposed(t *testing.T, compose func(redfish hardware.Interfaces) hardware.Interfaces) *hardware.Type {
	t.Helper()
	config := hardware.Config{Pause: time.Millisecond}
	redfish, err := hardware.Redfish(config)
	require.NoError(t, err)
	b, err := hardware.New(config, compose(redfish))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return b
}

func TestATypeWithAnyInterfaceOfRedfishLogsOut(t *testing.T) {
	server := startRedfish(t)
	b := newComposed(t, func(redfish hardware.Interfaces) hardware.Interfaces {
		return hardware.Interfaces{Power: []hardware.Power{smartPlug{}}, Management: redfish.Management}
	})
	n := &conductor.Node{UUID: uuid, Driver: "mixed", DriverInfo: redfishInfo(t, server)}
	require.NoError(t, b.SetBootDevice(t.Context(), n, "pxe", false))
	require.NotEmpty(t, server.Sessions())
	require.NoError(t, b.Close(t.Context()))
	require.Empty(t, server.Sessions())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.EqualError(t, newRedfish(t, hardware.Config{}).Close(ended), "context canceled", "its interfaces have the same error")
}

func checkRedfish(t *testing.T, broken bmctest.Effect) {
	checkRedfishType(t, broken, newRedfish(t, hardware.Config{}))
}

func checkRedfishType(t *testing.T, broken bmctest.Effect, b *hardware.Type) {
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
		Hardware: b, Node: &conductor.Node{Driver: "redfish", DriverInfo: redfishInfo(t, server)},
		Image: image, Changes: changes, Secrets: []string{password}, Break: func() { server.AddFault(bmctest.Fault{Do: broken}) },
	}))
}
