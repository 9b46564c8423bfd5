// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// lenovo gives a BMC the profile of Lenovo's, which keep no boot device and have slots of virtual media without
// actions.
func lenovo(c *bmctest.RedfishConfig) { c.Profile = bmctest.Lenovo() }

func TestABootDeviceThatTheBMCDoesNotKeepIsSetBeforeEachStart(t *testing.T) {
	server := startRedfish(t, lenovo)
	set := overrides(server)
	s := start(t, hardware.Config{})
	n := s.request(s.node(redfishMachine(server, t)), "manage")
	internal := func() map[string]any {
		now, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		return now.DriverInternalInfo
	}
	require.NoError(t, s.SetBootDevice(t.Context(), n.UUID, "disk", true))
	require.Equal(t, "disk", internal()["redfish_boot_device"])
	require.Equal(t, "Hdd Once UEFI", server.Boot("1"))
	s.setPower(n, states.PowerOn)
	require.NoError(t, s.SetPower(t.Context(), n.UUID, states.PowerRebooting, 0))
	s.await(n, func(now *conductor.Node) bool { return now.Reservation == "" && now.TargetPower == states.NoPower })
	s.setPower(n, states.PowerOff)
	require.Equal(t, "None Disabled UEFI", server.Boot("1"), "the power off does not set it")
	require.Equal(t, []string{"Hdd Once UEFI", "Hdd Once UEFI", "Hdd Once UEFI"}, set(), "the request, and each start")

	require.NoError(t, server.ClearFaults())
	server.AddFault(bmctest.Fault{On: systemPath, Method: http.MethodPatch, Times: 1, Do: bmctest.Status(http.StatusBadRequest)})
	s.setPower(n, states.PowerOn)
	require.Equal(t, "On", server.Power("1"), "it boots by its own order")
	s.setPower(n, states.PowerOff)

	require.NoError(t, s.SetBootDevice(t.Context(), n.UUID, "pxe", false))
	require.NotContains(t, internal(), "redfish_boot_device")
}

// It would replace the new one, which may be set although the request has failed.
func TestABootDeviceIsNotSetAgainOnceAnotherOneIsRequested(t *testing.T) {
	for name, fail := range map[string]func(*bmctest.Redfish){
		"refused": func(server *bmctest.Redfish) {
			server.AddFault(bmctest.Fault{On: systemPath, Method: http.MethodPatch, Do: bmctest.Status(http.StatusBadRequest)})
		},
		"set in another boot mode": func(server *bmctest.Redfish) { losesMode(server, true) },
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile.Manufacturer = "Supermicro" })
			s := start(t, hardware.Config{})
			n := s.node(redfishMachine(server, t), func(n *conductor.Node) {
				n.ProvisionState, n.DriverInternalInfo = states.Active, map[string]any{"redfish_boot_device": "disk"}
			})
			require.ErrorIs(t, s.SetBootDevice(t.Context(), n.UUID, "tape", false), conductor.Invalid)
			now, err := s.Node(t.Context(), n.UUID)
			require.NoError(t, err)
			require.Equal(t, "disk", now.DriverInternalInfo["redfish_boot_device"], "no other device is requested")
			fail(server)
			require.Error(t, s.SetBootDevice(t.Context(), n.UUID, "pxe", false))
			now, err = s.Node(t.Context(), n.UUID)
			require.NoError(t, err)
			require.NotContains(t, now.DriverInternalInfo, "redfish_boot_device")
			require.NoError(t, server.ClearFaults())
			sent := patchesOf(server)
			s.setPower(n, states.PowerOn)
			require.Equal(t, sent, patchesOf(server))
		})
	}
}

func TestTheRecordOfABootDeviceLeavesTheOthersAlone(t *testing.T) {
	server := startRedfish(t, lenovo)
	b := newRedfish(t, hardware.Config{})
	for _, test := range []struct {
		before, kept, once map[string]any // at first, after a device that the BMC does not keep, and after one for the next boot
	}{
		{nil, map[string]any{"redfish_boot_device": "disk"}, map[string]any{}},
		{map[string]any{"other": 1}, map[string]any{"other": 1, "redfish_boot_device": "disk"}, map[string]any{"other": 1}},
	} {
		n := &conductor.Node{UUID: "1", Driver: "redfish", DriverInfo: redfishInfo(t, server), DriverInternalInfo: test.before}
		require.NoError(t, b.SetBootDevice(t.Context(), n, "disk", true))
		require.Equal(t, test.kept, n.DriverInternalInfo)
		require.NotContains(t, test.before, "redfish_boot_device", "the map may be shared")
		require.NoError(t, b.SetBootDevice(t.Context(), n, "pxe", false))
		require.Equal(t, test.once, n.DriverInternalInfo)
	}
}

func TestARecordThatIsInvalidKeepsItsBootDevice(t *testing.T) {
	recorded := map[string]any{"redfish_boot_device": "disk"}
	n := &conductor.Node{UUID: "1", Driver: "redfish", DriverInfo: redfishInfo(t, startRedfish(t)), DriverInternalInfo: recorded}
	delete(n.DriverInfo, "redfish_address")
	require.ErrorIs(t, newRedfish(t, hardware.Config{}).SetBootDevice(t.Context(), n, "pxe", false), conductor.Invalid)
	require.Equal(t, map[string]any{"redfish_boot_device": "disk"}, n.DriverInternalInfo)
}

func TestTheBootDeviceOfABMCIsReadAndSet(t *testing.T) {
	server := startRedfish(t)
	n := &conductor.Node{UUID: "1", Driver: "redfish", DriverInfo: redfishInfo(t, server)}
	b := newRedfish(t, hardware.Config{})
	require.NoError(t, b.SetBootDevice(t.Context(), n, "cdrom", true))
	device, persistent, err := b.BootDevice(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, "cdrom", device)
	require.True(t, persistent)

	server.AddFault(bmctest.Fault{On: systemPath, Method: http.MethodPatch, Do: bmctest.Status(http.StatusBadRequest)})
	require.ErrorContains(t, b.SetBootDevice(t.Context(), n, "pxe", false), "Redfish set boot device failed for node 1. Error: ")
	server.AddFault(bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: bmctest.Status(http.StatusBadRequest)})
	_, _, err = b.BootDevice(t.Context(), n)
	require.Error(t, err)
}

func TestABootDeviceIsSetAgainByTheManagementInterfaceRedfishOnly(t *testing.T) {
	for management, want := range map[string]int{"redfish": 1, "noop": 0} {
		for _, power := range []states.Power{states.PowerOn, states.PowerRebooting} {
			server := startRedfish(t)
			n := &conductor.Node{
				UUID:       "1",
				Driver:     "redfish",
				DriverInfo: redfishInfo(t, server),
				Interfaces: map[string]string{"management": management},
			}
			b := newRedfish(t, hardware.Config{})
			require.NoError(t, b.SetPower(t.Context(), n, power))
			require.Zero(t, patchesOf(server), "no device is recorded")
			n.DriverInternalInfo = map[string]any{"redfish_boot_device": "disk"}
			require.NoError(t, b.SetPower(t.Context(), n, states.PowerOff))
			require.Zero(t, patchesOf(server), "a power off")
			require.NoError(t, b.SetPower(t.Context(), n, power))
			require.Equal(t, want, patchesOf(server), "%s, %v", management, power)
		}
	}
}

func TestAMachineWhoseBootDeviceCannotBeSetAgainStartsAndTheLogSaysSo(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: systemPath, Method: http.MethodPatch, Do: bmctest.Status(http.StatusBadRequest)})
	var log lockedBuffer
	b := newRedfish(t, hardware.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	n := &conductor.Node{
		UUID: "1", Driver: "redfish", DriverInfo: redfishInfo(t, server), DriverInternalInfo: map[string]any{"redfish_boot_device": "disk"},
	}
	require.NoError(t, b.SetPower(t.Context(), n, states.PowerOn))
	require.Equal(t, "On", server.Power("1"))
	const warning = `level=WARN msg="unable to recover the boot device, relying on the pre-configured boot order" node=1 device=disk`
	require.Equal(t, 1, log.count(warning))
	require.Equal(t, 1, log.count("400"), "the error")
}

// The deployment ends with the machine booting from its disk, once, and again at the next start. The agent's image is
// ejected once the machine is off.
func TestADeploymentOnABMCThatKeepsNoBootDevice(t *testing.T) {
	server := startRedfish(t, lenovo)
	require.NoError(t, server.SetPower("1", "On"))
	set := overrides(server)
	s := start(t, hardware.Config{})
	n := s.deployByImage(server, "")
	require.Equal(t, "disk", n.DriverInternalInfo["redfish_boot_device"])
	require.Equal(t, []string{"Cd Once UEFI", "Hdd Once UEFI", "Hdd Once UEFI"}, set())
}

func TestAnotherImageThatIsInsertedIsNotTheAgents(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{
		On:     "/redfish/v1/Managers/bmc/VirtualMedia/CD",
		Method: http.MethodGet,
		Do:     bmctest.StaleMedia("http://images.example/old.iso"),
	})
	s := start(t, hardware.Config{MediaTimeout: 50 * time.Millisecond})
	n := s.node(redfishMachine(server, t), withMedia(states.Available, "custom-agent", map[string]any{"deploy_iso": image}, nil))
	n = s.request(n, "active")
	require.Equal(t, states.DeployFail, n.ProvisionState)
	require.Contains(t, n.LastError, "the BMC has not inserted the image within 50ms")
}

// rebuilt is hardware whose nodes have an agent's token that was made for another image.
type rebuilt struct{ *hardware.Type }

func (h rebuilt) BootAgent(ctx context.Context, t *conductor.Task) error {
	err := t.Update(ctx, func(n *conductor.Node) error {
		n.Agent.Token, n.Agent.TokenPregenerated = "0123456789", true
		return nil
	})
	if err != nil {
		return err
	}
	return h.Type.BootAgent(ctx, t)
}

// A machine that is never powered off runs its agent until the instance boots.
func TestTheImageOfAMachineThatStaysOnIsEjectedBeforeItsLastReboot(t *testing.T) {
	server := startRedfish(t)
	require.NoError(t, server.SetPower("1", "On"))
	s := start(t, hardware.Config{}, func(c *conductor.Config) { c.Hardware["redfish"] = rebuilt{c.Hardware["redfish"].(*hardware.Type)} })
	n := s.node(redfishMachine(server, t), withMedia(states.Available, "custom-agent", map[string]any{"deploy_iso": image}, nil),
		func(n *conductor.Node) {
			n.Power, n.DisablePowerOff = states.PowerOn, true
		})
	n = s.request(n, "active")
	require.Equal(t, states.DeployWait, n.ProvisionState, n.LastError)
	require.Empty(t, n.Agent.Token, "the agent in a ready image receives a token at its lookup")
	before := len(changes(server))
	require.NoError(t, s.Resume(t.Context(), n.UUID, nil))
	n = s.settle(n)
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	require.Equal(t, []string{"POST " + ejectPath, "PATCH " + systemPath, "POST " + resetPath}, changes(server)[before:])
	require.Empty(t, server.Media("CD"))
}
