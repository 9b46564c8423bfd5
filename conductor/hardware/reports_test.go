// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package hardware_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// The agent has written the boot entries, which a boot device of a Lenovo's BMC would undo.
func TestTheBootEntriesOfALenovoStay(t *testing.T) {
	for name, test := range map[string]struct {
		vendor, boot string
		capabilities string
		want         []string
	}{
		"virtual media": {"Lenovo", "redfish-virtual-media", "", []string{"Cd Once UEFI"}},
		"pxe":           {"LENOVO", "pxe", "boot_mode:uefi", []string{"Pxe Once UEFI"}},
		"BIOS mode":     {"Lenovo", "pxe", "boot_mode:bios", []string{"Pxe Once Legacy", "Hdd Continuous Legacy"}},
		"another":       {"Dell Inc.", "pxe", "", []string{"Pxe Once UEFI", "Hdd Continuous UEFI"}},
		"unknown":       {"", "redfish-virtual-media", "", []string{"Cd Once UEFI", "Hdd Continuous UEFI"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t)
			set := overrides(server)
			s := start(t, hardware.Config{})
			on := withMedia(states.Available, "custom-agent", map[string]any{"deploy_iso": image}, nil)
			n := s.node(redfishMachine(server, t), on, func(n *conductor.Node) {
				n.Interfaces["boot"] = test.boot
				n.Properties = map[string]any{"vendor": test.vendor, "capabilities": test.capabilities}
				n.DriverInternalInfo = map[string]any{"redfish_boot_device": "disk"} // of an earlier deployment
			})
			n = s.request(n, "active")
			require.Equal(t, states.DeployWait, n.ProvisionState, n.LastError)
			require.NoError(t, s.Resume(t.Context(), n.UUID, nil))
			n = s.settle(n)
			require.Equal(t, states.Active, n.ProvisionState, n.LastError)
			require.Equal(t, "On", server.Power("1"))
			require.Equal(t, test.want, set())
			require.NotContains(t, n.DriverInternalInfo, "redfish_boot_device")
		})
	}
}

func TestAnUnrescueOfALenovoSetsItsDisk(t *testing.T) {
	server := startRedfish(t)
	set := overrides(server)
	s := start(t, hardware.Config{})
	on := withMedia(states.Rescue, "custom-agent", map[string]any{"deploy_iso": image}, nil)
	n := s.node(redfishMachine(server, t), on, func(n *conductor.Node) {
		n.Interfaces["rescue"], n.Properties = "agent", map[string]any{"vendor": "Lenovo"}
	})
	n = s.request(n, "unrescue")
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	require.Equal(t, []string{"Hdd Continuous UEFI"}, set())
}

// A BMC may list its reset types in the system or behind ActionInfo.
func TestABMCWithoutARestartSwitchesItsMachineOffAndOn(t *testing.T) {
	for power, types := range map[states.Power][]string{
		states.PowerRebooting:     {"On", "ForceOff", "GracefulShutdown"},
		states.PowerSoftRebooting: {"On", "ForceOff", "GracefulShutdown", "ForceRestart"},
	} {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile.ResetTypes = types })
		require.NoError(t, server.SetPower("1", "On"))
		s := start(t, hardware.Config{})
		n := s.request(s.node(redfishMachine(server, t)), "manage")
		before := len(changes(server))
		require.NoError(t, s.SetPower(t.Context(), n.UUID, power, 0))
		for change := range s.WatchNodes(t.Context()) { // the node is reserved since the request was accepted
			if change.UUID == n.UUID && change.Node.Reservation == "" {
				n = change.Node
				break
			}
		}
		require.Empty(t, n.LastError)
		require.Equal(t, states.PowerOn, n.Power)
		require.Equal(t, "On", server.Power("1"))
		require.Equal(t, []string{"POST " + resetPath, "POST " + resetPath}, changes(server)[before:])
	}
}

func TestABootDeviceThatTheBMCDoesNotKeepIsSetBeforeASoftReboot(t *testing.T) {
	server := startRedfish(t, lenovo)
	require.NoError(t, server.SetPower("1", "On"))
	set := overrides(server)
	n := &conductor.Node{
		UUID: "1", Driver: "redfish", DriverInfo: redfishInfo(t, server), DriverInternalInfo: map[string]any{"redfish_boot_device": "disk"},
	}
	b := newRedfish(t, hardware.Config{})
	require.NoError(t, b.SetPower(t.Context(), n, states.PowerSoftRebooting))
	require.NoError(t, b.SetPower(t.Context(), n, states.PowerSoftOff))
	require.Equal(t, []string{"Hdd Once UEFI"}, set())
}
