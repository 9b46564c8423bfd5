// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// changePassword changes the password of a BMC, which ends its sessions, with the first request to a path that ends in
// the last of some texts, after requests to paths that end in the ones before. It counts the log-ins after that. A wait
// that would not end finds the password accepted again, in the end.
func changePassword(server *bmctest.Redfish, after ...string) (logins *atomic.Int32) {
	var met atomic.Int32
	logins = new(atomic.Int32)
	server.AddFault(bmctest.Fault{Times: 50, If: func(r *http.Request) bool {
		changed := int(met.Load()) == len(after)
		if !changed && strings.HasSuffix(r.URL.Path, after[met.Load()]) {
			met.Add(1)
		}
		if changed && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/Sessions") {
			logins.Add(1)
		}
		return changed && r.URL.Path != "/redfish/v1/"
	}, Do: bmctest.Status(http.StatusUnauthorized)})
	return logins
}

func TestAWaitForBIOSSettingsEndsWithRefusedCredentials(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{}, inSeries(states.Flamingo))
	s.redfish.AwaitBIOS(time.Hour, time.Millisecond)
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	logins := changePassword(server, "ComputerSystem.Reset", "/Bios")
	request := s.word("clean")
	settings := map[string]any{"settings": []any{map[string]any{"name": "BootTimeout", "value": 30}}}
	request.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: "apply_configuration", Args: settings}}
	require.NoError(t, s.Provision(t.Context(), n.UUID, request))
	n = s.settle(n)
	require.Equal(t, states.CleanFail, n.ProvisionState)
	require.Contains(t, n.LastError, "credentials refused")
	require.LessOrEqual(t, logins.Load(), int32(1))
}

func TestAWaitForTheBootOfAMachineEndsWithRefusedCredentials(t *testing.T) {
	settings := map[string]any{"settings": []any{map[string]any{"name": "BootTimeout", "value": 30}}}
	for step, args := range map[string]map[string]any{"apply_configuration": settings, "factory_reset": nil} {
		t.Run(step, func(t *testing.T) {
			server := startRedfish(t)
			logins := changePassword(server, append([]string{"ComputerSystem.Reset"}, slices.Repeat([]string{systemPath}, 10)...)...)
			server.AddFault(bmctest.Fault{On: systemPath, Method: http.MethodGet, If: func(*http.Request) bool { return logins.Load() == 0 },
				Do: bmctest.Property("BootProgress", map[string]any{"LastState": "SetupEntered"})})
			s := start(t, hardware.Config{}, inSeries(states.Gazpacho))
			s.redfish.AwaitBIOS(time.Hour, time.Millisecond)
			n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
			request := s.word("clean")
			request.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: step, Args: args}}
			require.NoError(t, s.Provision(t.Context(), n.UUID, request))
			n = s.settle(n)
			require.Equal(t, states.CleanFail, n.ProvisionState)
			require.Contains(t, n.LastError, "credentials refused")
			require.EqualValues(t, 1, logins.Load())
		})
	}
}

func TestAWaitForAnImageInItsSlotEndsWithRefusedCredentials(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{MediaTimeout: time.Hour})
	n := s.node(redfishMachine(server, t), withMedia(states.Available, "ramdisk", nil, map[string]any{"boot_iso": image}))
	logins := changePassword(server, "VirtualMedia.InsertMedia")
	n = s.request(n, "active")
	require.Equal(t, states.DeployFail, n.ProvisionState)
	require.Contains(t, n.LastError, "credentials refused")
	require.LessOrEqual(t, logins.Load(), int32(1))
}

// A deployment sends a wrong password once: neither the clean-up of the boot nor the conductor's sends it again.
func TestAWrongPasswordCostsADeploymentOneLogin(t *testing.T) {
	for _, test := range []struct {
		deploy           string
		driver, instance map[string]any
	}{
		{"ramdisk", nil, map[string]any{"boot_iso": image}},
		{"custom-agent", map[string]any{"deploy_iso": image}, nil},
	} {
		t.Run(test.deploy, func(t *testing.T) {
			server := startRedfish(t)
			s := start(t, hardware.Config{})
			n := s.node(redfishMachine(server, t), withMedia(states.Available, test.deploy, test.driver, test.instance), func(n *conductor.Node) {
				n.DriverInfo["redfish_password"] = wrong
			})
			n = s.request(n, "active")
			require.Equal(t, states.DeployFail, n.ProvisionState)
			require.Contains(t, n.LastError, "credentials refused")
			require.NotContains(t, n.LastError, "clean up")
			require.Equal(t, 1, server.Logins().Attempts)
		})
	}
}

// A BMC that refuses the boot device alone starts its machine.
func TestAStartBeforeWhichABootDeviceIsSetAgainSendsAWrongPasswordOnce(t *testing.T) {
	server := startRedfish(t)
	n := &conductor.Node{
		UUID: "1", Driver: "redfish", DriverInfo: redfishInfo(t, server), DriverInternalInfo: map[string]any{"redfish_boot_device": "disk"},
	}
	n.DriverInfo["redfish_password"] = wrong
	b := newRedfish(t, hardware.Config{})
	require.ErrorIs(t, b.SetPower(t.Context(), n, states.PowerOn), verify.Credentials)
	require.Equal(t, 1, server.Logins().Attempts)

	n.DriverInfo["redfish_password"] = password
	server.AddFault(bmctest.Fault{On: systemPath, Method: http.MethodPatch, Do: bmctest.Status(http.StatusUnauthorized)})
	require.NoError(t, b.SetPower(t.Context(), n, states.PowerOn))
	require.Equal(t, "On", server.Power("1"))
}

// A refused request of a user who is logged in locks no account: the wait goes on.
func TestAWaitForBIOSSettingsGoesOnAfterARequestThatIsForbidden(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{}, inSeries(states.Flamingo))
	s.redfish.AwaitBIOS(time.Hour, time.Millisecond)
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	var reset atomic.Bool
	server.AddFault(bmctest.Fault{Times: 2, If: func(r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "ComputerSystem.Reset") {
			reset.Store(true)
		}
		return reset.Load() && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/Bios")
	}, Do: bmctest.Status(http.StatusForbidden)})
	request := s.word("clean")
	settings := map[string]any{"settings": []any{map[string]any{"name": "BootTimeout", "value": 30}}}
	request.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: "apply_configuration", Args: settings}}
	require.NoError(t, s.Provision(t.Context(), n.UUID, request))
	n = s.settle(n)
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
}

func TestAWaitForAnImageInItsSlotGoesOnAfterAReadThatIsForbidden(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{MediaTimeout: time.Hour})
	n := s.node(redfishMachine(server, t), withMedia(states.Available, "ramdisk", nil, map[string]any{"boot_iso": image}))
	var inserted atomic.Bool
	server.AddFault(bmctest.Fault{Times: 2, If: func(r *http.Request) bool {
		inserted.Store(inserted.Load() || r.URL.Path == insertPath)
		return inserted.Load() && r.Method == http.MethodGet && r.URL.Path == slotPath
	}, Do: bmctest.Status(http.StatusForbidden)})
	n = s.request(n, "active")
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
}

func TestAnInspectionSendsARefusedPasswordOnce(t *testing.T) {
	for after, want := range map[string]states.State{
		"/Processors": states.InspectFail, "/PCIeDevices/HBA": states.Manageable, "/PCIeDevices/HBA/PCIeFunctions/0": states.Manageable,
	} {
		t.Run(after, func(t *testing.T) {
			server := startRedfish(t)
			s := start(t, hardware.Config{}, inSeries(states.Gazpacho))
			n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
			s.setPower(n, states.PowerOff) // by a session that is kept
			logins := changePassword(server, after)
			n = s.request(n, "inspect")
			require.EqualValues(t, 1, logins.Load())
			require.Equal(t, want, n.ProvisionState, n.LastError)
			if want == states.InspectFail {
				require.Contains(t, n.LastError, "credentials refused")
				return
			}
			o, err := s.Object(t.Context(), conductor.KindInventory, n.UUID)
			require.NoError(t, err)
			require.Contains(t, o.(*conductor.Inventory).PluginData["incomplete"], "credentials refused")
		})
	}
}

// The password may be refused only by the call after the one whose session has ended.
func TestAnInspectionWithoutNetworkInterfacesTellsWhatCouldNotBeRead(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{}, inSeries(states.Gazpacho))
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	logins := changePassword(server, "/Processors")
	n = s.request(n, "inspect")
	require.EqualValues(t, 1, logins.Load())
	require.Equal(t, states.InspectFail, n.ProvisionState)
	require.Contains(t, n.LastError, "no valid network interfaces")
	require.Contains(t, n.LastError, "credentials refused")
}

func TestAnInspectionReadsOnAfterADeviceAtWhichASessionIsRefused(t *testing.T) {
	server := startRedfish(t)
	addNeighbor(server)
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1/PCIeDevices/HBA", Do: bmctest.Status(http.StatusUnauthorized)})
	s := start(t, hardware.Config{}, inSeries(states.Gazpacho))
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	n = s.request(n, "inspect")
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	o, err := s.Object(t.Context(), conductor.KindInventory, n.UUID)
	require.NoError(t, err)
	found := o.(*conductor.Inventory)
	require.Contains(t, found.PluginData["incomplete"], "credentials refused")
	require.Contains(t, found.PluginData, "parsed_lldp")
}
